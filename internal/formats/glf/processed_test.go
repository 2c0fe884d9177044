package glf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestProcessed_TheLastEntryCounts(t *testing.T) {
	const at = "2026-01-01T00:00:00Z "
	for _, c := range []struct {
		text string
		want *jjm.Processed
	}{
		{"", nil},
		{at + "INFO processed=250\n", &jjm.Processed{Count: 250}},
		{at + "INFO processed=3\n" + at + "INFO  processed=7  events\n" + at + "SUCCEEDED -\n",
			&jjm.Processed{Count: 7, Unit: "events"}},
		{at + "INFO processed=3\n" + at + "INFO processed=seven\n", &jjm.Processed{Count: 3}},
		{at + "INFO processed=3\n" + at + "INFO processed=7 events so far\n", &jjm.Processed{Count: 3}},
		{at + "INFO processed=3 apples\n", nil},
		{at + "INFO processed=-1\n", nil},
		{at + "INFO processed=99999999999999999999\n", nil},
		{at + "RETRY processed=3\n", nil},
		{"processed=3\n", nil},
	} {
		if diff := cmp.Diff(c.want, Parse([]byte(c.text)).Processed()); diff != "" {
			t.Errorf("%q:\n%s", c.text, diff)
		}
	}
}

func TestMiscounted_NamesTheForm(t *testing.T) {
	for data, want := range map[string]string{
		"processed=10 evts": `"processed=10 evts" does not count: want processed=N, or processed=N with one of events files sections rows`,
		"processed 10":      `"processed 10" does not count: want `, "processed=": `"processed=" does not count: `,
		"processed=10": "", "processed=10 rows": "", "read the geometry": "", "": "",
	} {
		if got := Miscounted(data); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	}
}
