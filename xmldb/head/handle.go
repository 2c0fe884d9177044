package head

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"jjm/internal/jjm"
)

// handlesDir is a folder within the folder of the records. It contains a symbolic link for each handle, in a folder
// named by the first two random characters of the handle. The text of the link is the id of the grid job.
const handlesDir = "handles"

// handlePath returns the path of a handle's link, for records in dir.
func handlePath(dir string, h jjm.Handle) string {
	return filepath.Join(dir, handlesDir, string(h[1:3]), string(h))
}

// ByHandle returns the grid job that a handle named when the daemon last wrote the handle's link. The error is of kind
// Gone if there is no link; the daemon may still know the handle.
func ByHandle(dir string, h jjm.Handle) (jjm.GridID, error) {
	if _, ok := jjm.ParseHandle(string(h)); !ok {
		return 0, jjm.Errorf(jjm.Invalid, "%.40q is not a handle", h)
	}
	text, err := os.Readlink(handlePath(dir, h))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, jjm.Errorf(jjm.Gone, "%w", missing{fmt.Sprintf("there is no record of %s in %s", h, dir), err})
	}
	if err != nil {
		return 0, jjm.Errorf(kind(err), "find the record of %s: %w", h, err)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, jjm.Errorf(jjm.Internal, "find the record of %s: its link says %.40q", h, text)
	}
	return jjm.GridID(id), nil
}

// WriteHandle writes the link from a handle to a grid job. It does nothing if the handle already names this or a later
// grid job: a handle never returns to an earlier grid job.
func WriteHandle(dir string, h jjm.Handle, grid jjm.GridID) error {
	if now, err := ByHandle(dir, h); err == nil && now >= grid || jjm.KindOf(err) == jjm.Invalid {
		return err
	}
	path := handlePath(dir, h)
	var word [6]byte
	if _, err := rand.Read(word[:]); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), ".tmp-"+hex.EncodeToString(word[:]))
	err := os.Symlink(grid.String(), tmp)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.Symlink(grid.String(), tmp)
		}
	}
	if err == nil {
		if err = os.Rename(tmp, path); err != nil {
			_ = os.Remove(tmp)
		}
	}
	if err != nil {
		return jjm.Errorf(jjm.Busy, "write the link from %s to grid job %d: %w", h, grid, err)
	}
	return nil
}
