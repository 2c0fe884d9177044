package adapters_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// kind is the configuration of a cluster kind, as adapters build it.
type kind struct {
	adapters.Common
	Own string `toml:"own"`
}

func decode(t *testing.T, text string) (kind, error) {
	t.Helper()
	k := kind{Common: adapters.DefaultCommon()}
	_, ps := strict.Decode("x.toml", []byte(text), &k)
	return k, ps.Err()
}

func TestCommon_IsDecodedBesideTheAdaptersOwnKeys(t *testing.T) {
	got, err := decode(t, `bin = "/opt/bin"
env = { A = "b" }
queue = "q"
account = "a"
project = "p"
qos = "s"
directives = ["-x"]
allow_directives = true
hook = "/hook"
shared_fs = false
max_bulk = 5
own = "o"`)
	want := kind{Own: "o", Common: adapters.Common{
		CLI: adapters.CLI{Bin: "/opt/bin", Env: map[string]string{"A": "b"}}, Queue: "q", Account: "a", Project: "p",
		QOS:        "s",
		Directives: []string{"-x"}, AllowDirectives: true, Hook: "/hook", MaxBulk: 5,
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v\n%s", err, diff)
	}
	if got, err := decode(t, ""); err != nil || !got.SharedFS {
		t.Errorf("%+v, error %v", got, err)
	}
	for text, near := range map[string]string{"quueue = 1": `"queue"`, "max_bulks = 1": `"max_bulk"`, "owns = 1": `"own"`,
		"bim = 1": `"bin"`} {
		if _, err := decode(t, text); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "did you mean "+near) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCommon_MistakesNameTheirKey(t *testing.T) {
	rules := adapters.Rules{
		Word: func(text string) error {
			if strings.Contains(text, " ") {
				return errors.New("want one word")
			}
			return nil
		},
		Directive: func(line string) error {
			if line == "-x" {
				return errors.New("-x is jjm's own")
			}
			return nil
		},
		Without: map[string]string{"qos": "there is none: use project"},
	}
	good := adapters.Common{Queue: "q", Directives: []string{"-y"}, Hook: "/hook", SharedFS: true, MaxBulk: 7,
		CLI: adapters.CLI{Bin: "/bin"}}
	if ps := good.Check("east", rules); len(ps) > 0 {
		t.Error(ps)
	}
	for want, change := range map[string]func(*adapters.Common){
		"bin:":                               func(c *adapters.Common) { c.Bin = "bin" },
		"hook:":                              func(c *adapters.Common) { c.Hook = "hook" },
		"queue: want one word":               func(c *adapters.Common) { c.Queue = "a b" },
		"account: want one word":             func(c *adapters.Common) { c.Account = "a b" },
		"project: want one word":             func(c *adapters.Common) { c.Project = "a b" },
		`qos: "high": there is none`:         func(c *adapters.Common) { c.QOS = "high" },
		"directives[1]: -x is jjm's own":     func(c *adapters.Common) { c.Directives = []string{"-y", "-x"} },
		"shared_fs: false":                   func(c *adapters.Common) { c.SharedFS = false },
		"max_bulk: -1: want a number of job": func(c *adapters.Common) { c.MaxBulk = -1 },
	} {
		c := good
		change(&c)
		if err := c.Check("east", rules).Err(); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "east") {
			t.Errorf("%s: %v", want, err)
		}
	}
	rules.Carries, good.SharedFS = true, false
	if ps := good.Check("east", rules); len(ps) > 0 {
		t.Error(ps)
	}
}

func TestCommon_FillAndBulk(t *testing.T) {
	c := adapters.Common{Queue: "q", Account: "a", Project: "p", QOS: "s"}
	got := c.Fill(jjm.Request{Queue: "mine", Cores: 3})
	if want := (jjm.Request{Queue: "mine", Account: "a", Project: "p", QOS: "s", Cores: 3}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	for most, want := range map[int]int{0: 1000, 10: 10, 5000: 1000} {
		if got := (adapters.Common{MaxBulk: most}).Bulk(1000); got != want {
			t.Errorf("max_bulk %d: %d, want %d", most, got, want)
		}
	}
}

func TestCommon_DirectivesOfJobFiles(t *testing.T) {
	directive := func(line string) error {
		if line != "-y" {
			return errors.New(line + " is jjm's own")
		}
		return nil
	}
	for _, tt := range []struct {
		text    string
		allowed bool
		want    string
	}{
		{"", false, ""},
		{"-y", false, "request.directives: cluster east takes none from job files (allow_directives)"},
		{"\n -y \n\n-y", true, ""},
		{"-y\n-x", true, "request.directives: -x is jjm's own"},
	} {
		c := adapters.Common{AllowDirectives: tt.allowed}
		err := c.CheckDirectives("east", jjm.Request{Directives: tt.text}, directive).Err()
		if got := strings.TrimSpace(errText(err)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
