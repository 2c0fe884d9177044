package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"jjm/internal/jjm"
)

// maxSocketPath is the longest path of a Unix socket, in bytes: sun_path has room for 108
// with the final NUL (unix(7)).
const maxSocketPath = 107

// SocketAddress returns the address with which to bind or connect the socket at path. It is path itself unless path is
// too long for the kernel; then it leads to the folder through /proc/self/fd. The caller must call done when it no
// longer uses the address. The error is of kind Invalid if path is empty, contains NUL, or has a name that is too long
// in any folder.
func SocketAddress(path string) (address string, done func(), err error) {
	if strings.ContainsRune(path, 0) || path == "" {
		return "", nil, jjm.Errorf(jjm.Invalid, "socket %.80q: want a path", path)
	}
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("socket folder: %w", err)
	}
	address = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	if len(address) > maxSocketPath {
		_ = dir.Close()
		return "", nil, jjm.Errorf(jjm.Invalid, "socket %s: its name is too long: a socket's path may hold %d bytes",
			path, maxSocketPath)
	}
	return address, func() { _ = dir.Close() }, nil
}
