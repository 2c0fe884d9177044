package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jjm/internal/api/server"
	"jjm/internal/engine"
	"jjm/internal/jjm"
)

func TestFixed_NamesWhatNeedsARestart(t *testing.T) {
	base := Config{State: "/s", Work: "/w", Log: "info", Engine: engine.Defaults()}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"nothing", func(*Config) {}, nil},
		{"what can change", func(c *Config) { c.Log = "debug"; c.Engine.Poll = jjm.Duration(time.Second) }, nil},
		{"state", func(c *Config) { c.State = "/t" }, []string{"state"}},
		{"workers", func(c *Config) { c.Engine.Workers++ }, []string{"engine.workers"}},
		{"fetches", func(c *Config) { c.Engine.Fetch.ParallelPerUser++ }, []string{"engine.fetch.parallel_per_user"}},
		{"gate and clusters", func(c *Config) {
			c.Gate = server.Config{Mode: "0660"}
			c.Cluster = []map[string]any{{"name": "b"}}
		}, []string{"gate", "cluster"}},
		{"metrics", func(c *Config) { c.Metrics.Listen = "127.0.0.1:1" }, []string{"metrics"}},
		{"web", func(c *Config) { c.Web.Listen = "127.0.0.1:1" }, []string{"web"}},
	} {
		next := base
		c.change(&next)
		if got := fixed(base, next); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestStamp_TellsFilesOfOneTimeApart(t *testing.T) {
	a := &App{path: filepath.Join(t.TempDir(), "jjm.toml")}
	seen := map[string]bool{}
	for _, text := range []string{"a", "b", "longer"} {
		fresh := a.path + ".new" + text
		if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(fresh, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, a.path); err != nil {
			t.Fatal(err)
		}
		seen[a.stamp()] = true
	}
	if len(seen) != 3 {
		t.Errorf("3 files, %d stamps: %v", len(seen), seen)
	}
}

func TestLevel_KnowsFourWords(t *testing.T) {
	for _, word := range []string{"debug", "info", "warn", "error"} {
		if _, err := level(word); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	if _, err := level("loud"); err == nil {
		t.Error("loud: accepted")
	}
}
