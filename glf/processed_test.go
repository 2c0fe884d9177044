package glf

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm"
)

func TestProcessed_TheLastWordCounts(t *testing.T) {
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
