package plan

import (
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func drawMade(t *rapid.T, label string) Made {
	return Made{Cluster: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, label+" cluster"),
		Group:    rapid.SampledFrom([]string{"", "a", "priority"}).Draw(t, label+" group"),
		Priority: rapid.IntRange(-1, 1).Draw(t, label+" priority")}
}

func drawApart(t *rapid.T) Apart {
	words := rapid.SliceOfDistinct(rapid.SampledFrom(jjm.ApartWords()), rapid.ID[string]).Draw(t, "words")
	return ApartOf(words)
}

// Outputs have the same key exactly if nothing that was selected differs.
func TestApart_KeysDifferAsSelected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, x, y := drawApart(t), drawMade(t, "one"), drawMade(t, "other")
		together := !(a.Cluster && x.Cluster != y.Cluster || a.Group && x.Group != y.Group ||
			a.Priority && x.Priority != y.Priority)
		if got := a.Key(x) == a.Key(y); got != together {
			t.Fatalf("%+v: %+v and %+v: same key %t, want %t", a, x, y, got, together)
		}
	})
}

// If an output is complete, no local job that may still make outputs makes one with the same key.
func TestApart_NothingJoinsWhatIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, m, live := drawApart(t), drawMade(t, "made"), map[Producing]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "live") {
			next := drawMade(t, "next")
			live[Producing{Cluster: next.Cluster, Priority: next.Priority}] = true
		}
		complete := a.Complete(m, live)
		joins := false
		for p := range live {
			made := Made{Cluster: p.Cluster, Group: m.Group, Priority: p.Priority}
			if p.Cluster == "" { // it can become any cluster
				made.Cluster = m.Cluster
			}
			joins = joins || a.Key(made) == a.Key(m)
		}
		if complete == joins {
			t.Fatalf("%+v: %+v complete %t beside %v", a, m, complete, live)
		}
	})
}

func TestApart_TheGroupOfAllFiles(t *testing.T) {
	for _, c := range []struct {
		groups []string
		want   string
	}{{nil, ""}, {[]string{"x"}, "x"}, {[]string{"x", "x"}, "x"}, {[]string{"x", "y"}, ""}, {[]string{"", "y"}, ""}} {
		if got := CommonGroup(c.groups); got != c.want {
			t.Errorf("%q: %q, want %q", c.groups, got, c.want)
		}
	}
}
