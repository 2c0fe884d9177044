package sge

import (
	"slices"
	"strings"
	"testing"
)

func TestExclude_IsAHardRequestBesideTheWantedHost(t *testing.T) {
	for opts, want := range map[string]string{
		"":                                     "-hard -l h=!(wn13|wn14.x.org)",
		"-l h_rt=5 -q all.q":                   "-hard -l h=!(wn13|wn14.x.org)",
		"-l arch=lx,hostname=lx*":              "-hard -l h=(lx*)&!(wn13|wn14.x.org)",
		"-l h=a -l h=b":                        "-hard -l h=(b)&!(wn13|wn14.x.org)",
		"-l h=a -soft -l h=b":                  "-hard -l h=(a)&!(wn13|wn14.x.org)",
		"-soft -l h=b -hard -l h=!c -P h=none": "-hard -l h=(!c)&!(wn13|wn14.x.org)",
	} {
		got := excludeOptions(strings.Fields(opts), []string{"wn13", "wn14.x.org"})
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", opts, got, want)
		}
	}
	if got := excludeOptions(strings.Fields("-l h=a"), nil); got != nil {
		t.Errorf("no excluded host: %q", got)
	}
}
