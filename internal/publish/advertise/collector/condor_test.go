package collector

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// hostile is a site whose names all have special characters.
func hostile(site, queue, contact string) advertise.Facts {
	return advertise.Facts{
		Site: site, Instance: "jtest", Version: "1 \"dirty\"", Quality: "testing", At: jjm.At(time.Now()), Lifetime: 900,
		Clusters: []advertise.Cluster{
			{Name: "a", Kind: "slurm", Guarantee: queue, Health: advertise.NotAnswering, Reason: contact, Queue: queue,
				Queues: []string{queue, contact, site}},
			{Name: "b", Kind: "condor", Health: advertise.Answering, Slots: advertise.Known(0), Queued: advertise.Known(3),
				Running: advertise.Known(4),
				Limits:  advertise.Limits{MaxMemoryMB: 1 << 40}},
		},
		Types:       []advertise.JobType{{Name: "montecarlo"}},
		Gatekeepers: []advertise.Gatekeeper{{Kind: "arc", Contact: contact}},
	}
}

func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`["\\nx\n\t\r '{}\[\];=,$()#]{0,12}`), rapid.String(),
		rapid.SampledFrom([]string{`ends with \`, `\"`, "a\nName = \"other\"", "\x00", "\xff\xfe", "ü€😀", "undefined",
			"\u2028", "-pool", strings.Repeat("long ", 200)}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

// HTCondor's own parser reads every ad that jjm writes, for any names.
func TestCondor_ParsesWhatWasWritten(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.Start(t, "condor")
	file := filepath.Join(bed.Dir(t), "ads")
	cli := adapters.CLI{Bin: bed.Bin, Env: bed.Env}
	rapid.Check(t, func(t *rapid.T) {
		var ads []advertise.Ad
		var sites []string
		var all strings.Builder
		for range 20 {
			f := hostile(text().Draw(t, "site"), text().Draw(t, "queue"), text().Draw(t, "contact"))
			ads, sites = append(ads, f.Ad()), append(sites, f.Site)
			all.WriteString(f.Ad().Text() + "\n")
		}
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := cli.Run(context.Background(), nil, "condor_status", "-any", "-ads", file, "-json")
		if err != nil || out.Exit != 0 {
			t.Fatalf("exit %d, %v\n%s", out.Exit, err, out.Stderr)
		}
		held, err := advertise.ParseHeld(out.Stdout)
		if err != nil || len(held) != len(ads) {
			t.Fatalf("%d ads of %d: %v", len(held), len(ads), err)
		}
		byKey := map[any][]advertise.Held{} // condor_status changes the order of the ads
		for _, h := range held {
			byKey[h.Get("NameKey")] = append(byKey[h.Get("NameKey")], h)
		}
		for i, ad := range ads {
			found := byKey[advertise.NameKey(sites[i])]
			if !someIs(ad, found) {
				t.Fatalf("site %q: no ad that is the same among\n%v\nof\n%s", sites[i], found, ad.Text())
			}
			if name, _ := found[0].Get("Name").(string); advertise.Plain(name) != sites[i] {
				t.Fatalf("site %q is %q", sites[i], name)
			}
		}
	})
}

func someIs(ad advertise.Ad, held []advertise.Held) bool {
	for _, h := range held {
		if len(ad.Differences(h)) == 0 {
			return true
		}
	}
	return false
}

// The real collector keeps an ad that was sent, and removes it when jjm withdraws the ad.
func TestCondor_PublishesAndWithdrawsAtTheRealCollector(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.Start(t, "condor")
	c := condor{cli: adapters.CLI{Bin: bed.Bin, Env: bed.Env}, pool: bed.Vars["COLLECTOR"],
		timeout: await.Guard(4 * time.Minute)}
	for i, site := range []string{"plain", "a \"quoted\"\nname", `back\slash\`, "Köln € \x00 \xff", ""} {
		f := hostile(fmt.Sprintf("jjm-test-%d-%s", i, site), site, site)
		if err := c.Send(t.Context(), f.Ad().Text()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Withdraw(context.Background(), f.Site, f.Instance) })
		var held []advertise.Held
		eventually(t, "the ad is there", func() (err error) {
			if held, err = c.Held(t.Context(), f.Site); err != nil {
				return err
			}
			return checkHeld(f.Ad(), f.Instance, held)
		})
		if len(held) != 1 {
			t.Errorf("%q: %d ads", site, len(held))
		}
		if err := c.Withdraw(t.Context(), f.Site, "somebody"); err != nil {
			t.Fatal(err)
		}
		if held, err := c.Held(t.Context(), f.Site); err != nil || !holds(held, f.Instance) {
			t.Errorf("%q: another instance took the ad away: %v, %v", site, held, err)
		}
		for range 2 { // the second withdrawal finds no ad, which is no error
			if err := c.Withdraw(t.Context(), f.Site, f.Instance); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the ad is gone", func() error {
				held, err := c.Held(t.Context(), f.Site)
				if err == nil && len(held) > 0 {
					err = fmt.Errorf("%d ads", len(held))
				}
				return err
			})
		}
	}
}

func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	await.Nil(t, what, ok)
}

func TestCondor_ErrorsShowTheOutputOfACommand(t *testing.T) {
	dir := t.TempDir()
	program := func(name, script string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := condor{cli: adapters.CLI{Bin: dir}, pool: "broker:9618", timeout: await.Guard(4 * time.Minute)}
	if err := c.Send(t.Context(), "x"); jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "condor_advertise") {
		t.Errorf("no such program: %v", err)
	}
	program("condor_advertise", `echo "$*|$(cat)" >"$0.got"; echo 'failed to send
classad' >&2; exit 1`)
	if err := c.Send(t.Context(), "the ad"); jjm.KindOf(err) != jjm.Busy ||
		!strings.Contains(err.Error(), "condor_advertise: exit 1: failed to send classad") {
		t.Errorf("a failure: %v", err)
	}
	got, _ := os.ReadFile(filepath.Join(dir, "condor_advertise.got"))
	if want := "-pool broker:9618 -tcp UPDATE_AD_GENERIC -|the ad\n"; string(got) != want {
		t.Errorf("it was called with %q, want %q", got, want)
	}
	program("condor_advertise", "sleep 600")
	c.timeout = await.Provoked(250 * time.Millisecond)
	if err := c.Withdraw(t.Context(), "x", "y"); jjm.KindOf(err) != jjm.Busy ||
		!strings.Contains(err.Error(), "its time was over") {
		t.Errorf("a command that hangs: %v", err)
	}
	c.timeout = await.Guard(4 * time.Minute)
	program("condor_status", "echo welcome to this machine")
	if _, err := c.Held(t.Context(), "x"); jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "welcome") {
		t.Errorf("a banner: %v", err)
	}
	program("condor_status", "exit 0")
	if held, err := c.Held(t.Context(), "x"); err != nil || len(held) > 0 {
		t.Errorf("nothing there: %v, %v", held, err)
	}
}
