package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// If the environment variable childEnv is set, the test binary is a child process that does the work which the variable
// names ("pairs" or "archive"). The variable childPath is the path of the store.
const (
	childEnv  = "JJM_STORE_TEST_CHILD"
	childPath = "JJM_STORE_TEST_PATH"
)

func TestMain(m *testing.M) {
	work := map[string]func(*Store) error{"pairs": writePairs, "archive": archiveAll}[os.Getenv(childEnv)]
	if work == nil {
		os.Exit(m.Run())
	}
	s, err := Open(os.Getenv(childPath), Options{})
	if err == nil {
		fmt.Println("open")
		err = work(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writePairs commits new grid jobs until it is killed, one in each transaction, each with two local jobs, two journal
// entries and a count. It prints a line after each commit.
func writePairs(s *Store) error {
	for {
		err := s.Update(context.Background(), func(tx *Tx) error {
			g := sampleGrid()
			if err := tx.InsertGrid(g); err != nil {
				return err
			}
			entry := jjm.JournalEntry{Grid: g.ID, First: -1, Last: -1, To: "registered"}
			return errors.Join(tx.Journal(entry), tx.InsertLocals([]jjm.LocalJob{sampleLocal(g.ID, 0), sampleLocal(g.ID, 1)}),
				tx.SetMeta("count", g.ID.String()), tx.Journal(entry))
		})
		if err != nil {
			return err
		}
		fmt.Println("commit")
	}
}

func archiveAll(s *Store) error {
	for {
		more, err := s.Archive(context.Background(), 1, 7)
		fmt.Println("commit")
		if err != nil || !more {
			return err
		}
	}
}

// killAfter runs the child on the store and kills it at some moment after it has printed the given number of lines. It
// returns the number of acknowledged commits.
func killAfter(t *testing.T, work, path string, lines int) (commits int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+work, childPath+"="+path)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(out); in.Scan(); lines-- {
		if in.Text() == "commit" {
			commits++
		}
		if lines == 0 {
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
	}
	cmd.Wait() // the child was killed or has ended
	if stderr.Len() > 0 {
		t.Fatalf("child: %s", stderr.String())
	}
	return commits
}

func TestKill_EveryTransactionIsWholeOrAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	acknowledged := int64(0)
	for round := range 6 {
		acknowledged += int64(killAfter(t, "pairs", path, rand.IntN(60)))
		s := open(t, path) // checks the store, because the child did not close it
		grids := number(t, s, "SELECT count(*) FROM grid_jobs")
		if grids < acknowledged || grids > acknowledged+1 {
			t.Errorf("round %d: %d grid jobs stored, %d acknowledged", round, grids, acknowledged)
		}
		acknowledged = grids
		for query, want := range map[string]int64{
			"SELECT count(*) FROM local_jobs": 2 * grids, "SELECT count(*) FROM cover": 2 * grids,
			"SELECT count(*) FROM journal": 2 * grids, "SELECT max(seq) FROM journal": 2 * grids,
			"SELECT count(*) FROM (SELECT grid FROM journal GROUP BY grid HAVING count(*) = 2)": grids,
			"SELECT CAST(value AS INTEGER) FROM meta WHERE key NOT LIKE 'schema %'":             grids,
		} {
			if got := number(t, s, query); got != want && grids > 0 {
				t.Errorf("%s gives %d, want %d", query, got, want)
			}
		}
		if err := s.Check(context.Background()); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

func TestKill_ArchiveContinuesWhereItStopped(t *testing.T) {
	const n = 1400
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	g := fill(t, s, n, n)
	finish(t, s, submit(t, s, g.ID, "jone", 0, n-1))
	complete(t, s, g)
	s.Close()
	for range 5 {
		killAfter(t, "archive", path, rand.IntN(40))
		s := open(t, path)
		wantWhole(t, s, g.ID, n, 0)
		s.Close()
	}
	s = open(t, path)
	archive(t, s, g.ID, 100)
	wantWhole(t, s, g.ID, n, 0)
	if live, err := s.Live(context.Background()); err != nil || len(live.Grids) != 0 {
		t.Errorf("live %v, %v", live, err)
	}
}

// wantWhole requires that a grid job has each of its n local jobs once, each with one attempt and ledger rows, in the
// live tables or in the history. others is the number of local jobs of other grid jobs, which have no attempts.
func wantWhole(t *testing.T, s *Store, id jjm.GridID, n, others int) {
	t.Helper()
	ls, err := s.Locals(context.Background(), id, 0, -1)
	if err != nil || len(ls) != n {
		t.Fatalf("%d local jobs, %v; want %d", len(ls), err, n)
	}
	for i := range ls {
		if ls[i].ID.N != int32(i) || ls[i].State != jjm.Completed {
			t.Fatalf("local job %v at place %d", ls[i], i)
		}
	}
	for _, table := range []string{"local_jobs", "attempts", "cover"} {
		got := number(t, s, "SELECT (SELECT count(*) FROM "+table+") + (SELECT count(*) FROM history_"+table+")")
		if table == "attempts" {
			got += int64(others)
		}
		if got != int64(n+others) {
			t.Errorf("%d rows of %s, want %d", got, table, n)
		}
	}
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// wantFull writes until the disk is full. It requires that acknowledged writes are stored, that the store can still be
// read, and that writes succeed again after makeRoom.
func wantFull(t *testing.T, s *Store, makeRoom func()) {
	t.Helper()
	ctx := context.Background()
	var err error
	stored, big := 0, strings.Repeat("x", 20_000)
	for i := 0; err == nil && i < 1000; i++ {
		err = s.Update(ctx, func(tx *Tx) error {
			return errors.Join(tx.SetMeta(fmt.Sprint("a", i), big), tx.SetMeta(fmt.Sprint("b", i), big))
		})
		if err == nil {
			stored++
		}
	}
	wantKind(t, err, jjm.Busy)
	if !strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), "full") {
		t.Errorf("error %q lacks the path or the reason", err)
	}
	if n := number(t, s, "SELECT count(*) FROM meta WHERE key NOT LIKE 'schema %'"); n != int64(2*stored) || stored == 0 {
		t.Errorf("%d values, %d pairs acknowledged", n, stored)
	}
	makeRoom()
	if err := s.SetMeta(ctx, "after", big); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

func TestFullDisk_OfATmpfs(t *testing.T) {
	dir := needs.Tmpfs(t, t.TempDir(), "size=2m")
	s := open(t, filepath.Join(dir, "jjm.db"))
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 500_000), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFull(t, s, func() { os.Remove(ballast) })
}

func TestFullDisk_AtOpen(t *testing.T) {
	dir := needs.Tmpfs(t, t.TempDir(), "size=128k")
	_, err := Open(filepath.Join(dir, "jjm.db"), Options{})
	wantKind(t, err, jjm.Busy)
	if !strings.Contains(err.Error(), "full") {
		t.Errorf("error %q lacks the reason", err)
	}
}

func TestFullDisk_OfAPageLimit(t *testing.T) {
	s := fresh(t)
	if err := s.writer.script("PRAGMA max_page_count = 200"); err != nil {
		t.Fatal(err)
	}
	wantFull(t, s, func() {
		if s.writer != nil {
			s.writer.script("PRAGMA max_page_count = 100000")
		}
	})
}

func TestErrors_KindsAndRemedies(t *testing.T) {
	s := fresh(t)
	err := s.fail(context.DeadlineExceeded, "try")
	wantKind(t, err, jjm.Busy)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the cause is lost")
	}
	err = s.fail(fmt.Errorf("layer: %w", jjm.Errorf(jjm.Gone, "it is away")), "look")
	wantKind(t, err, jjm.Gone)
	if err.Error() != "look: layer: it is away" {
		t.Error(err)
	}
	err = s.failFile(jjm.Errorf(jjm.Invalid, "it is no store"), "open %s", "x")
	wantKind(t, err, jjm.Invalid)
	if err.Error() != "store: open x: it is no store" {
		t.Error(err)
	}
	wantKind(t, s.fail(errors.New("anything"), "do"), jjm.Internal)
	wantKind(t, s.fail(raw(s, "SELEKT"), "do"), jjm.Internal)
}

// If another process holds the write lock, a write fails with an error of kind Busy. It succeeds after the lock is
// released.
func TestUpdate_ForeignWriterIsBusy(t *testing.T) {
	s := fresh(t)
	other, err := dial(s.path, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := errors.Join(other.script("BEGIN IMMEDIATE"), s.writer.script("PRAGMA busy_timeout = 20")); err != nil {
		t.Fatal(err)
	}
	err = s.SetMeta(context.Background(), "k", "v")
	wantKind(t, err, jjm.Busy)
	if !strings.Contains(err.Error(), "another process holds "+s.path) {
		t.Error(err)
	}
	if err := errors.Join(other.script("ROLLBACK"), s.SetMeta(context.Background(), "k", "v")); err != nil {
		t.Error(err)
	}
}
