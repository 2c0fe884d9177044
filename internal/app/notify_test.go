package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/publish/notify"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/await"
)

// noticed is a store in which grid jobs end, and a daemon that delivers notices.
type noticed struct {
	t     *testing.T
	dir   string
	store *store.Store
}

func newNoticed(t *testing.T) *noticed {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "jjm.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &noticed{t: t, dir: dir, store: s}
}

// program makes a program that adds its input to a file in the folder, and ends with an exit code.
func (n *noticed) program(name, exit string) string {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	text := "#!/bin/sh\ncat >>" + path + ".out\nexit " + exit + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// run runs the delivery until the returned function is called.
func (n *noticed) run(c notify.Config) (stop func()) {
	a := &App{config: Config{Notify: c}, store: n.store, log: slog.New(slog.DiscardHandler),
		opts: Options{Getenv: func(string) string { return "" }}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { a.runNotices(ctx) })
	return func() { cancel(); wg.Wait() }
}

// end stores a grid job that ends as broken, and returns its id.
func (n *noticed) end() jjm.GridID {
	n.t.Helper()
	g := &jjm.GridJob{Spec: jjm.Spec{Type: "script", Name: "n", Notify: []string{"alice@example.org"}}, Generation: 1,
		Owner: jjm.Owner{User: "alice"}}
	err := n.store.Update(n.t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertGrid(g); err != nil {
			return err
		}
		g.Status, g.Reason, g.Ended = jjm.Broken, "no such file", 7
		return errors.Join(tx.SaveGrid(g), tx.Journal(jjm.JournalEntry{Grid: g.ID, First: -1, Last: -1, From: "ready",
			To: "broken"}))
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return g.ID
}

// marked waits until the delivery has stored the end of the journal at its start.
func (n *noticed) marked() {
	n.t.Helper()
	await.Nil(n.t, "the mark", func() error {
		if _, found, err := n.store.Meta(n.t.Context(), noticeMark); err != nil || !found {
			return errors.Join(err, errors.New("there is none"))
		}
		return nil
	})
}

// says waits until the input of a program contains a text.
func (n *noticed) says(name, want string) string {
	n.t.Helper()
	var text []byte
	await.Nil(n.t, want, func() (err error) {
		if text, err = os.ReadFile(filepath.Join(n.dir, name+".out")); err == nil && !strings.Contains(string(text), want) {
			err = errors.New(string(text))
		}
		return err
	})
	return string(text)
}

func TestNotices_SettingsAreObserved(t *testing.T) {
	t.Parallel()
	n := newNoticed(t)
	old := n.end()
	c := notify.Defaults()
	c.Mail, c.From = []string{n.program("mail", "0")}, "jjm@example.org"
	c.Command = []string{n.program("command", "0")}
	stop := n.run(c)
	n.marked()
	id := n.end()
	n.says("mail", "From: jjm@example.org\nTo: alice@example.org\nSubject: jjm: grid job "+id.String()+" n: broken\n")
	if got := n.says("command", "\"message\":\"no such file\""); strings.Contains(got, "\"job\":"+old.String()+",") {
		t.Errorf("an end before the first start was told: %s", got)
	}
	stop()

	// A notice about an end while the daemon is down is delivered after the next start.
	later := n.end()
	c.Mail, c.From, c.Command = nil, "", []string{n.program("second", "0")}
	stop = n.run(c)
	n.says("second", "\"job\":"+later.String()+",")
	stop()

	c.Command, c.Patience = []string{n.program("failing", "3")}, 1 // provoked: the first attempt is the last one
	stop = n.run(c)
	impatient := n.end()
	await.Nil(t, "giving up", func() error {
		entries, err := n.store.History(t.Context(), jjm.Ref{Grid: impatient}, 1)
		if err == nil && (entries[0].To != "not-notified" || !strings.Contains(entries[0].Cause, "exit code 3")) {
			err = errors.New(entries[0].To)
		}
		return err
	})
	stop()

	// Without notices the mark is removed.
	a := &App{config: Config{Notify: notify.Defaults()}, store: n.store}
	a.runNotices(t.Context())
	if _, found, err := n.store.Meta(t.Context(), noticeMark); found || err != nil {
		t.Error(found, err)
	}
}

func TestNotices_AMissingProgramIsAProblemOfTheConfiguration(t *testing.T) {
	c := Config{Notify: notify.Config{Mail: []string{"/nonexistent/sendmail"}, Command: []string{"/etc"}}}
	if ps := c.preflightNotify(); len(ps) != 2 {
		t.Error(ps)
	}
}
