// Package golden runs tests on golden rows: recorded cases with their expected results, one JSON object per line. The
// id of a row is unique in its file.
//
// The rows are in internal/testkit/golden/testdata/golden of the module, plain (.jsonl) or compressed (.jsonl.gz).
// If JJM_GOLDEN names a folder with the same layout, its rows are run too.
package golden

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Env is the environment variable that names a second folder of rows.
const Env = "JJM_GOLDEN"

// shown is how many mismatches of a file are shown completely. The names of all mismatches are shown.
const shown = 5

// Rows calls check for every row of a golden file, such as "jedi/gbs_decisions". check returns what is wrong with the
// row, for example a diff, or "" if the row is right. After the first file with a mismatch the test fails and names the
// rows. A missing file of the module fails the test; a missing file below JJM_GOLDEN does not.
func Rows[T any](t testing.TB, name string, check func(id string, row T) string) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	own, err := find(filepath.Join(root, "internal/testkit/golden/testdata/golden"), name)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{own}
	if more := os.Getenv(Env); more != "" {
		file, err := find(more, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			t.Logf("%v", err)
		case err != nil:
			t.Fatal(err)
		default:
			files = append(files, file)
		}
	}
	for _, file := range files {
		if err := run(file, check); err != nil {
			t.Fatal(err)
		}
	}
}

// run checks the rows of one file and returns an error that names the mismatches.
func run[T any](file string, check func(id string, row T) string) error {
	text, err := read(file)
	if err != nil {
		return err
	}
	var bad, diffs []string
	n := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		n++
		var key struct {
			ID string `json:"id"`
		}
		var row T
		if err := errors.Join(json.Unmarshal(lines.Bytes(), &key), json.Unmarshal(lines.Bytes(), &row)); err != nil {
			return fmt.Errorf("%s, row %d (%q): %w", file, n, key.ID, err)
		}
		if diff := check(key.ID, row); diff != "" {
			bad = append(bad, key.ID)
			if len(bad) <= shown {
				diffs = append(diffs, key.ID+":\n"+diff)
			}
		}
	}
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("%s: %w", file, lines.Err())
	case n == 0:
		return fmt.Errorf("%s: no rows", file)
	case len(bad) > 0:
		return fmt.Errorf("%s: %d of %d rows differ: %s\n%s", file, len(bad), n, strings.Join(bad, " "),
			strings.Join(diffs, "\n"))
	}
	return nil
}

// read returns the uncompressed text of a file.
func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(file, ".gz") {
		return io.ReadAll(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

// find returns the path of a golden file below a folder, compressed or not.
func find(dir, name string) (string, error) {
	base := filepath.Join(dir, filepath.FromSlash(name))
	for _, ending := range []string{".jsonl", ".jsonl.gz"} {
		if _, err := os.Stat(base + ending); err == nil {
			return base + ending, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("golden rows %s.jsonl: %w", base, fs.ErrNotExist)
}

// moduleRoot returns the folder with the go.mod of the test's module.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("golden rows: no go.mod above the test")
		}
		dir = up
	}
}
