package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"jjm/internal/jjm"
)

// Fetched returns the path, below the area, of an input of a grid job that was fetched from a URL and is not packed
// yet: "jobs/17/fetch/<digest of the URL>".
func Fetched(grid jjm.GridID, url string) string {
	sum := sha256.Sum256([]byte(url))
	return fetchDir(grid) + "/" + hex.EncodeToString(sum[:16])
}

// fetchDir returns the folder, below the area, for the fetched inputs of a grid job.
func fetchDir(grid jjm.GridID) string { return GridDir(grid) + "/fetch" }

// MakeFetched creates the folder for the fetched inputs of a grid job.
func (a *Area) MakeFetched(grid jjm.GridID) error {
	return a.wrap(a.fs.MkdirAll(fetchDir(grid), dirMode), "make %s", fetchDir(grid))
}

// FetchedSize returns the size of a fetched input in bytes. there is false if the input was not fetched yet, or if
// something else than a regular file is at its path.
func (a *Area) FetchedSize(grid jjm.GridID, url string) (size int64, there bool, err error) {
	info, err := a.fs.Lstat(Fetched(grid, url))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, a.wrap(err, "look at %s", Fetched(grid, url))
	}
	return info.Size(), info.Mode().IsRegular(), nil
}

// OpenFetched opens a fetched input. It returns an error if the file does not exist or is not regular.
func (a *Area) OpenFetched(grid jjm.GridID, url string) (io.ReadCloser, error) {
	f, _, err := a.openRegular(Fetched(grid, url))
	if err != nil {
		return nil, a.wrap(err, "open %s", Fetched(grid, url))
	}
	return f, nil
}

// RemoveFetched removes the fetched inputs of a grid job.
func (a *Area) RemoveFetched(grid jjm.GridID) error {
	return a.wrap(a.fs.RemoveAll(fetchDir(grid)), "remove %s", fetchDir(grid))
}
