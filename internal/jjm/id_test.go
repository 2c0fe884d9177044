package jjm_test

import (
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestHandle_FollowsFromOwnerAndKey(t *testing.T) {
	// Gatekeepers keep handles for weeks, so this value must never change.
	if h := jjm.HandleOf(1000, "key"); h != "gy2ocgazsmwcnrdpssccuuy2w" {
		t.Errorf("handle of a known key: %s", h)
	}
	rapid.Check(t, func(t *rapid.T) {
		uid, key := rapid.Int().Draw(t, "uid"), rapid.String().Draw(t, "key")
		h := jjm.HandleOf(uid, key)
		if got, ok := jjm.ParseHandle(string(h)); !ok || got != h {
			t.Fatalf("%q is no handle", h)
		}
		if jjm.HandleOf(uid+1, key) == h || jjm.HandleOf(uid, key+"x") == h {
			t.Fatal("two owners or keys share a handle")
		}
		if _, err := jjm.ParseRef(string(h)); err == nil {
			t.Fatal("a handle reads as an id")
		}
	})
}

func TestCutHandle_PartsAReference(t *testing.T) {
	h := jjm.HandleOf(1, "k")
	for _, rest := range []string{"", ".3", ".*", ".1-2", "."} {
		if got, r, ok := jjm.CutHandle(string(h) + rest); got != h || r != rest || !ok {
			t.Errorf("%q: %q %q %v", rest, got, r, ok)
		}
	}
	for _, s := range []string{"", "17", "17.3", "g", string(h)[1:], string(h) + "a", "G" + string(h)[1:],
		"g" + string(h)[1:24] + "1"} {
		if got, _, ok := jjm.CutHandle(s); ok {
			t.Errorf("%q read as %q", s, got)
		}
	}
}

func TestUsage_TheBatchSystemOutranksWhatAnOwnerCouldForge(t *testing.T) {
	var u jjm.Usage
	u.Add(nil, 0, 0)
	u.Add(&jjm.Evidence{Result: &jjm.Result{WallMS: 10, UserMS: 6, SysMS: 2, RSSKB: 5, Started: 100, Ended: 110}}, 100,
		110)
	u.Add(&jjm.Evidence{Batch: jjm.Report{Started: 50, Ended: 90, CPUms: 16, RSSKB: 9},
		Result: &jjm.Result{WallMS: 1000, UserMS: 300, SysMS: 100, RSSKB: 1000, Started: 60, Ended: 80}}, 50, 90)
	u.Add(&jjm.Evidence{Batch: jjm.Report{Started: 60}, Result: &jjm.Result{WallMS: 1 << 52, Started: 1, Ended: 1 << 52}},
		60, 100)
	want := jjm.Usage{WallMS: 90, UserMS: 18, SysMS: 6, MaxRSSKB: 9, Started: 50, Ended: 110}
	if u != want {
		t.Errorf("got %+v, want %+v", u, want)
	}
}

func TestOrigin_RefusesWhatIsNotOneLine(t *testing.T) {
	for _, bad := range []string{"a\nb", "\x00", "\xff", string(make([]byte, 2000))} {
		o := jjm.Origin{Subject: bad}
		if ps := o.Problems(); len(ps) != 1 || ps[0].Field != "origin.subject" {
			t.Errorf("%.10q: %v", bad, ps)
		}
	}
	o := &jjm.Origin{Gatekeeper: "gram5", Subject: "/O=Grid/CN=Zoë �"}
	if ps := o.Problems(); ps != nil || len(o.Fields()) != 2 {
		t.Errorf("%v, %v", ps, o.Fields())
	}
	if (*jjm.Origin)(nil).Problems() != nil {
		t.Error("no origin has problems")
	}
}
