package survival_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
	"jjm/internal/testkit/await"
)

// elsewhere returns the failpoints that a site with the embedded batch system cannot reach, with the reasons.
func elsewhere() map[string]string {
	const twoPhase = "only two-phase batch systems take bulks held and release them"
	const datasets = "datasets_test.go goes there"
	const containers = "a container is read; the engine's own crash tests come there"
	const marks = "marks and retractions are made at moments that a site with real programs can only guess; the engine's own crash tests come there"
	const holds = "the embedded batch system holds no job; the engine's own crash tests come there"
	const twice = "the embedded batch system takes no bulk twice; the engine's own crash tests come there"
	const arrays = "the embedded batch system takes arrays; the engine's own crash tests come there"
	const many = "the embedded batch system takes any number of jobs; the engine's own crash tests come there"
	const reopened = "the engine's own crash tests come there, at moments that are exact"
	return map[string]string{"resubmit.before-commit": reopened, "resubmit.after-commit": reopened,
		"resplit.before-commit": reopened, "resplit.after-commit": reopened,
		"roll-back.before-commit": reopened, "roll-back.after-commit": reopened,
		"kept-submit.before-commit": reopened, "kept-submit.after-commit": reopened,
		"auto-kill.before-commit": reopened, "auto-kill.after-commit": reopened,
		"set-resources.before-commit": reopened, "set-resources.after-commit": reopened,
		"request.before-commit": reopened, "request.after-commit": reopened,
		"reopen.chunk": reopened, "reopen.back": reopened, "reopen.before-commit": reopened, "reopen.after-commit": reopened,
		"remove.before-commit": reopened, "remove.after-commit": reopened, "remove.record": reopened, "remove.area": reopened,
		"remove.rows": reopened, "remove.packages": reopened,
		"removed.before-commit": reopened, "removed.after-commit": reopened,
		"reopen-refuse.before-commit": reopened, "reopen-refuse.after-commit": reopened,
		"release.before-commit": twoPhase, "release.after-commit": twoPhase,
		"notice.before-commit": datasets, "notice.after-commit": datasets,
		"dataset-add.before-commit": datasets, "dataset-add.after-commit": datasets,
		"dataset-take": containers, "dataset-news.before-commit": containers, "dataset-news.after-commit": containers,
		"dataset-close.before-commit": datasets, "dataset-close.after-commit": datasets,
		"dataset-remove.before-commit": reopened, "dataset-remove.after-commit": reopened,
		"dataset-remove.rows":        reopened,
		"dataset-mark.before-commit": marks, "dataset-mark.after-commit": marks,
		"withdraw.before-commit": marks, "withdraw.after-commit": marks,
		"retract.before-commit": marks, "retract.after-commit": marks,
		"repoint.before-commit": twice, "repoint.after-commit": twice,
		"withhold.before-commit": arrays, "withhold.after-commit": arrays,
		"break-up.before-commit": many, "break-up.after-commit": many,
		"hold.before-commit": holds, "hold.after-commit": holds, "hold.acted": holds,
		"hold-done.before-commit": holds, "hold-done.after-commit": holds}
}

// scenarios returns the scenario in which a daemon reaches each failpoint. A number n means that the daemon dies when
// it reaches the failpoint for the n-th time.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	add := func(point string, sc scenario) { all[point] = sc }
	// The grid jobs for the failpoints before and after a commit report in different ways, so that both ways are tested.
	changes := func(change string, make func(glf bool) scenario, nth ...int) {
		for i, when := range []string{".before-commit", ".after-commit"} {
			sc := make(i == 0)
			if len(nth) > 0 {
				sc.lives = []string{change + when + ":" + strconv.Itoa(nth[0])}
			}
			add(change+when, sc)
		}
	}
	for _, change := range []string{"accept", "prepare", "generate", "submit", "acknowledge", "kill-locals", "collect"} {
		changes(change, mixed)
	}
	changes("status", mixed, 2)
	changes("watch", mixed, 4)
	changes("verdict", mixed, 6)
	changes("auto-resubmit", func(glf bool) scenario {
		return scenario{design: design{jobs: 20, glf: glf, mix: "yes", auto: true}}
	}, 3)
	changes("kill", func(glf bool) scenario {
		return scenario{design: design{jobs: 20, glf: glf, mix: "yes", killed: true}, drive: driveKilled}
	})
	changes("order", func(glf bool) scenario {
		return scenario{design: design{jobs: 12, glf: glf}, drive: driveOrdered}
	})
	changes("ban", func(glf bool) scenario {
		return scenario{design: design{jobs: 12, glf: glf}, drive: driveBanned}
	})
	changes("exclude", func(glf bool) scenario {
		return scenario{design: design{jobs: 12, glf: glf}, drive: driveIncluded}
	})
	changes("remark", func(glf bool) scenario {
		return scenario{design: mixed(glf).design, drive: driveRemarked}
	})
	changes("hold-request", func(glf bool) scenario {
		return scenario{design: design{jobs: 12, glf: glf}, drive: driveHeld}
	})
	changes("release-held", func(glf bool) scenario {
		return scenario{design: design{jobs: 12, glf: glf, mix: "held"}, drive: driveReleased}
	})
	changes("force-status", func(glf bool) scenario {
		return scenario{design: mixed(glf).design, drive: driveForced}
	})
	for _, change := range []string{"freeze", "unfreeze"} {
		changes(change, func(glf bool) scenario {
			return scenario{design: mixed(glf).design, drive: driveFrozen}
		})
	}
	add("local.withdrawn", scenario{design: design{jobs: 20, glf: true, mix: "yes", killed: true}, drive: driveKilled})
	for i, point := range []string{"refuse.before-commit", "refuse.after-commit"} {
		add(point, fewerSlots(design{jobs: 12, glf: i == 0, request: "cores = 4", refused: true}, point))
	}
	changes("submit-again", func(glf bool) scenario { return movedSpool(mixed(glf)) })
	changes("doubt", func(glf bool) scenario { return unreadableSpool(mixed(glf)) })

	for i, point := range []string{"accept.given", "prepare.packed", "submit.assigned", "submit.acted", "watch.listed",
		"settle.claimed",
		"collect.tarred", "retire.swept", "publish.before", "publish.after",
		"local.spooled", "local.marked", "local.started", "local.recorded", "local.cancelling", "local.ended",
		"local.closed"} {
		add(point, mixed(i%2 == 0))
	}
	for _, point := range []string{"spool.read", "spool.acted", "spool.removed"} {
		add(point, leftInSpool(mixed(true)))
	}
	changes("spool-refuse", func(glf bool) scenario { return leftInSpool(mixed(glf)) })
	add("reconcile.found", scenario{design: mixed(true).design, lives: []string{"submit.acted", "reconcile.found"}})
	add("local.purging", scenario{design: mixed(false).design, set: settings{keep: "1m"},
		patience: await.Guard(6 * time.Minute), lives: []string{"", "local.purging"}})
	for point, nth := range map[string]int{"publish.before": 5, "publish.after": 4, "watch.listed": 3,
		"local.marked": 7, "local.started": 9, "local.recorded": 12, "local.ended": 3, "local.closed": 5} {
		sc := all[point]
		sc.lives = []string{point + ":" + strconv.Itoa(nth)}
		all[point] = sc
	}
	// The daemon takes the claim of a local job that is killed before it starts. The first sleeper occupies the only slot,
	// and so the other sleepers have not started when they are killed, however slow the machine is.
	claimed := all["settle.claimed"]
	claimed.set.slots = 1
	all["settle.claimed"] = claimed
	return all
}

// fewerSlots reduces the slots after the local jobs were made, so that the batch system refuses the bulks.
func fewerSlots(d design, point string) scenario {
	return scenario{design: d, drive: driveOnly, lives: []string{"submit.assigned", point},
		between: func(t *testing.T, s *site) {
			text, err := os.ReadFile(s.config)
			if err != nil {
				t.Fatal(err)
			}
			fewer := strings.Replace(string(text), "slots = 4", "slots = 2", 1)
			if err := os.WriteFile(s.config, []byte(fewer), 0o600); err != nil {
				t.Fatal(err)
			}
		}}
}

// leftInSpool puts the grid job into the daemon's spool before the daemon starts, after an entry that will be refused.
func leftInSpool(sc scenario) scenario {
	sc.before = func(t *testing.T, s *site) {
		box := filepath.Join(s.state, "spool")
		if err := spool.Make(box, 0o600, -1); err != nil {
			t.Fatal(err)
		}
		for key, text := range map[string]string{"wrong": "type = \"none\"", "once": sc.design.keyed("once").text(s)} {
			err := spool.Put(box, spool.Note{Verb: spool.VerbSubmit, Handle: jjm.HandleOf(os.Geteuid(), key),
				Submit: &wire.Submit{Name: "survival.toml", Text: text, BaseDir: s.dir, Key: key}}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return sc
}

func (d design) keyed(key string) design {
	d.key = key
	return d
}

// spool returns the folder of the embedded batch system's spool.
func (s *site) spool() string { return filepath.Join(s.state, "clusters", "local", "spool") }

// movedSpool moves the spool away under the running daemon, so that the daemon certainly cannot submit.
func movedSpool(sc scenario) scenario {
	sc.drive = func(ctx context.Context, s *site, d design) (jjm.GridID, error) {
		if _, err := insist(ctx, s, wire.VerbPing(), wire.PingRequest{}); err != nil {
			return 0, err
		}
		if err := os.Rename(s.spool(), s.spool()+".away"); err != nil {
			return 0, err
		}
		return driveMix(ctx, s, d)
	}
	sc.between = func(t *testing.T, s *site) {
		if err := os.Rename(s.spool()+".away", s.spool()); err != nil {
			t.Fatal(err)
		}
	}
	return sc
}

// unreadableSpool removes the right to read the spool's folder. Then an entry can be created but not synced, so that
// the submission is in doubt. Root can read everything, so its daemon runs as nobody.
func unreadableSpool(sc scenario) scenario {
	if os.Getuid() == 0 {
		sc.set.uid = nobody
	}
	sc.drive = func(ctx context.Context, s *site, d design) (jjm.GridID, error) {
		if _, err := insist(ctx, s, wire.VerbPing(), wire.PingRequest{}); err != nil {
			return 0, err
		}
		if err := os.Chmod(s.spool(), 0o300); err != nil {
			return 0, err
		}
		return driveMix(ctx, s, d)
	}
	sc.between = func(t *testing.T, s *site) {
		if err := os.Chmod(s.spool(), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return sc
}
