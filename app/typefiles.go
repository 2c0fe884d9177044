package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"jjm"
	"jjm/handlers"
	"jjm/handlers/external"
)

// typeFiles finds what in the folder of job types strangers may change: what lies there
// says what jobs run, and its programs are asked as this account what they are. A folder
// that is not there is safe. The account is the user id of this process.
func typeFiles(dir string, account int) (problems jjm.Problems) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, more := os.ReadDir(dir)
	if err = errors.Join(err, more); err != nil {
		return jjm.Problems{{Field: "job_types", Text: err.Error()}}
	}
	owners := []uint32{0}
	if account != 0 { // what root runs is root's
		owners = append(owners, ownerOf(info))
	}
	problems = unsafe(dir, owners)
	for _, e := range entries {
		problems = append(problems, unsafe(filepath.Join(dir, e.Name()), owners)...)
	}
	return problems
}

// typePrograms does so for the programs of types, which may lie elsewhere.
func typePrograms(types []handlers.Handler, dir string, account int) (problems jjm.Problems) {
	owners := []uint32{0}
	if info, err := os.Stat(dir); err == nil && account != 0 {
		owners = append(owners, ownerOf(info))
	}
	for _, h := range types {
		if t, ok := h.(*external.Type); ok && filepath.Dir(t.Program()) != dir {
			problems = append(problems, unsafe(t.Program(), owners)...)
		}
	}
	return problems
}

// unsafe says who else may change a file or folder than the accounts that may.
func unsafe(path string, owners []uint32) jjm.Problems {
	info, err := os.Stat(path)
	switch {
	case err != nil: // removed meanwhile, or a link to nothing
		return nil
	case info.Mode().Perm()&0o022 != 0:
		return jjm.Problems{{Field: "job_types", Text: fmt.Sprintf(
			"%s: others than its owner may write it (%v), and so say what jobs run: chmod go-w %s", path, info.Mode(), path)}}
	case !slices.Contains(owners, ownerOf(info)):
		return jjm.Problems{{Field: "job_types", Text: fmt.Sprintf(
			"%s: it belongs to the account %d, which could change it and so say what jobs run: chown %d %s", path, ownerOf(info),
			owners[len(owners)-1], path)}}
	}
	return nil
}

// ownerOf is the user id that a file belongs to.
func ownerOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return ^uint32(0)
}
