package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// everyone selects the jobs of all accounts.
var everyone = Whose{UID: Everyone, Most: 1000}

// found formats the results of a search as words such as "1.0#0".
func found(t *testing.T, all []Trace, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, tr := range all {
		id := jjm.AttemptID{LocalID: jjm.LocalID{Grid: tr.Grid, N: tr.Local}, Attempt: tr.Attempt}
		word := tr.Grid.String()
		if tr.Local >= 0 {
			word = id.LocalID.String()
		}
		if tr.Attempt >= 0 {
			word += "#" + string(rune('0'+tr.Attempt))
		}
		words = append(words, word+string(tr.Role))
	}
	return strings.Join(words, " ")
}

func TestFind_LiveAndArchivedAttemptsOfABulk(t *testing.T) {
	s := worked(t)
	ctx := context.Background()
	if err := raw(s, `UPDATE bulks SET id = '4711' WHERE tag = 'jone'; UPDATE bulks SET id = '4711[]' WHERE tag = 'jtwo';
		UPDATE bulks SET id = '47110' WHERE tag = 'jthree'`); err != nil {
		t.Fatal(err)
	}
	all, err := s.FindBatch(ctx, "4711", "", everyone)
	if got, want := found(t, all, err), "2.0#0 2.1#0 1.0#0 1.1#0 1.2#0"; got != want {
		t.Errorf("batch id 4711: %s, want %s", got, want)
	}
	if all[0].Tag != "jtwo" || all[0].Bulk != "4711[]" || all[0].Cluster == "" {
		t.Errorf("the bulk is not told: %+v", all[0])
	}
	all, err = s.FindBatch(ctx, "4711", "nowhere", everyone)
	if got := found(t, all, err); got != "" {
		t.Errorf("of another cluster: %s", got)
	}
	all, err = s.FindTag(ctx, "jthree", "", everyone)
	if got, want := found(t, all, err), "3.0#0 3.1#0"; got != want {
		t.Errorf("tag jthree: %s, want %s", got, want)
	}
	all, err = s.FindBatch(ctx, "4711", "", Whose{UID: Everyone, Most: 2})
	if got, want := found(t, all, err), "2.0#0 2.1#0"; got != want {
		t.Errorf("at most 2: %s, want %s", got, want)
	}
	all, err = s.FindBatch(ctx, "4711", "", Whose{UID: 4242, Most: 9})
	if got := found(t, all, err); got != "" {
		t.Errorf("another account found %s", got)
	}
}

func TestFind_WhatRanOnAHostAtATime(t *testing.T) {
	s := fresh(t)
	g := fill(t, s, 4, 4)
	b := submit(t, s, g.ID, "jone", 0, 3)
	var ends []AttemptEnd
	for i, at := range []struct {
		host           string
		started, ended jjm.Time
	}{{"node7", 1000, 2000}, {"node7.example.org", 1500, 3000}, {"node70", 1000, 3000}, {"node7", 0, 4000}} {
		e := sampleEnd(b.Members[i])
		e.Evidence.Batch.Host, e.Evidence.Batch.Started, e.Evidence.Batch.Ended = at.host, at.started, at.ended
		ends = append(ends, e)
	}
	update(t, s, func(tx *Tx) error { return tx.EndAttempts(ends) })
	for _, c := range []struct {
		host string
		at   jjm.Time
		want string
	}{
		{"node7", 0, "1.0#0 1.3#0 1.1#0"}, {"node7", 1200, "1.0#0 1.3#0"}, {"node7", 1500, "1.0#0 1.3#0 1.1#0"},
		{"node7", 2500, "1.3#0 1.1#0"}, {"node7", 3500, "1.3#0"}, {"node7", 4001, ""}, {"node7.example.org", 0, "1.1#0"},
		{"node", 0, ""}, {"node70", 0, "1.2#0"},
	} {
		all, err := s.FindHost(context.Background(), c.host, c.at, c.at, everyone)
		if got := found(t, all, err); got != c.want {
			t.Errorf("host %s at %d: %q, want %q", c.host, c.at, got, c.want)
		}
	}
	// An attempt is found if it ran at any time between from and until, even if only its begin or end is in this time.
	for _, c := range []struct {
		from, until jjm.Time
		want        string
	}{{1, 999, "1.3#0"}, {1, 1000, "1.0#0 1.3#0"}, {2000, 2100, "1.0#0 1.3#0 1.1#0"}, {2001, 9000, "1.3#0 1.1#0"}} {
		all, err := s.FindHost(context.Background(), "node7", c.from, c.until, everyone)
		if got := found(t, all, err); got != c.want {
			t.Errorf("from %d until %d: %q, want %q", c.from, c.until, got, c.want)
		}
	}
}

func TestFind_ByOriginAndUser(t *testing.T) {
	s := fresh(t)
	ctx := context.Background()
	for _, user := range []string{"alice", "bob", "alice"} {
		g := sampleGrid()
		g.Owner.User, g.Spec.Key = user, ""
		g.Origin = &jjm.Origin{Subject: "/DC=org/CN=" + user, Job: "https://ce/" + user}
		update(t, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	}
	all, err := s.FindSubject(ctx, "/DC=org/CN=alice", everyone)
	if got := found(t, all, err); got != "3 1" {
		t.Errorf("the grid jobs of a DN: %q", got)
	}
	all, err = s.FindOrigin(ctx, "https://ce/bob", everyone)
	if got := found(t, all, err); got != "2" {
		t.Errorf("the grid job of a gatekeeper: %q", got)
	}
	all, err = s.FindUser(ctx, Whose{UID: Everyone, User: "alice", Most: 9})
	if got := found(t, all, err); got != "3 1" {
		t.Errorf("the grid jobs of a user: %q", got)
	}
}

// No search scans a whole table, except the small table of datasets.
func TestFind_EachSearchUsesAnIndex(t *testing.T) {
	s := worked(t)
	ctx := context.Background()
	_, e1 := s.FindBatch(ctx, "1", "", everyone)
	_, e2 := s.FindTag(ctx, "jone", "", everyone)
	_, e3 := s.FindHost(ctx, "node1", 1, 2, everyone)
	_, e4 := s.FindHost(ctx, "node1", 0, 0, everyone)
	_, e5 := s.FindSubject(ctx, "x", everyone)
	_, e6 := s.FindOrigin(ctx, "x", everyone)
	_, e7 := s.FindUser(ctx, Whose{UID: Everyone, User: "x", Most: 1})
	_, e8 := s.FindFile(ctx, "x", everyone)
	if err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8); err != nil {
		t.Fatal(err)
	}
	explained := 0
	err := s.view(ctx, func(c *conn) error {
		for _, query := range slices.Collect(maps.Keys(c.stmts)) {
			if !strings.HasPrefix(query, "WITH t ") {
				continue
			}
			explained++
			a := args{}
			for n := range 7 {
				if strings.Contains(query, "?"+string(rune('1'+n))) {
					a = a.int(1)
				}
			}
			err := c.query(ctx, "EXPLAIN QUERY PLAN "+query, a, func(r row) error {
				table, scanned := strings.CutPrefix(r.text(3), "SCAN ")
				table, _, _ = strings.Cut(table, " ")
				if scanned && slices.Contains([]string{"b", "m", "e", "evidence", "grid_jobs", "g", "i", "c", "files"}, table) {
					t.Errorf("%s of\n%s", r.text(3), query)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || explained < 8 {
		t.Errorf("%d of 8 searches explained, error %v", explained, err)
	}
}
