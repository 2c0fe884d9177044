package engine_test

import (
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// A gatekeeper sends a remark about a grid job every ten seconds. The journal has an entry for each change of the
// remark, also after restarts. Only remarks of administrators are accepted.
func TestRemark_IsJournaledOnceForEachChange(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1))
		say := func(c wire.Caller, text string) bool {
			t.Helper()
			news, err := w.engine.Remark(t.Context(), c, id, text)
			w.must(err)
			return news
		}
		if !say(admin, "one") || say(admin, "one") {
			t.Error("the first is no news, or the second is")
		}
		w.reopen()
		if say(admin, "one") || !say(admin, "two") || !say(admin, "one") {
			t.Error("after a restart: want no news, news, news")
		}
		entries, err := w.engine.History(t.Context(), admin, jjm.Ref{Grid: id}, 0)
		w.must(err)
		said := ""
		for _, e := range entries {
			if e.Source == "remark" {
				said += e.Cause + " "
			}
		}
		if said != "one two one " {
			t.Errorf("the history has the remarks %s", said)
		}
		if _, err := w.engine.Remark(t.Context(), alice, id, "three"); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("by the owner: %v", err)
		}
		if _, err := w.engine.Remark(t.Context(), admin, 99, "three"); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("of no grid job: %v", err)
		}
	})
}
