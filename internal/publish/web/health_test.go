package web

import (
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/policy/health"
)

// An administrator sees the checks of the site that are not OK, in the words of "jjm health". Other readers see none.
// The checks are not made for every page.
func TestFarm_ShowsAnAdministratorTheHealthOfTheSite(t *testing.T) {
	f := newFake()
	f.checks = []wire.HealthCheck{
		{State: health.Critical, Name: "space", Of: "/work", Text: "1 GB free", Detail: hostile, Remedy: "make room there"},
		{State: health.OK, Name: "store", Text: "the store is well"}}
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	for range 5 {
		_, text := answer(t, p, "root", "/")
		for _, want := range []string{">CRITICAL<", "space <bdi>/work</bdi>", "1 GB free", "&lt;script&gt;",
			"make room there", "not OK; 1 are"} {
			if !strings.Contains(text, want) {
				t.Fatalf("no %q in\n%s", want, text)
			}
		}
		for _, m := range mistakes(parsePage(t, text)) {
			t.Error(m)
		}
	}
	if f.healths != 1 {
		t.Errorf("the checks were made %d times, want once", f.healths)
	}
	for _, user := range []string{"ann", ""} {
		if _, text := answer(t, p, user, "/"); strings.Contains(text, "make room") || strings.Contains(text, "Health") {
			t.Errorf("%q sees the health of the site:\n%s", user, text)
		}
	}
	f = newFake()
	f.checks = []wire.HealthCheck{{State: health.OK, Name: "store"}, {State: health.OK, Name: "space"}}
	if _, text := answer(t, f.page(Config{Tokens: tokenFile(t)}, -1), "root", "/"); !strings.Contains(text,
		"All 2 checks of the site are OK.") {
		t.Errorf("a site that is well:\n%s", text)
	}
}
