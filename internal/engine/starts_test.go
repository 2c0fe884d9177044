package engine_test

import (
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// A stored value about the starts of the daemon that cannot be read costs only the starts: the orders are shown, to
// administrators and to other accounts, grid jobs end with their reports, and the log says what is missing.
func TestOrders_ABrokenCountOfTheStartsCostsOnlyTheStarts(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"no JSON": "{", "another type": `{"since":"yesterday"}`,
		"a list": "[1]"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{}, func(t *testing.T, w *world) {
				w.give(wire.Order{Verb: "pause", Kind: "user", Name: "alice", Reason: "asks first"})
				w.give(wire.Order{Verb: "resume", Kind: "user", Name: "alice"})
				w.must(w.store.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMeta(jjm.StartsKey, value) }))
				for _, by := range []wire.Caller{admin, alice} {
					for _, limit := range []int{0, 1} {
						got, err := w.engine.History(t.Context(), by, jjm.Ref{}, limit)
						if want := 2 - limit; err != nil || len(got) != want || got[want-1].To != "resumed" {
							t.Errorf("%s, at most %d: %+v, %v", by.User, limit, got, err)
						}
					}
				}
				if got := w.logs.tail(12_000); !strings.Contains(got, "last starts of the daemon are missing") {
					t.Errorf("the log: %s", got)
				}
				id := w.submit(alice, mc(1))
				w.final(time.Hour, id)
				w.verify(id, done(1))
			})
		})
	}
}
