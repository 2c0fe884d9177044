// Package spool keeps requests for the daemon in a folder. Gatekeepers store their requests there while no daemon
// answers. The daemon reads the folder when it runs again.
//
// Each account has a folder of its own, its box, below the folder "in". An account makes its box when it stores its
// first entry:
//
//	spool/in/u1003/0001792396412000000000.g4fq...2a.submit
//
// An entry is one file, SEQUENCE.HANDLE.VERB. The package promises:
//
//   - An entry appears under its name only when it is complete, and after [Put] has
//     returned, it survives a crash of the machine.
//   - The sequence is the time in nanoseconds, but always larger than the sequence of any
//     other entry of the same handle in the same box. The daemon reads entries in this order.
//   - No account can read, change or block the entries of another account.
//
// The daemon decides on the meaning of an entry, and on the rights of its owner to make the request.
//
// # Trust
//
// If several accounts may use the spool, "in" is writable by all and has the sticky bit. The package trusts only the
// owner and type of a file that fstat(2) reports, and never the file's name:
//
//	question                        | decided by
//	whose box is it?                | the owner of the folder; nobody else may enter it
//	for whom does an entry speak?   | the owner of both the file and its box
//	may it have this handle?        | only if the handle follows from that owner and the request key
//
// Another account may take the name u1003 before account 1003 makes its box. The box of account 1003 is then
// u1003.RANDOM, and the daemon takes the name away from the other account. The daemon removes all names in the folder
// that are not boxes: links, pipes, folders, files of another form.
//
// Boxes are opened without following links and without leaving the file system, so that no account can make the daemon
// read a mount of that account.
package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// MaxEntry is the maximum length of an entry, in bytes. Like a request, an entry may contain a job file of 4 MiB.
const MaxEntry = wire.MaxRequest

// The limits of one account: the number of entries that may wait for the daemon, and their size in bytes.
const (
	MaxEntries = 10_000
	MaxBytes   = 1 << 30
)

// maxSeq is the largest sequence, a time in the year 2116. All real times are smaller, and an int64 can still hold
// larger numbers.
const maxSeq = 1 << 62

// The verbs of entries. They are stored in file names and in the entries, and package wire
// marks the same verbs as Spooled.
const (
	VerbSubmit = "submit"
	VerbKill   = "kill"
)

// Note is the content of an entry.
type Note struct {
	// Verb is VerbSubmit or VerbKill.
	Verb string `json:"verb"`
	// Handle names the grid job. Rest selects local jobs of this grid job, such as ".3", in the form of a reference.
	Handle jjm.Handle `json:"handle"`
	Rest   string     `json:"rest,omitempty"`
	// Submit is the submission, set if Verb is VerbSubmit. Its Key is never empty.
	Submit *wire.Submit `json:"submit,omitempty"`
}

// Name is the name of an entry's file.
type Name struct {
	Seq    int64
	Handle jjm.Handle
	Verb   string
}

func (n Name) String() string { return fmt.Sprintf("%022d.%s.%s", n.Seq, n.Handle, n.Verb) }

// ParseName parses the name of an entry. ok is false if s is not the name of an entry.
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

// validVerb reports whether v is a verb of entries.
func validVerb(v string) bool { return v == VerbSubmit || v == VerbKill }

// Rejected is the error for a file or folder in the spool that is not a valid entry or box and can never become one.
// Why is the reason. The daemon removes the file or folder.
type Rejected struct{ Why string }

func (s *Rejected) Error() string { return s.Why }

// reject returns a Rejected error.
func reject(format string, args ...any) error { return &Rejected{fmt.Sprintf(format, args...)} }

// Owner is the account on whose behalf an entry makes its request.
type Owner struct{ UID, GID int }

// checkFile returns the owner of a file. The error is a [*Rejected] unless the file is a regular file with one name
// that is not too long and that only its owner can have written.
func checkFile(f *os.File, name Name) (Owner, error) {
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
		return owner, reject("%s is not a file", name)
	case st.Nlink != 1:
		return owner, reject("%s has %d names: an entry has one", name, st.Nlink)
	case info.Mode().Perm()&0o022 != 0:
		return owner, reject("%s: others than its owner may write it", name)
	case info.Size() > MaxEntry:
		return owner, reject("%s is longer than %d bytes", name, MaxEntry)
	case st.Blocks*512 > MaxEntry+slack:
		return owner, reject("%s takes %d bytes of the disk: at most %d", name, st.Blocks*512, MaxEntry)
	}
	return owner, nil
}

// parse decodes the text of an entry. The error is a [*Rejected] if the text does not agree with the name and the owner
// of the entry.
func parse(name Name, uid int, text []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(text, &n); err != nil {
		return Note{}, reject("%s: %v", name, err)
	}
	switch {
	case n.Verb != name.Verb || n.Handle != name.Handle:
		return Note{}, reject("%s: its text is a %.20q of %.40q, which does not agree with its name", name, n.Verb, n.Handle)
	case n.Verb == VerbSubmit && (n.Submit == nil || n.Submit.Key == "" || n.Submit.DryRun):
		return Note{}, reject("%s: it has no submission with a request key", name)
	case n.Verb == VerbSubmit && jjm.HandleOf(uid, n.Submit.Key) != n.Handle:
		return Note{}, reject("%s: the handle does not follow from account %d and the request key", name, uid)
	case n.Verb == VerbKill:
		if _, err := jjm.ParseRef("1" + n.Rest); err != nil {
			return Note{}, reject("%s: %v", name, err)
		}
	}
	return n, nil
}
