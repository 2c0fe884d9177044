package glf

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/testkit/golden"
)

// goldenParsed is the column "parsed" of gbs_decisions.
type goldenParsed struct {
	Start       bool              `json:"start"`
	End         bool              `json:"end"`
	AppExit     *int              `json:"appExit"`
	Terminals   [][]string        `json:"terminals"`
	ReturnFiles []string          `json:"returnFiles"`
	BadLines    []json.RawMessage `json:"badLines"`
	RunSeconds  int               `json:"runSeconds"`
}

func TestParse_Golden(t *testing.T) {
	type row struct {
		GLF    *string       `json:"glf"`
		Parsed *goldenParsed `json:"parsed"`
	}
	golden.Rows(t, "jedi/gbs_decisions", func(_ string, r row) string {
		if r.GLF == nil || r.Parsed == nil {
			return "" // the row has no log file
		}
		l := Parse([]byte(*r.GLF))
		got := goldenParsed{Start: l.Start, End: l.End, Terminals: [][]string{}, ReturnFiles: []string{},
			BadLines: r.Parsed.BadLines, RunSeconds: l.RunSeconds()}
		if l.End {
			got.AppExit = &l.AppExit
		}
		for _, r := range l.Terminals {
			got.Terminals = append(got.Terminals, []string{r.Keyword, r.Data})
		}
		got.ReturnFiles = append(got.ReturnFiles, l.Returns...)
		diff := cmp.Diff(*r.Parsed, got)
		if l.Bad != len(r.Parsed.BadLines) {
			diff += cmp.Diff(r.Parsed.BadLines, l.BadLines, cmp.Transformer("text", func(m json.RawMessage) string {
				return string(m)
			}))
		}
		return diff
	})
}
