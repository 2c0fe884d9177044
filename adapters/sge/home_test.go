package sge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Commands of Grid Engine do not get the home folder of their owner in HOME, so that they do not read the owner's
// settings. Version 8.1.9 finds .sge_request and .sge_qstat nevertheless, by the number of the account.
func TestNew_CommandsFindNoSettingsOfTheirOwner(t *testing.T) {
	for set, want := range map[string]string{"": "/", "/var/empty": "/var/empty"} {
		bin := t.TempDir()
		seen := filepath.Join(bin, "seen")
		if err := os.WriteFile(filepath.Join(bin, "qstat"), []byte("#!/bin/sh\necho $HOME >"+seen+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		a, err := New("sge", adapters.Env{State: t.TempDir()}, func(config any) error {
			cfg := config.(*Config)
			cfg.Bin = bin
			if set != "" {
				cfg.Env = map[string]string{"HOME": set}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = a.(*Adapter).show(t.Context(), "qstat")
		if home, err := os.ReadFile(seen); err != nil || strings.TrimSpace(string(home)) != want {
			t.Errorf("HOME is %q, %v: want %s", home, err, want)
		}
	}
}

func TestShow_HoldsToTheConfiguredBoundOfOutput(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\nhead -c 3000000 /dev/zero\n"
	if err := os.WriteFile(filepath.Join(bin, "qstat"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	a, err := lonely(t, func(c *Config) { c.Bin, c.MaxOutputMB = bin, 1 })
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.show(t.Context(), "qstat")
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "command_output_mb") {
		t.Errorf("%d bytes, error %v: want none, and one that names command_output_mb", len(text), err)
	}
}
