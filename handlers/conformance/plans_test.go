package conformance

import (
	"strings"
	"testing"

	"jjm/handlers"
)

// plansDiffer names the place of the first difference in the notation of a plan that a program writes.
func TestPlansDiffer_NamesThePlace(t *testing.T) {
	key := handlers.OwnKey
	for _, tt := range []struct{ name, now, was, want string }{
		{"nothing", `{"n": 1}`, `{"n": 1}`, ""},
		{"a row", `{"` + key + `command": ["x"], "` + key + `rows": [["a"], ["c"]]}`,
			`{"` + key + `command": ["x"], "` + key + `rows": [["a"], ["b"]]}`, `plan.rows[1] is ["c"], was ["b"]`},
		{"one row more", `{"` + key + `rows": [["a"], ["c"]]}`, `{"` + key + `rows": [["a"]]}`,
			`plan.rows[1] is ["c"], was absent`},
		{"a variable", `{"` + key + `env": {"A": "1"}}`, `{"` + key + `env": {}}`, `plan.env.A is "1", was absent`},
		{"a number", `{"` + key + `events": {"count": 2}}`, `{"` + key + `events": {"count": 1}}`,
			`plan.events.count is 2, was 1`},
		{"another kind", `{"` + key + `env": {"A": "1"}}`, `{"` + key + `env": null}`,
			`plan.env is {"A":"1"}, was absent`},
		{"a setting", `{"seed": 2}`, `{"seed": 1}`, `params.seed is 2, was 1`},
	} {
		if got := plansDiffer([]byte(tt.now), []byte(tt.was)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	long := strings.Repeat("x", 4000)
	if got := plansDiffer([]byte(`{"a": "`+long+`1"}`), []byte(`{"a": "`+long+`2"}`)); len(got) > 1000 {
		t.Errorf("%d characters", len(got))
	}
}
