package command

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// scripted returns an adapter for LSF whose commands are scripts, by the name of the command.
func scripted(t *testing.T, commands map[string]string) *Adapter {
	t.Helper()
	bin := t.TempDir()
	for name, text := range commands {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "etc", "adapters", "lsf.toml"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New("site", adapters.Env{State: t.TempDir()}, func(into any) error {
		c := into.(*Config)
		c.Bin = bin
		return c.Description.UnmarshalText([]byte(path))
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*Adapter)
}

// The bhist of this test answers only the first of several ids, with exit code 0, as OpenPBS's qstat does.
func TestUnanswered_AnIDIsAskedForAgainAlone(t *testing.T) {
	text := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(text, []byte(lsfHistory), 0o666); err != nil {
		t.Fatal(err)
	}
	a := scripted(t, map[string]string{"bhist": fmt.Sprintf(
		`shift 6; [ $1 = 8 ] && sed '/^Job <9/,$d' %[1]s; [ $1 = 9 ] && sed -n '/^Job <9/,$p' %[1]s; exit 0`, text)})
	refs := []adapters.Ref{{Tag: tagB, ID: "8", Index: 1}, {Tag: tagA, ID: "9", Index: 0}}
	got, err := a.Account(t.Context(), jjm.Owner{UID: 1000, User: "alice"}, refs)
	if err != nil || len(got) != 2 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
}

// If a listing is incomplete, or its command complains, the jobs that it lacks do not count as absent.
func TestUnanswered_APartialListingIsBusyNotGone(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(whole, []byte(lsfList), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"cut within a line":    "head -c 300 " + whole,
		"nothing":              "exit 0",
		"a complaint":          "head -n 2 " + whole + "; echo 'Failed in receiving a message' >&2",
		"an exit code":         "head -n 2 " + whole + "; exit 255",
		"a complaint and code": "head -n 2 " + whole + "; echo 'LSF is down. Please wait ...' >&2; exit 255",
	} {
		a := scripted(t, map[string]string{"bjobs": body})
		ann := jjm.Owner{UID: 1000, User: "alice"}
		ref := adapters.Ref{Tag: tagB, ID: "8", Index: 0}
		if got, err := a.Find(t.Context(), ann, []jjm.Tag{tagB}); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: found %+v, error %v", name, got, err)
		}
		if got, err := a.Control(t.Context(), ann, adapters.Cancel, []adapters.Ref{ref}); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: cancelled %+v, error %v", name, got, err)
		}
	}
}
