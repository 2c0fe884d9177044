package wire

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// handle returns the handle of a request key.
func handle(key string) string { return string(jjm.HandleOf(1000, key)) }

// known finds handles: it returns grid job 12 for the handle of the key "a", and an error for the handle of the key
// "bad", whose submission was refused.
func known(_ context.Context, _ Caller, h jjm.Handle) (jjm.GridID, error) {
	switch string(h) {
	case handle("a"):
		return 12, nil
	case handle("bad"):
		return 0, &Refused{Reason: "no such type"}
	}
	return 0, jjm.Errorf(jjm.Gone, "no grid job is known by %s", h)
}

func TestResolve_AHandleBecomesAnIdBeforeTheVerbIsCarriedOut(t *testing.T) {
	status := StatusRequest{Many: Refs(handle("a")+".3", "13")}
	err := VerbStatus().Resolve(t.Context(), Caller{}, &status, known)
	want := []jjm.Ref{{Grid: 12, Locals: true, First: 3, Last: 3}, {Grid: 13}}
	if d := cmp.Diff(want, status.Jobs); err != nil || d != "" {
		t.Errorf("status: error %v, %s", err, d)
	}
	choice := SelectRequest{Refs: []string{handle("a") + ".3", "name:mc*"}}
	err = VerbSelect().Resolve(t.Context(), Caller{}, &choice, known)
	if d := cmp.Diff([]string{"12.3", "name:mc*"}, choice.Refs); err != nil || d != "" {
		t.Errorf("select: error %v, %s", err, d)
	}
	given := &Order{Verb: jjm.OrderPause, Kind: jjm.OrderJob, Name: handle("a")}
	order := OrderRequest{Order: given}
	err = VerbOrder().Resolve(t.Context(), Caller{}, &order, known)
	if err != nil || order.Order.Name != "12" || given.Name != handle("a") {
		t.Errorf("order: error %v, about %s, the caller's now about %s", err, order.Order.Name, given.Name)
	}
}

func TestResolve_RefusesWhatTheVerbDoesNotTake(t *testing.T) {
	one := func(ref string) error {
		r := LogRequest{One: OneRef(ref)}
		return VerbLog().Resolve(t.Context(), Caller{}, &r, known)
	}
	for ref, want := range map[string]string{
		"12.3":               `log: id "12.3": want a grid job, such as 12`,
		handle("a") + ".3":   `log: id "12.3": want a grid job, such as 12`,
		handle("other"):      "no grid job is known by",
		handle("bad") + ".x": "no such type",
	} {
		if err := one(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", ref, err, want)
		}
	}
	many := WhyRequest{Many: Refs("12", handle("other"))}
	if err := VerbWhy().Resolve(t.Context(), Caller{}, &many, nil); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("nobody knows handles: %v", err)
	}
}

func TestComplete_AHandleThatIsUnknownIsAnErrorOfItsEntry(t *testing.T) {
	refs := Refs(handle("other"), handle("a"), handle("bad"), "13")
	kill, lookup := KillRequest{Many: refs}, LookupRequest{Many: refs}
	err := VerbKill().Resolve(t.Context(), Caller{}, &kill, known)
	if d := cmp.Diff([]jjm.Ref{{Grid: 12}, {Grid: 13}}, kill.Jobs); err != nil || d != "" {
		t.Fatalf("error %v, %s", err, d)
	}
	killed := KillAnswer{Kill: []Killed{{Ref: "12"}, {Ref: "13", NoChange: true}}}
	if err := VerbKill().Complete(&kill, &killed); err != nil || len(killed.Kill) != 4 ||
		jjm.KindOf(killed.Kill[0].Error.Err()) != jjm.Gone || killed.Kill[1].Ref != handle("a") ||
		!killed.Kill[2].NoChange || killed.Kill[3].Ref != "13" {
		t.Errorf("error %v, kill %+v", err, killed.Kill)
	}
	if err := VerbLookup().Resolve(t.Context(), Caller{}, &lookup, known); err != nil {
		t.Fatal(err)
	}
	found := LookupAnswer{Lookup: []Lookup{{ID: 12}, {ID: 13}}}
	if err := VerbLookup().Complete(&lookup, &found); err != nil || len(found.Lookup) != 4 ||
		found.Lookup[0].Error == nil || found.Lookup[1].ID != 12 || string(found.Lookup[1].Handle) != handle("a") ||
		found.Lookup[2].GRAM != jjm.GRAMFailed || found.Lookup[3].ID != 13 {
		t.Errorf("error %v, lookup %+v", err, found.Lookup)
	}
	if err := VerbLookup().Complete(&lookup, &LookupAnswer{}); jjm.KindOf(err) != jjm.Internal {
		t.Errorf("an answer without entries: %v", err)
	}
}
