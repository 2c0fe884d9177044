package condor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func hooked(t *testing.T, script string) (*Adapter, adapters.Bulk) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "hook")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncd "+dir+"\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return adapterOf(t, func(c *Config) { c.Hook, c.Directives = adapters.Hook(path), []string{"rank = Site"} }),
		adapters.Bulk{Tag: "jx1", Owner: ann, N: 2, Argv: []string{"/bin/true"}, Dir: dir, Request: jjm.Request{Cores: 4}}
}

func TestHook_AddsLinesAfterTheSites(t *testing.T) {
	a, b := hooked(t, `cat > asked; echo 'rank = Hook'; echo; echo '+WantIO = true'`)
	text, err := a.describe(t.Context(), b)
	if err != nil || !strings.HasPrefix(text, "rank = Site\nrank = Hook\n+WantIO = true\n") {
		t.Errorf("%v\n%s", err, text)
	}
	asked, err := os.ReadFile(filepath.Join(b.Dir, "asked"))
	want := `{"cluster":"pool","tag":"jx1","owner":{"uid":1000,"gid":1000,"user":"ann"},"n":2,"request":{"cores":4}}` +
		"\n"
	if err != nil || string(asked) != want {
		t.Errorf("it was asked %s, error %v", asked, err)
	}
}

func TestHook_RefusesOrFails(t *testing.T) {
	tests := map[string]struct {
		script string
		kind   jjm.Kind
		says   string
	}{
		"it refuses":         {"echo 'ann is over quota' >&2; exit 3", jjm.Invalid, "ann is over quota"},
		"a line of jjm's":    {"echo 'hold = false'", jjm.Invalid, "hold"},
		"not a line of ours": {"echo 'hello'", jjm.Invalid, "NAME = VALUE"},
	}
	for name, tt := range tests {
		a, b := hooked(t, tt.script)
		if _, err := a.describe(t.Context(), b); jjm.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	a, b := hooked(t, "exit 0")
	if err := os.Remove(string(a.config.Hook)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Submit(t.Context(), b); !adapters.IsNotStarted(err) {
		t.Errorf("a missing hook: error %v", err)
	}
}
