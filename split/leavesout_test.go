package split

import (
	"testing"

	"jjm/split/jedi"
)

func TestLeavesOut_NamesTheSettings(t *testing.T) {
	for _, c := range []struct {
		by     string
		change func(*Params)
		want   string
	}{
		{LumiBased, func(*Params) {}, ""},
		{LumiBased, func(p *Params) { p.TotalLumis = 5 }, "total_lumis = 5"},
		{LumiBased, func(p *Params) { p.TotalFiles = 5 }, ""}, // it does not read that
		{FileBased, func(p *Params) { p.TotalFiles = 5 }, "total_files = 5"},
		{EventAwareLumiBased, func(p *Params) {
			p.TotalEvents, p.RunWhitelist = 5, []uint32{1, 2}
		}, "total_events = 5, runWhitelist = [1 2]"},
		{GangaDatasetSplitter, func(*Params) {}, ""},
		{GangaDatasetSplitter, func(p *Params) { p.MaxFiles = 3 }, "maxFiles = 3"},
		{JEDI, func(p *Params) { p.Records = jedi.RecordRules{EventsPerJob: 5} }, ""},
		{JEDI, func(p *Params) { p.Records = jedi.RecordRules{SkipShort: true} }, "records = ..."},
	} {
		p, err := Defaults(c.by)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&p)
		if got := LeavesOut(c.by, p); got != c.want {
			t.Errorf("%s: %q, want %q", c.by, got, c.want)
		}
	}
	for _, name := range Names() {
		if p, _ := Defaults(name); LeavesOut(name, p) != "" {
			t.Errorf("%s leaves out something unless told otherwise: %s", name, LeavesOut(name, p))
		}
	}
}
