package condor

import (
	"strings"
	"testing"

	"jjm/adapters"
)

func TestDescription_ExcludedHostsAreATermOfTheRequirements(t *testing.T) {
	c := DefaultConfig()
	c.Requirements = "TARGET.HasCVMFS"
	b := adapters.Bulk{Tag: "jx1", N: 3, Exclude: []string{"wn13", "wn-14.x.org"}}
	want := `requirements = (NumJobStarts == 0) && ` +
		`(regexp("^(wn13|wn-14[.]x[.]org)[.]", strcat(TARGET.Machine, "."), "i") ` + "=!= true) && (TARGET.HasCVMFS)\n"
	if got := c.description(b, "true", nil); !strings.HasPrefix(got, want) {
		t.Errorf("%q is missing in:\n%s", want, got)
	}
}
