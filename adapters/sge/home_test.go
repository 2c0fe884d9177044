package sge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/adapters"
)

// Commands of Grid Engine have no HOME of their owner's. Version 8.1.9 finds
// .sge_request and .sge_qstat without it, by the account's number.
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
