package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// aside is an unreadable spool entry whose folder was renamed. The entry's jobs may have run, or may still run, so
// their states are unknown as long as the renamed folder exists.
type aside struct {
	path string
	adapters.Unread
}

// tagInEntry matches the tag in the text of a damaged entry.
var tagInEntry = regexp.MustCompile(`"tag":"([a-z0-9]+)"`)

// setAside renames the folder of an unreadable entry. The caller holds a.mu, or is New.
func (a *Adapter) setAside(id int64, path string, why error) {
	name := path + ".bad"
	err := os.Rename(path, name)
	for n := 1; errors.Is(err, os.ErrExist) && n < 100; n++ {
		name = fmt.Sprintf("%s.%d.bad", path, n)
		err = os.Rename(path, name)
	}
	if err != nil {
		name = path
	}
	a.env.Warn("a spool entry is damaged and was set aside; its jobs are unknown until you remove it, and are lost then",
		"path", name, "error", errors.Join(why, err))
	a.noteAside(id, name)
}

// noteAside stores in memory that an entry is set aside.
func (a *Adapter) noteAside(id int64, path string) {
	u := adapters.Unread{ID: strconv.FormatInt(id, 10), Index: -1,
		Text: "a damaged spool entry of the embedded batch system: " + path}
	if text, err := readBounded(filepath.Join(path, "bulk.json"), maxEntry); err == nil {
		if m := tagInEntry.FindSubmatch(text); m != nil && jjm.Tag(m[1]).Valid() {
			u.Tag = jjm.Tag(m[1])
		}
	}
	a.damaged = append(a.damaged, aside{path, u})
}

// unread returns the entries that are set aside and still exist. The caller holds a.mu.
func (a *Adapter) unread() (out []adapters.Unread) {
	a.damaged = slices.DeleteFunc(a.damaged, func(e aside) bool {
		_, err := os.Lstat(e.path)
		return errors.Is(err, os.ErrNotExist)
	})
	for _, e := range a.damaged {
		out = append(out, e.Unread)
	}
	return out
}
