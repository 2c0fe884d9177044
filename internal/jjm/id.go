package jjm

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
)

// GridID numbers the grid jobs of one store, from 1, in order of acceptance.
type GridID int64

// String returns the id as people write it: "17".
func (g GridID) String() string { return strconv.FormatInt(int64(g), 10) }

// LocalID names one local job. N is the number within the grid job, from 0, without gaps, in order of creation (Ganga,
// rule I2).
type LocalID struct {
	Grid GridID `json:"grid"`
	N    int32  `json:"n"`
}

// String returns the id as people write it: "17.3".
func (l LocalID) String() string {
	return l.Grid.String() + "." + strconv.FormatInt(int64(l.N), 10)
}

// AttemptID names one attempt of a local job. Attempt is the number of the attempt, 0 for the first. The application
// finds the number in JJM_ATTEMPT and GBS_RETRY_COUNT (decision R16).
type AttemptID struct {
	LocalID
	Attempt int32 `json:"attempt"`
}

// Ref selects a grid job or some of its local jobs, as written on a command
// line: "12" (the grid job), "12.3" (one local job), "12.*" (all of them),
// "12.3-7" (a range, both ends included).
type Ref struct {
	Grid GridID `json:"grid"`
	// Locals is false for a reference to the grid job itself.
	Locals bool `json:"locals,omitempty"`
	// First and Last are the numbers of the first and the last selected local job. Last is -1 if all local jobs from First
	// on are selected.
	First int32 `json:"first,omitempty"`
	Last  int32 `json:"last,omitempty"`
}

// ParseRef reads a reference. The error, of kind Invalid, quotes the text and shows the
// four forms.
func ParseRef(s string) (Ref, error) {
	bad := func() (Ref, error) {
		return Ref{}, Errorf(Invalid, "id %.40q: want 12, 12.3, 12.* or 12.3-7", s)
	}
	grid, rest, dotted := strings.Cut(s, ".")
	g, ok := parseNumber(grid, 63)
	if !ok || g == 0 {
		return bad()
	}
	ref := Ref{Grid: GridID(g)}
	if !dotted {
		return ref, nil
	}
	ref.Locals = true
	if rest == "*" {
		ref.Last = -1
		return ref, nil
	}
	first, last, ranged := strings.Cut(rest, "-")
	if !ranged {
		last = first
	}
	a, okA := parseNumber(first, 31)
	b, okB := parseNumber(last, 31)
	if !okA || !okB || b < a {
		return bad()
	}
	ref.First, ref.Last = int32(a), int32(b)
	return ref, nil
}

// parseNumber accepts plain digits only: no sign, no blank, no leading zero.
func parseNumber(s string, bits int) (uint64, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, bits)
	return n, err == nil
}

// Has reports whether the reference selects local job n. A reference to the grid job itself selects no local job.
func (r Ref) Has(n int32) bool {
	return r.Locals && n >= r.First && (r.Last < 0 || n <= r.Last)
}

// One reports whether the reference selects exactly one local job.
func (r Ref) One() bool { return r.Locals && r.First == r.Last }

// String writes the reference in the form that ParseRef reads.
func (r Ref) String() string {
	switch {
	case !r.Locals:
		return r.Grid.String()
	case r.Last < 0:
		return r.Grid.String() + ".*"
	case r.First == r.Last:
		return LocalID{Grid: r.Grid, N: r.First}.String()
	}
	return fmt.Sprintf("%d.%d-%d", r.Grid, r.First, r.Last)
}

// Handle is the name by which a gatekeeper knows a grid job: 25 characters of [a-z2-7], the first of which is g. It is
// computed from the owner and the request key, and can therefore be returned before the daemon has numbered the grid
// job.
//
// If a request key was reused after a cancel, the handle names the newest grid job with that key.
type Handle string

// handleBytes is the number of bytes of the hash in a handle: 120 bits, which are 24 characters of base 32.
const handleBytes = 15

// HandleOf returns the handle for a request key of an account.
func HandleOf(uid int, key string) Handle {
	sum := sha256.Sum256([]byte("jjm handle\x00" + strconv.Itoa(uid) + "\x00" + key))
	return Handle("g" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:handleBytes])))
}

// ParseHandle reads a handle; ok is false for any other text.
func ParseHandle(s string) (h Handle, ok bool) {
	if len(s) != 25 || s[0] != 'g' {
		return "", false
	}
	for _, c := range []byte(s[1:]) {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return "", false
		}
	}
	return Handle(s), true
}

// CutHandle divides a reference such as HANDLE, HANDLE.3 or HANDLE.* into its handle and the remaining text, which
// includes the dot. ok is false if the reference does not begin with a handle.
func CutHandle(ref string) (h Handle, rest string, ok bool) {
	name, rest := ref, ""
	if i := strings.IndexByte(ref, '.'); i >= 0 {
		name, rest = ref[:i], ref[i:]
	}
	h, ok = ParseHandle(name)
	return h, rest, ok
}
