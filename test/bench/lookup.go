package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The targets of a gatekeeper's lookup.
const (
	lookupCPU  = 2.5 // limit for the CPU time, as a multiple of a program that only parses flags
	lookupP99  = 20  // ms
	recordWall = 100 // ms
)

// lookup measures a lookup with jjm-gatekeeper, which gatekeepers use, and for comparison a lookup with jjm, which
// people use.
func (b *bench) lookup() error {
	plain, err := b.build("flags", "jjm/test/bench/flagonly")
	if err != nil {
		return err
	}
	s, err := b.site(b.size.live, 0)
	if err != nil {
		return err
	}
	id := s.grid.String()
	var cpu, people, other, wall []float64
	for range b.size.execs {
		e, err := b.exec(s.args.Dir, b.gatekeeperLookup(id)...)
		if err != nil {
			return err
		}
		p, err := b.exec(s.args.Dir, plain, id)
		if err != nil {
			return err
		}
		h, err := b.exec(s.args.Dir, filepath.Join(b.bin, "jjm"), "lookup", id)
		if err != nil {
			return err
		}
		cpu, wall = append(cpu, ms(e.cpu)), append(wall, ms(e.wall))
		other, people = append(other, ms(p.cpu)), append(people, ms(h.cpu))
	}
	const plainly = "a program that only parses the flags"
	b.beside("lookup", "jjm-gatekeeper core lookup, CPU, median", median(cpu), "ms", plainly, median(other), lookupCPU)
	b.tell("lookup", "jjm lookup (for people), CPU, median", median(people), "ms")
	live := fmt.Sprintf("jjm-gatekeeper core lookup, %d live", b.size.live)
	b.tell("lookup", live+", wall, median", median(wall), "ms")
	b.target("lookup", live+", wall, 99 %", quantile(wall, 0.99), "ms", lookupP99)
	return b.lookupDown(s)
}

// lookupDown measures a lookup that is answered from the record because no daemon runs.
func (b *bench) lookupDown(s *siteProc) error {
	if err := s.ask("stop", nil, nil); err != nil {
		return err
	}
	wall, err := b.timeLookups(s)
	if err != nil {
		return err
	}
	b.tell("lookup", "no daemon: from the record, wall, median", median(wall), "ms")
	b.target("lookup", "no daemon: from the record, wall, 99 %", quantile(wall, 0.99), "ms", recordWall)
	return s.ask("start", nil, nil)
}

// gatekeeperLookup returns the command with which scripts of gatekeepers look up a grid job.
func (b *bench) gatekeeperLookup(id string) []string {
	return []string{filepath.Join(b.bin, "jjm-gatekeeper"), "core", "lookup", id}
}

// timeLookups returns the wall times of lookups of the large grid job, in ms.
func (b *bench) timeLookups(s *siteProc) ([]float64, error) {
	var wall []float64
	for range b.size.execs {
		e, err := b.exec(s.args.Dir, b.gatekeeperLookup(s.grid.String())...)
		if err != nil {
			return nil, err
		}
		wall = append(wall, ms(e.wall))
	}
	return wall, nil
}

// executed holds the times of one run of a program.
type executed struct{ wall, cpu time.Duration }

// exec runs a program once, for the daemon with this state folder.
func (b *bench) exec(state string, argv ...string) (executed, error) {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + state, "JJM_STATE=" + state}
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil {
		return executed{}, fmt.Errorf("%v: %w", argv, err)
	}
	return executed{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// build builds a program of this module for comparison, with the options of "make build".
func (b *bench) build(name, pkg string) (string, error) {
	dir, err := b.folder(name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program to compare with: %w: %s", err, out)
	}
	return path, nil
}
