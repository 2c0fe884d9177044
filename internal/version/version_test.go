package version

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestText_HasTheCommitIfOneIsKnown(t *testing.T) {
	for want, by := range map[string][2]string{
		Number + "+62e59a5d":       {"62e59a5d", "11111111"},
		Number + "+11111111.dirty": {"", "11111111.dirty"},
		Number:                     {"", ""},
	} {
		if got := of(by[0], by[1]); got != want {
			t.Errorf("linked %q, built %q: %s, want %s", by[0], by[1], got, want)
		}
	}
	if !strings.HasPrefix(Text(), Number) {
		t.Errorf("version %s", Text())
	}
}

// Number is the version of the newest section in the change log.
func TestNumber_IsTheFirstOfTheChangeLog(t *testing.T) {
	text, err := os.ReadFile("../../docs/CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if first := regexp.MustCompile(`(?m)^## (\S+)`).FindSubmatch(text); first == nil || string(first[1]) != Number {
		t.Errorf("CHANGELOG.md begins with %q, and the version is %s", first, Number)
	}
}
