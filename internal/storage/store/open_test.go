package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

func TestOpen_MakesAPrivateStoreWithANonce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path+suffix, info.Mode())
		}
	}
	if _, err := jjm.NewTag(s.Nonce()); err != nil {
		t.Error(err)
	}
	nonce := s.Nonce()
	s.Close()
	if got := open(t, path).Nonce(); got != nonce {
		t.Errorf("nonce %q after reopening, want %q", got, nonce)
	}
	if got := fresh(t).Nonce(); got == nonce {
		t.Errorf("two stores share the nonce %q", got)
	}
}

func TestOpen_SetsWhatADatabaseDoesNotStore(t *testing.T) {
	s := fresh(t)
	for pragma, want := range map[string]int64{"synchronous": 2, "foreign_keys": 1, "recursive_triggers": 1} {
		got, err := s.writer.number("PRAGMA "+pragma, nil)
		if err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", pragma, got, err, want)
		}
	}
	if got := number(t, s, "PRAGMA query_only"); got != 1 {
		t.Error("read connections can write")
	}
	if n := number(
		t, s, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'"); n != 0 {
		t.Errorf("%d tables are not STRICT", n)
	}
}

func TestOpen_PathsWithOddCharacters(t *testing.T) {
	for _, name := range []string{"a b.db", "a?mode=memory", "a%41#x.db", "ü&_pragma=x;y.db", "-", "a\nb"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path)
		if err := s.SetMeta(context.Background(), "k", "v"); err != nil {
			t.Error(err)
		}
		s.Close()
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOpen_RelativePathSurvivesAChangeOfFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "jjm.db")
	t.Chdir(t.TempDir())
	if _, _, err := s.Meta(context.Background(), "k"); err != nil {
		t.Error(err)
	}
}

func TestOpen_RefusesWhatIsNotAStore(t *testing.T) {
	write := func(b string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sql := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			write("")(t, path)
			c, err := dial(path, writing)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			if err := c.script(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		kind jjm.Kind
		want string
	}{
		{"text", write(strings.Repeat("#!/bin/sh\n", 1000)), jjm.Invalid, "it is not a database"},
		{"one byte", write("x"), jjm.Invalid, "it is not a database"},
		{"zeros", write(string(make([]byte, 8192))), jjm.Invalid, "it is not a database"},
		{"cut off", write("SQLite format 3\x00"), jjm.Invalid, "it is not a database"},
		{"folder", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, jjm.Invalid, "not a regular file"},
		{"pipe", func(t *testing.T, path string) { syscall.Mkfifo(path, 0o600) }, jjm.Invalid, "not a regular file"},
		{"another program's", sql("CREATE TABLE t (x); PRAGMA application_id = 77"), jjm.Invalid,
			"another program (application id 0x4d"},
		{"another program's, unmarked", sql("CREATE TABLE t (x)"), jjm.Invalid, "another program (application id 0x0"},
		{"newer", sql(schema1 + ";" + markStep(0, schema1) + marks(999)), jjm.Invalid,
			"schema is version 999, this jjm reads version 1: run the newer jjm"},
		{"the next version", sql(schema1 + ";" + markStep(0, schema1) + marks(2)), jjm.Invalid,
			"schema is version 2, this jjm reads version 1: run the newer jjm"},
		{"before 0.1.0", sql(schema1 + marks(22)), jjm.Invalid,
			"made by a jjm before 0.1.0, with schema version 22 of that time, and this jjm reads version 1 of its own: " +
				"finish its grid jobs with that jjm, and begin a new state folder"},
		{"before 0.1.0, version 1", sql("CREATE TABLE grid_jobs (id)" + marks(1)), jjm.Invalid,
			"made by a jjm before 0.1.0, with schema version 1 of that time"},
		{"before 0.1.0, another text of version 1",
			sql(schema1 + ";" + markStep(0, schema1+"CREATE TABLE later (x)") + marks(1)), jjm.Invalid,
			"made by a jjm before 0.1.0, with schema version 1 of that time"},
		{"before 0.1.0, version 20", sql("CREATE TABLE grid_jobs (id)" + marks(20)), jjm.Invalid,
			"made by a jjm before 0.1.0, with schema version 20 of that time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jjm.db")
			tt.make(t, path)
			before := content(path)
			_, err := Open(path, Options{})
			wantKind(t, err, tt.kind)
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q lacks %q or the path", err, tt.want)
			}
			if !bytes.Equal(before, content(path)) {
				t.Error("the file was changed")
			}
		})
	}
}

// marks returns SQL that marks a database as a store with this version of the schema.
func marks(version int) string {
	return fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version)
}

// content returns the bytes of a regular file, nil for anything else.
func content(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, _ := os.ReadFile(path)
	return b
}

func TestOpen_RefusesPathsThatAreNone(t *testing.T) {
	for _, path := range []string{"", "a\x00b"} {
		_, err := Open(path, Options{})
		wantKind(t, err, jjm.Invalid)
	}
	_, err := Open(filepath.Join(t.TempDir(), "no", "jjm.db"), Options{})
	wantKind(t, err, jjm.Gone)
}

func TestOpen_FolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jjm.db")
	if os.Geteuid() == 0 { // modes do not restrict root; a read-only mount does
		needs.Tmpfs(t, dir, "size=4m")
		open(t, path).Close()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	} else {
		open(t, path).Close()
		os.Chmod(path, 0o400)
		os.Chmod(dir, 0o500)
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
	}
	for _, name := range []string{"jjm.db", "new.db"} {
		_, err := Open(filepath.Join(dir, name), Options{})
		wantKind(t, err, jjm.Busy)
		if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "writable") &&
			!strings.Contains(err.Error(), "check the folder") {
			t.Errorf("error %q lacks the path or the remedy", err)
		}
	}
}

func TestOpen_ReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	_, err := Open(path, Options{ReadOnly: true})
	wantKind(t, err, jjm.Gone)
	if _, err := os.Stat(path); err == nil {
		t.Fatal("a store was made")
	}
	s := open(t, path)
	g := fill(t, s, 3, 3)
	for _, when := range []string{"beside the daemon", "after it"} {
		r, err := Open(path, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(when, err)
		}
		if got, err := r.Locals(context.Background(), g.ID, 0, -1); err != nil || len(got) != 3 || r.Nonce() != s.Nonce() {
			t.Errorf("%s: %d local jobs, %v", when, len(got), err)
		}
		wantKind(t, r.Update(context.Background(), func(*Tx) error { return nil }), jjm.Conflict)
		if err := r.Close(); err != nil {
			t.Error(when, err)
		}
		// The writer still has its locks after the reader closed the store.
		if when == "beside the daemon" {
			fill(t, s, 1, 1)
			s.Close()
		}
	}
}

func TestOpen_ReadOnlyNeedsTheSchemaOfToday(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	if err := s.writer.script("PRAGMA user_version = 0"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err := Open(path, Options{ReadOnly: true})
	wantKind(t, err, jjm.Conflict)
	os.WriteFile(path, nil, 0o600)
	_, err = Open(path, Options{ReadOnly: true})
	wantKind(t, err, jjm.Conflict)
}

func TestOpen_ChecksASmallStoreAfterAnUncleanEnd(t *testing.T) {
	for _, clean := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "jjm.db")
		s := open(t, path)
		fill(t, s, 2000, 1000)
		s.Close()
		damage(t, path)
		if !clean {
			c, err := dial(path, writing)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.script("UPDATE identity SET clean = 0"); err != nil {
				t.Fatal(err)
			}
			c.close()
		}
		s, err := Open(path, Options{})
		if clean {
			if err != nil {
				t.Fatal(err)
			}
			err = s.Check(context.Background())
			s.Close()
		}
		wantKind(t, err, jjm.Internal)
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore the last backup") {
			t.Errorf("error %q lacks the path or the remedy", err)
		}
	}
}

// damage overwrites a page of the table of local jobs.
func damage(t *testing.T, path string) {
	t.Helper()
	c, err := dial(path, reading)
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.number("SELECT max(pageno) FROM dbstat WHERE name = 'local_jobs' AND pagetype = 'leaf'", nil)
	if err != nil {
		page, err = c.number("SELECT page_count - 5 FROM pragma_page_count", nil)
	}
	c.close()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte("damage! "), 512), (page-1)*4096); err != nil {
		t.Fatal(err)
	}
}

func TestClose_MarksTheStoreCleanAndEndsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	if n := number(t, s, "SELECT clean FROM identity"); n != 0 {
		t.Error("an open store is marked clean")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the write-ahead log is still there")
	}
	wantKind(t, s.Update(context.Background(), func(*Tx) error { return nil }), jjm.Internal)
	_, err := s.Live(context.Background())
	wantKind(t, err, jjm.Internal)
	if n := number(t, open(t, path), "SELECT clean FROM identity"); n != 0 {
		t.Error("a store opened again is marked clean")
	}
}

func TestMigrate_IsAllOrNothing(t *testing.T) {
	s := fresh(t)
	version := len(s.steps)
	if err := s.step(version, "CREATE TABLE half (x); CREATE TABLE half (x)"); err == nil {
		t.Fatal("a broken step passed")
	}
	if n := number(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"); n != 0 {
		t.Error("half of a step stayed")
	}
	if n := number(t, s, "PRAGMA user_version"); n != int64(version) {
		t.Errorf("version %d after a broken step, want %d", n, version)
	}
	if err := s.step(version-1, "CREATE TABLE late (x)"); err != nil {
		t.Error(err)
	}
	if n := number(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'late'"); n != 0 {
		t.Error("a step that another process made ran again")
	}
}
