package jjm_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestWarned_CountsEqualTexts(t *testing.T) {
	n := jjm.Notice{Kind: jjm.NoKeyword, Text: "no keyword"}
	one := jjm.Warned(nil, n, 3)
	two := jjm.Warned(one, n, 1)
	if diff := cmp.Diff([]jjm.Warning{{Notice: n, Count: 2, First: 3}}, two); diff != "" {
		t.Error(diff)
	}
	if one[0].Count != 1 {
		t.Error("the warnings before are changed in place")
	}
	n.Kind = jjm.NoOutput
	lacks := jjm.Warned(jjm.Warned(nil, n, 3), n, 4)
	again := jjm.Notice{Kind: jjm.InputsAgain, Text: "made again"}
	for want, got := range map[string]string{"no keyword (2 local jobs, such as 17.3)": lacks[0].Line(17),
		"no keyword (1 local job: 17.3)": jjm.Warned(nil, n,
			3)[0].Line(17), "no keyword (1 attempt, of 17.3)": one[0].Line(17),
		"made again":           jjm.Warned(nil, again, 0)[0].Line(17),
		"made again (2 times)": jjm.Warned(jjm.Warned(nil, again, 0), again, 0)[0].Line(17),
		"no keyword (2 attempts, such as one of 17.3)": two[0].Line(17)} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWarned_IsBounded(t *testing.T) {
	var all []jjm.Warning
	for i := range 10 * jjm.MaxWarnings {
		all = jjm.Warned(all, jjm.Notice{Kind: jjm.NoKeyword, Text: fmt.Sprint(i)}, int32(i))
	}
	if n := len(all); n != jjm.MaxWarnings+1 || all[n-1].Kind != jjm.Further || all[n-1].Count != 9*jjm.MaxWarnings {
		t.Errorf("%d warnings, the last is %+v", n, all[n-1])
	}
}
