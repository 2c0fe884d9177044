package collector

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestConfig_DefaultsAreValid(t *testing.T) {
	if ps := Defaults().Check(); len(ps) > 0 {
		t.Error(ps)
	}
}

func TestConfig_ReportsEveryMistake(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"interval":              func(c *Config) { c.Interval = 0 },
		"lifetime":              func(c *Config) { c.Lifetime = 2 * c.Interval },
		"timeout":               func(c *Config) { c.Timeout = 0 },
		"withdraw_time":         func(c *Config) { c.WithdrawTime = jjm.Duration(60e9) },
		"bin":                   func(c *Config) { c.Bin = "condor/bin" },
		"quality":               func(c *Config) { c.Quality = "best" },
		"site":                  func(c *Config) { c.Site = strings.Repeat("x", maxText+1) },
		"collectors[0]":         func(c *Config) { c.Collectors = []string{"-pool"} },
		"collectors[1]":         func(c *Config) { c.Collectors = []string{"a:9618", "a:9618"} },
		"collectors[2]":         func(c *Config) { c.Collectors = []string{"a", "b", "c d"} },
		"gatekeeper[0].kind":    func(c *Config) { c.Gatekeeper = []Gatekeeper{{Kind: "cream", Contact: "x"}} },
		"gatekeeper[0].contact": func(c *Config) { c.Gatekeeper = []Gatekeeper{{Kind: "arc"}} },
	} {
		c := Defaults()
		change(&c)
		if ps := c.Check(); len(ps) != 1 || ps[0].Field != "advertise."+field || !strings.Contains(ps[0].Text, "want") {
			t.Errorf("%s: %v", field, ps)
		}
	}
	c := Defaults()
	c.Site, c.Collectors, c.Gatekeeper = "a \"hostile\"\n site", []string{"b.example.org:9618", "[::1]:9618"},
		[]Gatekeeper{{Kind: "gram5", Contact: "x"}}
	if ps := c.Check(); len(ps) > 0 {
		t.Error(ps)
	}
}
