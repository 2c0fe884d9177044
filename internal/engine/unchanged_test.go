package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// says requires one note that contains a text.
func says(t *testing.T, what string, notes []string, text string) {
	t.Helper()
	if len(notes) != 1 || !strings.Contains(notes[0], text) {
		t.Errorf("%s: notes %q, want one with %q", what, notes, text)
	}
}

// A ban, an exclusion or an order that is in force already is not stored again: it keeps its time and its person, the
// journal has one entry, and the answer says why nothing changed. Another reason is a change.
func TestUnchanged_AnOrderOfTheSiteGivenAgainSaysWhy(t *testing.T) {
	t.Parallel()
	inWorld(t, excluding(adaptertest.SimConfig{}), func(t *testing.T, w *world) {
		root := wire.Caller{User: "root", UID: 0, Admin: true}
		ban := wire.Ban{Name: "bob", Reason: "mines coins"}
		exclude := wire.Exclude{Hosts: []string{"wn13"}, Reason: "disk full"}
		pause := wire.Order{Verb: "pause", Kind: "user", Name: "bob", Reason: "asks first"}
		var bans [2]wire.Banned
		var hosts [2]wire.Excluded
		var orders [2]wire.OrderAnswer
		for i, by := range []wire.Caller{admin, root} {
			var err error
			bans[i], err = w.engine.Ban(t.Context(), by, &ban)
			w.must(err)
			hosts[i], err = w.engine.Exclude(t.Context(), by, &exclude)
			w.must(err)
			orders[i], err = call(t.Context(), w.engine, wire.VerbOrder(), by, wire.OrderRequest{Order: &pause})
			w.must(err)
			w.pass(time.Minute)
		}
		if b := bans[0]; b.NoChange || len(b.Notes) > 0 {
			t.Errorf("the first ban: %+v", b)
		}
		if b := bans[1]; !b.NoChange || b.Bans[0].Since != bans[0].Bans[0].Since || b.Bans[0].By != admin.User {
			t.Errorf("the second ban: %+v", b)
		}
		says(t, "ban", bans[1].Notes, "user bob (uid 70001) is banned by admin (uid ")
		if h := hosts[0]; len(h.NoChange)+len(h.Notes) > 0 {
			t.Errorf("the first exclusion: %+v", h)
		}
		if h := hosts[1]; !slices.Equal(h.NoChange, exclude.Hosts) || h.Hosts[0] != hosts[0].Hosts[0] {
			t.Errorf("the second exclusion: %+v", h)
		}
		says(t, "exclude", hosts[1].Notes, "host wn13 is excluded from cluster sim by admin")
		if o := orders[0]; o.NoChange || len(o.Notes) > 0 {
			t.Errorf("the first order: %+v", o)
		}
		if o := orders[1]; !o.NoChange || o.Orders[0] != orders[0].Orders[0] {
			t.Errorf("the second order: %+v", o)
		}
		says(t, "pause", orders[1].Notes, "user bob is paused by admin")
		journal, err := w.engine.History(t.Context(), admin, jjm.Ref{}, 0)
		w.must(err)
		told := map[string]int{}
		for _, en := range journal {
			told[en.Source+" "+en.To]++
		}
		for _, word := range []string{"ban banned", "exclude excluded", "order paused"} {
			if told[word] != 1 {
				t.Errorf("the journal has %d entries %q, want 1", told[word], word)
			}
		}
		ban.Reason, exclude.Reason, pause.Reason = "mines more", "disk broken", "asks twice"
		if b, err := w.engine.Ban(t.Context(), root, &ban); err != nil || b.NoChange || b.Bans[0].Reason != ban.Reason {
			t.Errorf("a ban for another reason: %+v, %v", b, err)
		}
		exclude.Hosts = append(exclude.Hosts, "wn14")
		if h := w.exclude(exclude); len(h.NoChange) > 0 {
			t.Errorf("an exclusion for another reason: %+v", h)
		}
		if got := w.give(pause); got[0].Reason != pause.Reason {
			t.Errorf("a pause for another reason: %+v", got)
		}
		w.reopen()
		if h := w.exclude(exclude); !slices.Equal(h.NoChange, exclude.Hosts) || len(h.Notes) != 2 {
			t.Errorf("two hosts again, after a restart: %+v", h)
		}
	})
}

// An order that ends nothing says so.
func TestUnchanged_TheOppositesOfOrdersSayWhy(t *testing.T) {
	t.Parallel()
	inWorld(t, excluding(adaptertest.SimConfig{}), func(t *testing.T, w *world) {
		lifted, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "bob", Lift: true})
		w.must(err)
		says(t, "unban", lifted.Notes, "user bob (uid 70001) is not banned")
		w.exclude(wire.Exclude{Hosts: []string{"wn13"}, Reason: "x"})
		in := w.exclude(wire.Exclude{Include: true, Hosts: []string{"wn13", "wn14"}})
		says(t, "include", in.Notes, "host wn14 is not excluded")
		if len(in.Hosts) != 1 || !slices.Equal(in.NoChange, []string{"wn14"}) {
			t.Errorf("included: %+v", in)
		}
		in = w.exclude(wire.Exclude{Include: true, Cluster: "sim", Hosts: []string{"wn13"}})
		says(t, "include again", in.Notes, "host wn13 is not excluded from cluster sim")
		resumed, err := call(t.Context(), w.engine, wire.VerbOrder(), admin,
			wire.OrderRequest{Order: &wire.Order{Verb: "resume", Kind: "user", Name: "bob"}})
		w.must(err)
		says(t, "resume", resumed.Notes, "user bob has no order to end")
		if !lifted.NoChange || !resumed.NoChange {
			t.Errorf("%+v, %+v", lifted, resumed)
		}
	})
}

// Commands about one grid job or dataset that change nothing say why.
func TestUnchanged_CommandsAboutJobsAndDatasetsSayWhy(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 20 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, ranged(2))
		w.running(id, 4)
		none := w.resplit(alice, wire.ResplitHow{}, id.String())
		says(t, "resplit of what runs", none.Notes, "no local job failed")
		w.kill(id.String() + ".1")
		w.until(time.Hour, "it is killed", func() bool { return w.lookup(id).Counts.Killed == 1 })
		says(t, "resplit of what was killed", w.resplit(alice, wire.ResplitHow{}, id.String()).Notes,
			"no local job failed; a killed local job is cut only if it is named: jjm resplit 1.1")
		w.final(10*time.Hour, id)
		over := w.resplit(alice, wire.ResplitHow{}, id.String())
		says(t, "resplit of what is over", over.Notes, "jjm resplit 1.1")
		if !over.NoChange {
			t.Errorf("%+v", over)
		}

		lost := "filetest.1.0.out.dat"
		for _, again := range []bool{false, true} {
			got, err := w.retract(alice, id, false, "", lost)
			w.must(err)
			if again {
				says(t, "retract", got.Notes, "the outputs of local job 1.0 were retracted before: see jjm history 1.0")
			} else if len(got.Notes) > 0 {
				t.Errorf("the first retraction: %q", got.Notes)
			}
		}

		for _, c := range []struct{ state, says string }{
			{"ready", "2 files stay ready: they have no mark"}, {"lost", ""},
			{"lost", "2 files stay lost: they have this mark already"},
			{"broken", "2 files stay lost: remove their marks first (jjm dataset mark raw LFN ready --reason WHY)"}} {
			got, err := w.mark(alice, false, c.state, lfn(0), lfn(1))
			if w.must(err); c.says != "" {
				says(t, "mark "+c.state, got.Notes, c.says)
			} else if len(got.Notes) > 0 {
				t.Errorf("mark %s: %q", c.state, got.Notes)
			}
		}
		closed, err := w.engine.Dataset(t.Context(), alice, wire.Dataset{Do: wire.DatasetClose, Name: "raw"})
		w.must(err)
		says(t, "close", closed.Notes, "dataset raw has been closed since ")
	})
}

// A renewal says of each credential that it does not store why.
func TestUnchanged_ARenewalSaysWhy(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		end := time.Now().Add(2 * time.Hour)
		first, older, newer := certificate(t, end), certificate(t, end.Add(-time.Hour)), certificate(t, end.Add(time.Hour))
		s, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml",
			Text: plain(1, `credentials = ["proxy"]`), BaseDir: "/", Key: "k", Credentials: []jjm.Credential{first}})
		w.must(err)
		for _, given := range []jjm.Credential{first, older} {
			got, err := w.engine.Renew(t.Context(), alice, s.ID, []jjm.Credential{given})
			w.must(err)
			says(t, "renew", got.Notes, "the jobs of grid job 1 have this proxy already, or one that ends after ")
		}
		got, err := w.engine.Renew(t.Context(), alice, s.ID, append(bearer(`{"jti":"1"}`), newer))
		w.must(err)
		says(t, "renew with a token", got.Notes, "the jobs of grid job 1 did not ask for a token")
		if !slices.Equal(got.Kinds, []string{jjm.ProxyKind}) {
			t.Errorf("%+v", got)
		}
	})
}

// A change of resources that finds no local job to change says why.
func TestUnchanged_ASetSaysWhy(t *testing.T) {
	t.Parallel()
	inWorld(t, takesOne(), func(t *testing.T, w *world) {
		s := &stage{world: w, ids: map[string]jjm.GridID{}}
		w.sim.OnSubmit(adaptertest.Refuse)
		w.must(submitBack("kept", plain(3), jjm.RollbackKeep)(s))
		w.isRefused(s.ids["kept"])
		got := w.set(memory(700), s.ids["kept"].String())
		says(t, "set", got.Notes, "no local job waits for its submission: 3 new/unsubmitted")
		if !got.NoChange {
			t.Errorf("%+v", got)
		}
	})
}
