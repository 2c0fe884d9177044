// Package spool is the letter box of the daemon: a folder into which
// gatekeepers put what they would have told the daemon, had it answered. The
// daemon takes it in as soon as it is there again.
//
// Below the folder lies another, "in", where each account has a box of its own,
// a folder that it makes when it first needs it:
//
//	spool/in/u1003/0001792396412000000000.g4fq...2a.submit
//
// An entry is one file, SEQUENCE.HANDLE.VERB. It appears under its name complete,
// and once [Put] has returned it survives a crash of the machine. The sequence is
// the time in nanoseconds, but larger than that of any entry of the same handle in
// the same box; entries are taken in in this order.
//
// # Trust
//
// Where several accounts may use it "in" is writable by all and sticky. A box is
// its owner's, as fstat(2) says, whatever its name; nobody else reads the names in
// it, nor adds to it, so that what an account leaves is in its own way only. Who
// an entry speaks for is who owns both its file and its box, and a submission is
// valid only under the handle that follows from that account and its key.
// Somebody may have taken the name u1003 before account 1003: then its box is
// u1003.RANDOM, and the daemon takes the name away again. Whatever else lies there
// - links, pipes, folders, files of a different form - is removed.
//
// Boxes are opened without following links and without leaving the file system,
// so that no mount of a user's is entered.
package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"jjm"
	"jjm/wire"
)

// MaxEntry bounds an entry, in bytes: a request with a job file of 4 MiB.
const MaxEntry = wire.MaxRequest

// The limits of an account: what it may have waiting at once, in entries and in
// bytes.
const (
	MaxEntries = 10_000
	MaxBytes   = 1 << 30
)

// maxSeq is the largest sequence, in the year 2116: there is room above it, and
// none of it is time.
const maxSeq = 1 << 62

// The verbs of entries, as they stand in names and texts: those that package wire says may be left here.
const (
	VerbSubmit = "submit"
	VerbKill   = "kill"
)

// Note is what an entry says.
type Note struct {
	// Verb is VerbSubmit or VerbKill.
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
	if len(seq) != 22 || err != nil || number < 0 || number > maxSeq || seq[0] == '+' || seq[0] == '-' || !isHandle ||
		!validVerb(verb) {
		return Name{}, false
	}
	return Name{number, h, verb}, true
}

func validVerb(v string) bool { return v == VerbSubmit || v == VerbKill }

// Strange is the error for what is no entry though it has the name of one: it
// is never going to be one.
type Strange struct{ Why string }

func (s *Strange) Error() string { return s.Why }

func strange(format string, args ...any) error { return &Strange{fmt.Sprintf(format, args...)} }

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
	case st.Blocks*512 > MaxEntry+slack:
		return owner, strange("%s takes %d bytes of the disk: at most %d", name, st.Blocks*512, MaxEntry)
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
	case n.Verb == VerbSubmit && (n.Submit == nil || n.Submit.Key == "" || n.Submit.DryRun):
		return Note{}, strange("%s: no submission with a request key", name)
	case n.Verb == VerbSubmit && jjm.HandleOf(uid, n.Submit.Key) != n.Handle:
		return Note{}, strange("%s: the handle is not that of account %d and its key", name, uid)
	case n.Verb == VerbKill:
		if _, err := jjm.ParseRef("1" + n.Rest); err != nil {
			return Note{}, strange("%s: %v", name, err)
		}
	}
	return n, nil
}
