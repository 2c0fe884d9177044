package jjm

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// Handle is the name of a grid job that a gatekeeper is told. It follows from
// the owner and the request key, so that it can be told before the daemon has
// numbered the grid job: 25 characters of [a-z2-7], the first of them g.
//
// A handle names what its request key names: of a key that was used anew after
// a cancel, the newest grid job.
type Handle string

// handleBytes of the hash are in a handle: 120 bits, 24 characters.
const handleBytes = 15

// HandleOf gives the handle for a request key of an account.
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

// CutHandle parts a reference such as HANDLE, HANDLE.3 or HANDLE.* into its
// handle and what follows it, dot included; ok is false if it begins with none.
func CutHandle(ref string) (h Handle, rest string, ok bool) {
	name, rest := ref, ""
	if i := strings.IndexByte(ref, '.'); i >= 0 {
		name, rest = ref[:i], ref[i:]
	}
	h, ok = ParseHandle(name)
	return h, rest, ok
}
