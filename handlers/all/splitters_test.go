package all_test

import (
	"fmt"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// job returns a job file over two files, with more lines of TOML.
func job(more string) string {
	return "type = \"reprocess\"\n" + more + "\n[[datasets]]\nname = \"raw\"\n" +
		"files = [{ lfn = \"a\", events = 10, lumis = [{ run = 1, first = 1, last = 2 }] }, { lfn = \"b\", events = 10, lumis = [{ run = 1, first = 3, last = 4 }] }]\n" +
		"[params]\ncommand = [\"reco\"]\n"
}

func TestSplitters_TheExampleOfThePageIsAccepted(t *testing.T) {
	found := false
	for _, b := range blocks(t, "SPLITTERS.md") {
		if b.info != "toml naming" {
			continue
		}
		found = true
		if _, _, problems := check("job.toml", job(b.text), handlers.Site{}); problems != nil {
			t.Error(problems)
		}
	}
	if !found {
		t.Error("the page names no splitter")
	}
}

// A job file can name every splitter that cuts files. All other splitters are refused, as the page says.
func TestSplitters_EveryOneThatCutsFilesCanBeNamed(t *testing.T) {
	text := strings.Join(strings.Fields(page(t, "SPLITTERS.md")), " ") // without line breaks
	_, refused, _ := strings.Cut(text, "so are splitters that make their work themselves (")
	refused, _, _ = strings.Cut(refused, ")")
	for _, name := range split.Names() {
		settings := ""
		if name == split.Pieces {
			settings = "params = { pieces = [{ lfn = \"b\", first = 3, count = 2 }] }"
		}
		_, _, problems := check("job.toml", job(fmt.Sprintf("[split]\nby = %q\n%s", name, settings)), handlers.Site{})
		makes := strings.Contains(refused, "`"+name+"`")
		if unit, err := split.Unit(name); err != nil || makes != (unit == jjm.UnitEvent || unit == jjm.UnitRow) {
			t.Errorf("%s: its unit is %s, and the page says that it makes its work: %v", name, unit, makes)
		}
		if makes != (len(problems) > 0) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
