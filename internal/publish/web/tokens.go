package web

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

const (
	// minToken and maxToken bound the length of a token, in bytes.
	minToken, maxToken = 32, 256
	// maxTokens bounds the file of tokens, in bytes.
	maxTokens = 1 << 20
)

// token is the SHA-256 checksum of an account's token. The token itself is not kept.
type token struct {
	user string
	sum  [sha256.Size]byte
}

// ReadTokens checks a file of tokens. A line has an account and its token, with blanks between; empty lines and lines
// that begin with # are ignored. The error is of kind Invalid if another account than the daemon's may read the file,
// if a line is wrong, or if an account or a token occurs twice.
func ReadTokens(path string) error {
	_, err := readTokens(path)
	return err
}

// readTokens returns the tokens in a file. Its errors are those of [ReadTokens].
func readTokens(path string) ([]token, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0) // a named pipe must not block
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "%w: make the file, or remove the setting", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokens+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(text) > maxTokens:
		return nil, jjm.Errorf(jjm.Invalid, "%s has more than %d bytes: want a line for each account", path, maxTokens)
	}
	return parseTokens(path, text)
}

// private returns an error unless only the daemon's account, and root, can read and write a regular file.
func private(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return jjm.Errorf(jjm.Invalid, "%s is no regular file: want a file of tokens", path)
	case info.Mode().Perm()&0o077 != 0:
		return jjm.Errorf(jjm.Invalid, "other accounts can reach the tokens in %s: chmod 600 %s", path, path)
	case !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return jjm.Errorf(jjm.Invalid, "%s belongs to another account: chown it to the account of the daemon", path)
	}
	return nil
}

// parseTokens reads the lines of a file of tokens. No error quotes a token.
func parseTokens(path string, text []byte) ([]token, error) {
	var all []token
	users, sums := map[string]bool{}, map[[sha256.Size]byte]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxTokens+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		bad := func(format string, args ...any) ([]token, error) {
			return nil, jjm.Errorf(jjm.Invalid, "%s:%d: %s", path, n, fmt.Sprintf(format, args...))
		}
		f := strings.Fields(line)
		if len(f) != 2 {
			return bad("%d words: want an account and its token", len(f))
		}
		sum := sha256.Sum256([]byte(f[1]))
		switch {
		case numeral(f[0]):
			return bad("%.40q: want the name of an account, not a number", f[0])
		case len(f[1]) < minToken || len(f[1]) > maxToken:
			return bad("the token of %.40q has %d characters: want %d to %d, such as openssl rand -hex 32 prints", f[0],
				len(f[1]), minToken, maxToken)
		case users[f[0]]:
			return bad("%.40q has a token above: want one for each account", f[0])
		case sums[sum]:
			return bad("the token of %.40q is that of an account above: want another one", f[0])
		}
		users[f[0]], sums[sum] = true, true
		all = append(all, token{f[0], sum})
	}
	return all, lines.Err()
}

// numeral reports whether a name is a number, which the account database could take for a uid.
func numeral(name string) bool { return strings.Trim(name, "+-0123456789") == "" }

// tokens holds the tokens of a file. It reads the file again when the file has changed.
type tokens struct {
	path string
	log  *slog.Logger

	mu    sync.Mutex
	seen  stamp
	all   []token
	fault error
}

// stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
	inode   uint64
	mode    os.FileMode
}

// errNoFile is the reason why a site without a file of tokens accepts no token.
var errNoFile = errors.New("this site has no tokens")

// user returns the account of a token. The error is of kind Denied if the token is unknown, and Busy if the file of
// tokens cannot be used. The error for readers does not contain the reason.
func (t *tokens) user(given string) (string, error) {
	if t.path == "" {
		return "", jjm.Errorf(jjm.Denied, "%w", errNoFile)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	if t.fault != nil {
		return "", jjm.Errorf(jjm.Busy, "no token is accepted at this moment: the log of the daemon has the reason")
	}
	sum, user := sha256.Sum256([]byte(given)), ""
	for i := range t.all {
		if subtle.ConstantTimeCompare(sum[:], t.all[i].sum[:]) == 1 {
			user = t.all[i].user
		}
	}
	if user == "" {
		return "", jjm.Errorf(jjm.Denied, "the token is unknown: ask an administrator for a token")
	}
	return user, nil
}

// trouble returns why the file of tokens cannot be used, "" if it can or if there is none.
func (t *tokens) trouble() string {
	if t.path == "" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refresh(); t.fault != nil {
		return t.fault.Error()
	}
	return ""
}

// refresh reads the file if it has changed since the last call. While the file cannot be used, no token is accepted.
func (t *tokens) refresh() {
	now := stamp{}
	if info, err := os.Lstat(t.path); err == nil {
		now = stamp{changed: info.ModTime(), size: info.Size(), mode: info.Mode()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			now.inode = st.Ino
		}
	}
	if now == t.seen && now != (stamp{}) {
		return
	}
	t.seen = now
	if t.all, t.fault = readTokens(t.path); t.fault != nil {
		t.log.Error("the file of tokens cannot be used: no token is accepted until it is mended", "error", t.fault)
	}
}
