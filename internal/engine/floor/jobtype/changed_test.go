package jobtype

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDiffer_OnlyWhatIsKnownToDiffer(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		a, b string
		left int64
		want bool
	}{
		"equal":                 {"same", "same", mostCompared, false},
		"empty":                 {"", "", mostCompared, false},
		"another byte":          {"same", "sane", mostCompared, true},
		"shorter":               {"sam", "same", mostCompared, true},
		"longer":                {long + "y", long, mostCompared, true},
		"a late byte":           {long + "y", long + "z", mostCompared, true},
		"behind what is looked": {long + "y", long + "z", 1, false},
	} {
		left := c.left
		if got := differ(strings.NewReader(c.a), strings.NewReader(c.b), &left); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	left := int64(mostCompared)
	if differ(iotest.ErrReader(errors.New("disk")), strings.NewReader("x"), &left) {
		t.Error("a file that cannot be read is said to differ")
	}
}
