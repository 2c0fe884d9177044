package head

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"jjm/internal/jjm"
)

// namesAtOnce is the number of names of a folder that are in memory at the same time.
const namesAtOnce = 1024

// IDs returns the grid jobs that have a folder in dir, newest first. It does not read the content of the folders.
func IDs(dir string) ([]jjm.GridID, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, jjm.Errorf(kind(err), "list the records: %w", err)
	}
	defer f.Close()
	var ids []jjm.GridID
	for {
		names, err := f.Readdirnames(namesAtOnce)
		for _, name := range names {
			if id, bad := strconv.ParseInt(name, 10, 64); bad == nil && id > 0 && strconv.FormatInt(id, 10) == name {
				ids = append(ids, jjm.GridID(id))
			}
		}
		if errors.Is(err, io.EOF) {
			slices.SortFunc(ids, func(a, b jjm.GridID) int { return cmp.Compare(b, a) })
			return ids, nil
		}
		if err != nil {
			return nil, jjm.Errorf(kind(err), "list the records in %s: %w", dir, err)
		}
	}
}

// Document reads a file of a record without parsing it: [File], or the file of a shard. The errors are of the same
// kinds as the errors of Read.
func Document(dir string, grid jjm.GridID, name string) ([]byte, error) {
	data, err := readFile(filepath.Join(dir, grid.String(), name), MaxShard)
	if err != nil {
		return nil, jjm.Errorf(kind(err), "read record of grid job %d: %w", grid, err)
	}
	return data, nil
}
