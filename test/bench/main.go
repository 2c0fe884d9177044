package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The exit codes.
const (
	exitOK     = 0
	exitMissed = 1
	exitError  = 2
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == childWord {
		os.Exit(childMain())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once, even if it waits for a test bed
	os.Exit(run(ctx, wholeSizes(), os.Args[1:], os.Stdout, os.Stderr))
}

// section is one part of the table.
type section struct {
	name string
	do   func(*bench)
}

func sections() []section {
	return []section{{"accept", accept}, {"lookup", lookup}, {"live", live}, {"see", see}, {"true", bare}, {"kill", kill},
		{"tar", tar}, {"split", splitters}, {"datasets", datasets}, {"slurm", slurm}, {"condor", condor}, {"blahp", blahp},
		{"gatekeepers", gatekeepers}}
}

// bench is one run.
type bench struct {
	tb
	table
	ctx    context.Context // of the whole run, which is one command
	bin    string          // the folder of the programs
	dir    string          // the folder of everything that is written
	shared string          // the work areas, as on a file server
	size   sizes
	made   []string // folders to remove
}

// sizes determine how much is measured. Tests use smaller sizes.
type sizes struct {
	live     int           // local jobs of the large sites
	history  int           // finished local jobs
	linear   []int         // local jobs of the other sites
	quiet    time.Duration // the wait before live jobs are measured
	watch    time.Duration // how long live jobs are measured
	execs    int
	jobs     int // runs of /bin/true; half as many on Slurm
	files    int // files of the tar
	fileSize int
	rounds   int
	singles  int    // grid jobs of one local job
	split    [2]int // files to cut
	datasets [2]int // files that are cut while they are added
	feed     int    // files that are cut after all were added
	calls    int    // calls of the scripts of blahp and ARC
}

func wholeSizes() sizes {
	return sizes{live: 100_000, history: 1_000_000, linear: []int{1000, 10_000}, quiet: 5 * time.Second,
		watch: 30 * time.Second, execs: 300, jobs: 2000, files: 10_000, fileSize: 100_000, rounds: 3, singles: 10_000,
		split: [2]int{100_000, 1_000_000}, datasets: [2]int{10_000, 100_000}, feed: 1_000_000, calls: 50}
}

func run(ctx context.Context, size sizes, args []string, out, log io.Writer) int {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(log)
	only := fs.String("run", "", "measure these `SECTIONS` only, such as lookup,true: "+strings.Join(names(), ", "))
	asJSON := fs.Bool("json", false, "print JSON instead of a table")
	bin := fs.String("bin", "bin", "the `FOLDER` of jjm's programs")
	dir := fs.String("dir", "", "write below this `FOLDER`, on a local disk (default: the temporary one)")
	profile := fs.String("profile", "", "write CPU profiles of the children into this `FOLDER`")
	fs.IntVar(&size.live, "live", size.live,
		"the `NUMBER` of local jobs of the sections accept, lookup, live, see and kill")
	if err := fs.Parse(args); err != nil {
		return exitError
	}
	b := newBench(ctx, size, log)
	defer b.clean()
	err := try(func() {
		wanted := choose(*only, fs.Args())
		b.prepare(*bin, *dir, *profile)
		check(b.measure(wanted))
	})
	err = errors.Join(err, b.print(out, *asJSON))
	switch {
	case err != nil:
		fmt.Fprintln(log, "bench:", err)
		return exitError
	case b.missed():
		return exitMissed
	}
	return exitOK
}

func newBench(ctx context.Context, size sizes, log io.Writer) *bench {
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(log, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	return &bench{tb: tb{say: say}, ctx: ctx, size: size}
}

func names() (all []string) {
	for _, s := range sections() {
		all = append(all, s.name)
	}
	return all
}

// choose returns the sections to measure.
func choose(only string, rest []string) (chosen []section) {
	if len(rest) > 0 {
		check(fmt.Errorf("unexpected argument %q: sections are named by -run", rest[0]))
	}
	if only == "" {
		return sections()
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(names(), name)
		if i < 0 {
			check(fmt.Errorf("-run %q: there are %v", name, names()))
		}
		chosen = append(chosen, sections()[i])
	}
	return chosen
}

// prepare finds the programs and makes the folders.
func (b *bench) prepare(bin, dir, profile string) {
	b.bin = must(filepath.Abs(bin))
	for _, name := range []string{"jjm", "jjm-daemon", "jjm-wrapper", "jjm-gatekeeper"} {
		if _, err := os.Stat(filepath.Join(b.bin, name)); err != nil {
			check(fmt.Errorf("%w: run make build first", err))
		}
	}
	if profile != "" {
		profile = must(filepath.Abs(profile))
		check(errors.Join(os.MkdirAll(profile, 0o755), os.Setenv(profileEnv, profile)))
	}
	b.dir = b.folder(dir)
	// At a real site the work areas are on a shared file server. Here they are in memory if possible, because the speed
	// of this machine's disk should not be measured.
	b.shared = b.dir
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		b.shared = b.folder("/dev/shm")
	}
}

// folder makes an empty folder below another one. Everybody may look into it. It is removed at the end of the run.
func (b *bench) folder(below string) string {
	dir := must(os.MkdirTemp(below, "jjm-bench-"))
	b.made = append(b.made, dir)
	check(os.Chmod(dir, 0o755))
	return dir
}

func (b *bench) clean() {
	for _, dir := range b.made {
		if err := os.RemoveAll(dir); err != nil {
			b.say("%v", err)
		}
	}
}

// measure runs the sections. If a section fails, the following sections still run.
func (b *bench) measure(wanted []section) error {
	var errs []error
	for _, s := range wanted {
		b.say("%s", s.name)
		b.of = s.name
		err := b.section(func() { s.do(b) })
		switch {
		case errors.Is(err, errNotMeasured):
			b.say("  %v", err)
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		if b.ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// keep leaves the folder with this path where it is at the end of the run.
func (b *bench) keep(path string) {
	b.made = slices.DeleteFunc(b.made, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}
