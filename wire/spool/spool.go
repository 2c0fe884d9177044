// Package spool is the letter box of the daemon: a folder into which
// gatekeepers put what they would have told the daemon, had it answered. The
// daemon takes it in as soon as it is there again.
//
// An entry is one file. It appears under its name complete, and once [Put] has
// returned it survives a crash of the machine. Its name is
//
//	SEQUENCE.HANDLE.VERB      0001792396412000000000.g4fq...2a.submit
//
// The sequence is the time in nanoseconds, but larger than that of any entry of
// the same handle that is there; entries are taken in in this order.
//
// # Trust
//
// The folder belongs to the daemon. Where several accounts may use it, it is
// writable by all and sticky, so that only the owner of an entry and the daemon
// can remove it. Who an entry speaks for is who owns its file, as fstat(2)
// says, and a submission is valid only under the handle that follows from that
// account and its key. Whatever else somebody puts there - links, pipes,
// folders, files of a different form - is passed over and reported.
package spool

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm"
	"jjm/wire"
)

// MaxEntry bounds an entry, in bytes: a request with a job file of 4 MiB.
const MaxEntry = wire.MaxRequest

// maxListed bounds how many names are read of the folder at once.
const maxListed = 1_000_000

// Note is what an entry says.
type Note struct {
	// Verb is wire.VerbSubmit or wire.VerbKill.
	Verb string `json:"verb"`
	// Handle names the grid job, with the local jobs meant in Rest: ".3".
	Handle jjm.Handle `json:"handle"`
	Rest   string     `json:"rest,omitempty"`
	// Submit is what to submit; its Key is never empty.
	Submit *wire.Submit `json:"submit,omitempty"`
}

// Name is an entry as the folder shows it.
type Name struct {
	Seq    int64
	Handle jjm.Handle
	Verb   string
}

func (n Name) String() string { return fmt.Sprintf("%022d.%s.%s", n.Seq, n.Handle, n.Verb) }

// ParseName reads the name of an entry; ok is false for any other.
func ParseName(s string) (n Name, ok bool) {
	seq, rest, _ := strings.Cut(s, ".")
	handle, verb, _ := strings.Cut(rest, ".")
	h, isHandle := jjm.ParseHandle(handle)
	number, err := strconv.ParseInt(seq, 10, 64)
	if len(seq) != 22 || err != nil || number < 0 || seq[0] == '+' || seq[0] == '-' || !isHandle || !validVerb(verb) {
		return Name{}, false
	}
	return Name{number, h, verb}, true
}

func validVerb(v string) bool { return v == wire.VerbSubmit || v == wire.VerbKill }

// List gives the entries, in order, and what else lies there. Files that are
// being written are neither. A missing folder is empty.
func List(dir string) (names []Name, strange []string, err error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("spool: %w", err)
	}
	defer f.Close()
	all, err := f.Readdirnames(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("spool: %w", err)
	}
	for _, s := range all {
		switch n, ok := ParseName(s); {
		case ok:
			names = append(names, n)
		case !strings.HasPrefix(s, tmpPrefix):
			strange = append(strange, s)
		}
	}
	slices.SortFunc(names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Handle, b.Handle), cmp.Compare(a.Verb, b.Verb))
	})
	return names, strange, nil
}

// Strange is the error for what is no entry though it has the name of one: it
// is never going to be one.
type Strange struct{ Why string }

func (s *Strange) Error() string { return s.Why }

func strange(format string, args ...any) error { return &Strange{fmt.Sprintf(format, args...)} }

// Read reads an entry, and who owns it. The error is a [Strange] if it is none,
// one that wraps fs.ErrNotExist if it was taken away, and another if the file
// cannot be read.
func Read(dir string, name Name) (Note, Owner, error) {
	f, err := os.OpenFile(filepath.Join(dir, name.String()), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return Note{}, Owner{}, strange("%s is not a file", name)
	}
	if err != nil {
		return Note{}, Owner{}, err
	}
	defer f.Close()
	owner, err := check(f, name)
	if err != nil {
		return Note{}, owner, err
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxEntry+1))
	if err != nil {
		return Note{}, owner, err
	}
	note, err := parse(name, owner.UID, text)
	return note, owner, err
}

// Owner is the account that an entry speaks for.
type Owner struct{ UID, GID int }

// check refuses all but a plain file that only its owner can have written.
func check(f *os.File, name Name) (Owner, error) {
	info, err := f.Stat()
	if err != nil {
		return Owner{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Owner{}, fmt.Errorf("%s: its owner cannot be told", name)
	}
	owner := Owner{int(st.Uid), int(st.Gid)}
	switch {
	case !info.Mode().IsRegular():
		return owner, strange("%s is not a file", name)
	case st.Nlink != 1:
		return owner, strange("%s has %d names: an entry has one", name, st.Nlink)
	case info.Mode().Perm()&0o022 != 0:
		return owner, strange("%s may be written by others than its owner", name)
	case info.Size() > MaxEntry:
		return owner, strange("%s is longer than %d bytes", name, MaxEntry)
	}
	return owner, nil
}

// parse reads the text of an entry and holds it against its name and owner.
func parse(name Name, uid int, text []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(text, &n); err != nil {
		return Note{}, strange("%s: %v", name, err)
	}
	switch {
	case n.Verb != name.Verb || n.Handle != name.Handle:
		return Note{}, strange("%s: it says %.20q about %.40q", name, n.Verb, n.Handle)
	case n.Verb == wire.VerbSubmit && (n.Submit == nil || n.Submit.Key == "" || n.Submit.DryRun):
		return Note{}, strange("%s: no submission with a request key", name)
	case n.Verb == wire.VerbSubmit && jjm.HandleOf(uid, n.Submit.Key) != n.Handle:
		return Note{}, strange("%s: the handle is not that of account %d and its key", name, uid)
	case n.Verb == wire.VerbKill:
		if _, err := jjm.ParseRef("1" + n.Rest); err != nil {
			return Note{}, strange("%s: %v", name, err)
		}
	}
	return n, nil
}

// tmpPrefix begins the names of entries that are being written.
const tmpPrefix = ".tmp-"

// Put adds an entry and returns once it will survive a crash. The error is of
// kind Busy: nothing was added, or nothing that the daemon would take.
func Put(dir string, n Note, now time.Time) error {
	text, err := json.Marshal(n)
	if err != nil {
		return jjm.Errorf(jjm.Internal, "spool: %w", err)
	}
	if len(text) > MaxEntry {
		return jjm.Errorf(jjm.Invalid, "spool: the %s is %d bytes long: at most %d", n.Verb, len(text), MaxEntry)
	}
	name := Name{Seq: now.UnixNano(), Handle: n.Handle, Verb: n.Verb}
	names, _, err := List(dir)
	if err != nil {
		return jjm.Errorf(jjm.Busy, "%w", err)
	}
	for _, other := range names {
		if other.Handle == n.Handle && other.Seq >= name.Seq {
			name.Seq = other.Seq + 1 // the clock was set back
		}
	}
	if err := write(dir, name, text); err != nil {
		return jjm.Errorf(jjm.Busy, "spool: %w", err)
	}
	return nil
}

// write makes the file: written and synced under another name, renamed, and the
// folder synced.
func write(dir string, name Name, text []byte) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Stat()
	if err != nil {
		return err
	}
	var word [8]byte
	if _, err := rand.Read(word[:]); err != nil {
		return err
	}
	tmp := filepath.Join(dir, tmpPrefix+hex.EncodeToString(word[:]))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && info.Mode()&fs.ModeSetgid != 0 {
		err = f.Chmod(0o640) // the daemon is of the folder's group, and not root
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name.String()))
	}
	if err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return d.Sync()
}

// Remove takes an entry away for good, a crash included. That it is gone
// already is no error.
func Remove(dir string, name Name) error {
	err := os.Remove(filepath.Join(dir, name.String()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// abandoned is when a file that was begun is not going to be an entry any more.
const abandoned = 24 * time.Hour

// Make makes the folder, for the account of the daemon. mode is that of the
// daemon's socket: 0666 lets every account leave entries, 0660 the members of
// group (-1: the daemon's own), 0600 the daemon's own account alone. Where the
// daemon is not root, entries of others are readable for the folder's group.
// What was begun and given up long ago is removed.
func Make(dir string, mode fs.FileMode, group int, now time.Time) error {
	perm := fs.FileMode(0o700)
	switch {
	case mode&0o066 == 0o066:
		perm = 0o777 | fs.ModeSticky
	case mode&0o060 == 0o060:
		perm = 0o770 | fs.ModeSticky
	}
	if perm != 0o700 && os.Geteuid() != 0 {
		perm |= fs.ModeSetgid
	}
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("spool: %w", err)
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	if err == nil && group >= 0 {
		err = os.Chown(dir, -1, group)
	}
	if err == nil {
		err = os.Chmod(dir, perm) // whatever the umask is
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return sweep(dir, now.Add(-abandoned))
}

// sweep removes files that were begun before a time.
func sweep(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), tmpPrefix) && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // found again by the next start
		}
	}
	return nil
}
