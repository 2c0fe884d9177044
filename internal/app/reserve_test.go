package app

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/api/server"
	"jjm/internal/engine"
	"jjm/internal/testkit/needs"
	"jjm/xmldb"
)

// keeper returns the reserve of a daemon on a new, small file system. A reserve is a file that the daemon gives up
// when the disk is full, so that the store can still be written.
func keeper(t *testing.T) *reserve {
	t.Helper()
	disk := needs.Tmpfs(t, t.TempDir(), "size=32m")
	a := &App{config: Config{State: disk, Reserve: 64 << 20, Engine: engine.Defaults()},
		log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := a.makeSpool(); err != nil {
		t.Fatal(err)
	}
	return a.openReserve()
}

// allocated returns the space that a file takes, in bytes.
func allocated(t *testing.T, file string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// fill writes a file until the disk is full.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for text := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(text)
	}
}

func TestReserve_IsGivenUpWhenTheDiskIsFullAndTakenBack(t *testing.T) {
	r := keeper(t)
	if got := allocated(t, r.file); got != 2<<20 {
		t.Fatalf("%d bytes are kept: want a sixteenth of the disk", got)
	}
	others := filepath.Join(r.app.config.State, "others")
	fill(t, others) // files outside the spool fill the disk
	now := time.Now()
	r.look(now)
	if got := allocated(t, r.file); got != 0 || !r.shut {
		t.Errorf("the disk is full: %d bytes are kept, shut is %v", got, r.shut)
	}
	if err := os.WriteFile(filepath.Join(r.app.config.State, "store"), make([]byte, 1<<20), 0o600); err != nil {
		t.Errorf("what was given up is of no use: %v", err)
	}
	if err := os.Remove(others); err != nil {
		t.Fatal(err)
	}
	r.look(now)
	if got := allocated(t, r.file); got != 2<<20 || !r.shut {
		t.Errorf("there is room again: %d bytes are kept, shut is %v", got, r.shut)
	}
	if r.look(now.Add(2 * reserveCalm)); r.shut {
		t.Error("the spool stays shut")
	}
}

// If an account fills the disk through the spool, the account's entries are removed, and the reserve stays.
func TestReserve_TheSpoolGoesFirst(t *testing.T) {
	r := keeper(t)
	box := filepath.Join(r.app.config.spoolDir(), "in", "u4711")
	if err := os.Mkdir(box, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(box, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(box, "x"))
	r.look(time.Now())
	if _, err := os.Stat(box); !os.IsNotExist(err) || allocated(t, r.file) != 2<<20 || !r.shut {
		t.Errorf("the box: %v, %d bytes are kept, shut is %v", err, allocated(t, r.file), r.shut)
	}
	if err := r.open(); err != nil || r.shut {
		t.Errorf("at the end of the daemon it stays shut: %v", err)
	}
}

// Files that fill the drop folder are removed too, whichever account owns them, and the drop folder is closed until
// there is room.
func TestReserve_TheDropFolderGoesToo(t *testing.T) {
	needs.Root(t, "to give files to another account")
	r := keeper(t)
	var log bytes.Buffer
	r.app.log = slog.New(slog.NewTextHandler(&log, nil))
	drop := filepath.Join(r.app.config.State, "drop")
	d, err := xmldb.OpenDrop(drop, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, err := os.Stat(drop)
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(drop, ".fill")
	fill(t, theirs)
	if err := os.Chown(theirs, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r.look(now)
	if _, err := os.Stat(theirs); !os.IsNotExist(err) || allocated(t, r.file) != 2<<20 || !r.shut {
		t.Errorf("what fills the disk: %v, %d bytes are kept, shut is %v", err, allocated(t, r.file), r.shut)
	}
	if !strings.Contains(log.String(), "account=4711 folder=drop") {
		t.Errorf("the log does not name the account: %s", log.String())
	}
	if shut, err := os.Stat(drop); err != nil || shut.Mode().Perm() != 0o711 {
		t.Errorf("shut: %v, %v", shut.Mode(), err)
	}
	r.look(now.Add(2 * reserveCalm))
	if after, err := os.Stat(drop); err != nil || after.Mode() != before.Mode() {
		t.Errorf("open again: %v, %v: want %v", after.Mode(), err, before.Mode())
	}
}

// If the folders that accounts can write to are on file systems of their own, a full folder does not concern the
// store. No reserve is then kept, and the folders are not shut.
func TestReserve_IsNotWhereTheFoldersOfAccountsAreApart(t *testing.T) {
	r := keeper(t)
	in := needs.Tmpfs(t, filepath.Join(r.app.config.spoolDir(), "in"), "size=1m")
	drop := filepath.Join(r.app.config.State, "drop")
	if err := os.Mkdir(drop, 0o700); err != nil {
		t.Fatal(err)
	}
	needs.Tmpfs(t, drop, "size=1m")
	r = r.app.openReserve()
	fill(t, filepath.Join(in, "x"))
	r.look(time.Now())
	if _, err := os.Stat(r.file); !os.IsNotExist(err) || r.shut {
		t.Errorf("something is kept, %v, or it is shut, %v", err, r.shut)
	}
}

// The daemon makes a lost spool again. The test tries a spool that is removed, a spool that is replaced by an empty
// folder, and a spool without boxes.
func TestReserve_MakesALostSpoolAgain(t *testing.T) {
	var log bytes.Buffer
	a := &App{config: Config{State: t.TempDir(), Engine: engine.Defaults()},
		log: slog.New(slog.NewTextHandler(&log, nil))}
	a.config.Gate.Mode = "0666"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := a.openReserve()
	must(r.makeAll())
	spoolDir, in := a.config.spoolDir(), filepath.Join(a.config.spoolDir(), "in")
	want, err := os.Stat(in)
	must(err)
	for name, lose := range map[string]func(){
		"it is gone":         func() {},
		"a folder is there":  func() { must(os.Mkdir(spoolDir, 0o700)) },
		"its boxes are gone": func() { must(os.MkdirAll(in, 0o700)) },
	} {
		log.Reset()
		must(os.Rename(spoolDir, filepath.Join(t.TempDir(), "away"))) // moved: no inode number is used again
		lose()
		r.watch()
		if got, err := os.Stat(in); err != nil || got.Mode() != want.Mode() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if !strings.Contains(log.String(), "the spool was removed or replaced, and was made again") {
			t.Errorf("%s: the log says %q", name, log.String())
		}
		log.Reset()
		if r.watch(); log.Len() > 0 || r.notes.tell(server.Caller{}) != nil {
			t.Errorf("%s: it is said again: %q", name, log.String())
		}
	}
	must(os.RemoveAll(spoolDir))
	must(os.WriteFile(spoolDir, nil, 0o600))
	log.Reset()
	r.watch()
	r.watch()
	if n := strings.Count(log.String(), "cannot be made again"); n != 1 {
		t.Errorf("said %d times: %q", n, log.String())
	}
	if told := r.notes.tell(server.Caller{}); len(told) != 1 || !strings.Contains(told[0], spoolDir) {
		t.Errorf("people are told %q", told)
	}
	must(os.Remove(spoolDir))
	if r.watch(); r.notes.tell(server.Caller{}) != nil {
		t.Errorf("people are told %q", r.notes.tell(server.Caller{}))
	}
}

// While the folders are shut, administrators see which account filled the folders. Other accounts see only that the
// folders are shut.
func TestFolderNotes_TellAdministratorsWhoFilledTheDisk(t *testing.T) {
	r := keeper(t)
	drop := filepath.Join(r.app.config.State, "drop")
	if err := os.Mkdir(drop, 0o777); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(drop, ".part"))
	now := time.Now()
	r.look(now)
	told, others := r.notes.tell(server.Caller{Admin: true}), r.notes.tell(server.Caller{})
	want := "in drop, by uid " + strconv.Itoa(os.Getuid())
	if len(told) != 2 || !strings.Contains(told[0], "nobody can write into the spool") ||
		!strings.Contains(told[0], drop) || !strings.Contains(told[1], want) || !strings.Contains(told[1], " MB in ") {
		t.Errorf("an administrator is told %q", told)
	}
	if len(others) != 1 || others[0] != told[0] {
		t.Errorf("others are told %q", others)
	}
	if r.look(now.Add(2 * reserveCalm)); r.notes.tell(server.Caller{Admin: true}) != nil {
		t.Errorf("after it was opened: %q", r.notes.tell(server.Caller{Admin: true}))
	}
}
