package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// fake is a collector in memory with the faults of real collectors. The tests with a test bed use a real collector.
type fake struct {
	mu sync.Mutex
	poolState
}

// poolState holds the ads of a fake collector, and the faults that it shows.
type poolState struct {
	ads                        map[string]string // the texts of the ads by name
	sent, tries                int
	down, drops, garble, hangs bool
}

// look returns a copy of the current state, and set changes the state.
func (f *fake) look() poolState {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.poolState
	p.ads = maps.Clone(p.ads)
	return p
}

func (f *fake) set(change func(*poolState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.poolState)
}

var _ Collector = (*fake)(nil)

// provoked: the fake command hangs.
// commandTime is the deadline of a command. The real collector's commands have their own.
const commandTime = 30 * time.Second

// command begins a command of a collector, with the faults that the test has set. If it returns nil, the caller must
// unlock f.mu.
func (f *fake) command(ctx context.Context) error {
	f.mu.Lock()
	f.tries++
	if f.hangs {
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, commandTime)
		defer cancel()
		<-ctx.Done()
		return jjm.Errorf(jjm.Busy, "run condor_advertise: stopped: %w", jjm.Plainly(ctx.Err()))
	}
	if f.down {
		f.mu.Unlock()
		return jjm.Errorf(jjm.Busy, "condor_advertise: exit 1: connection refused")
	}
	if f.ads == nil {
		f.ads = map[string]string{}
	}
	return nil
}

func (f *fake) Send(ctx context.Context, ad string) error {
	if err := f.command(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	f.sent++
	if f.garble {
		ad = strings.Replace(ad, `State = "open"`, `State = "closed"`, 1)
	}
	if !f.drops {
		f.ads[attribute(ad, "Name")] = ad
	}
	return nil
}

func (f *fake) Held(ctx context.Context, site string) ([]advertise.Held, error) {
	if err := f.command(ctx); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	ad, there := f.ads[site]
	if !there {
		return nil, nil
	}
	return []advertise.Held{held(ad)}, nil
}

func (f *fake) Withdraw(ctx context.Context, site, instance string) error {
	if err := f.command(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	if attribute(f.ads[site], "Instance") == instance {
		delete(f.ads, site)
	}
	return nil
}

// attribute returns a string attribute of an ad's text.
func attribute(ad, name string) string {
	for line := range strings.Lines(ad) {
		if value, ok := strings.CutPrefix(line, name+" = "); ok {
			s, _ := strconv.Unquote(strings.TrimSpace(value))
			return s
		}
	}
	return ""
}

// held returns the ads of these tests in the form in which a collector shows them. Old
// ClassAds are JSON except for the brackets and the names.
func held(ad string) advertise.Held {
	h := advertise.Held{}
	for line := range strings.Lines(ad) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		h[name] = literal(value)
	}
	return h
}

func literal(text string) any {
	switch {
	case text == "undefined":
		return nil
	case strings.HasPrefix(text, "{"):
		list := []any{}
		inner := strings.TrimSpace(text[1 : len(text)-1])
		if inner != "" { // the lists of these tests have one element
			list = append(list, literal(inner))
		}
		return list
	case strings.HasPrefix(text, "["):
		record := map[string]any{}
		for _, part := range strings.Split(strings.TrimSpace(text[1:len(text)-1]), "; ") {
			name, value, _ := strings.Cut(part, " = ")
			record[name] = literal(value)
		}
		return record
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v)
	return v
}
