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

	"jjm/internal/testkit/testbed"
)

// The exit codes.
const (
	exitOK     = 0
	exitMissed = 1
	exitError  = 2
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == childWord {
		os.Exit(childMain(os.Args[2], os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, wholeSizes(), os.Args[1:], os.Stdout, os.Stderr))
}

// section is one part of the table.
type section struct {
	name string
	do   func(*bench) error
}

func sections() []section {
	return []section{
		{"accept", (*bench).accept},
		{"lookup", (*bench).lookup},
		{"live", (*bench).live},
		{"see", (*bench).see},
		{"true", (*bench).bare},
		{"kill", (*bench).kill},
		{"tar", (*bench).tar},
		{"split", (*bench).split},
		{"datasets", (*bench).datasets},
		{"slurm", (*bench).slurm},
		{"condor", (*bench).condor},
		{"blahp", (*bench).blahp},
		{"gatekeepers", (*bench).gatekeepers},
	}
}

// bench is one run.
type bench struct {
	ctx    context.Context // the context of the whole run
	bin    string          // the folder of the programs
	dir    string          // the folder of everything that is written
	shared string          // the work areas, as on a file server
	size   sizes
	rows   []row
	say    func(format string, args ...any)
	made   []string // further folders to remove
	keep   []string // folders of daemons for which a wait failed
	holds  []*testbed.Hold

	sites map[siteArgs]*siteProc // the running sites
}

// sizes determine how much is measured. Tests use smaller sizes.
type sizes struct {
	live     int // local jobs of the large sites
	history  int // finished local jobs
	linear   []int
	quiet    time.Duration // the wait before live jobs are measured
	watch    time.Duration // how long live jobs are measured
	execs    int
	jobs     int // runs of /bin/true
	files    int // files of the tar
	fileSize int
	rounds   int
	singles  int   // grid jobs of one local job
	short    int   // jobs on Slurm
	split    []int // numbers of files to split
	datasets []int // numbers of files that are split while they are added
	feed     int   // number of files that are split after all were added
	calls    int   // calls of the scripts of blahp and ARC
}

func wholeSizes() sizes {
	return sizes{live: 100_000, history: 1_000_000, linear: []int{1000, 10_000}, quiet: 5 * time.Second,
		watch: 30 * time.Second,
		execs: 300, jobs: 2000, files: 10_000, fileSize: 100_000, rounds: 3,
		singles: 10_000, short: 1000, split: []int{1000, 10_000, 100_000, 1_000_000},
		datasets: []int{10_000, 100_000}, feed: 1_000_000, calls: 50}
}

func run(ctx context.Context, size sizes, args []string, out, log io.Writer) int {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(log)
	only := fs.String("run", "", "measure these `SECTIONS` only, such as lookup,true: "+strings.Join(names(), ", "))
	asJSON := fs.Bool("json", false, "print JSON instead of a table")
	bin := fs.String("bin", "bin", "the `FOLDER` of jjm's programs")
	dir := fs.String("dir", "", "write below this `FOLDER`, on a local disk (default: the temporary one)")
	fs.IntVar(&size.live, "live", size.live, "the `NUMBER` of local jobs of the sections accept, lookup, live and kill")
	profile := fs.String("profile", "", "write CPU profiles of the children into this `FOLDER`")
	if err := fs.Parse(args); err != nil {
		return exitError
	}
	b := &bench{ctx: ctx, size: size, sites: map[siteArgs]*siteProc{}}
	began := time.Now()
	b.say = func(format string, args ...any) {
		fmt.Fprintf(log, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	wanted, err := choose(*only, fs.Args())
	if err == nil {
		err = b.prepare(*bin, *dir, *profile)
	}
	if err == nil {
		defer b.clean()
		err = b.measure(wanted)
	}
	table := report{Machine: thisMachine(), Rows: b.rows}
	if *asJSON {
		err = errors.Join(err, table.json(out))
	} else {
		err = errors.Join(err, table.text(out))
	}
	switch {
	case err != nil:
		fmt.Fprintln(log, "bench:", err)
		return exitError
	case table.missed():
		return exitMissed
	}
	return exitOK
}

func names() []string {
	var all []string
	for _, s := range sections() {
		all = append(all, s.name)
	}
	return all
}

// choose returns the sections to measure.
func choose(only string, rest []string) ([]section, error) {
	if len(rest) > 0 {
		return nil, fmt.Errorf("unexpected argument %q: sections are named by -run", rest[0])
	}
	if only == "" {
		return sections(), nil
	}
	var chosen []section
	for _, name := range strings.Split(only, ",") {
		i := slices.IndexFunc(sections(), func(s section) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-run %q: there are %v", name, names())
		}
		chosen = append(chosen, sections()[i])
	}
	return chosen, nil
}

// prepare finds the programs and makes the folders.
func (b *bench) prepare(bin, dir, profile string) (err error) {
	if b.bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	for _, name := range []string{"jjm", "jjm-daemon", "jjm-wrapper", "jjm-gatekeeper"} {
		if _, err := os.Stat(filepath.Join(b.bin, name)); err != nil {
			return fmt.Errorf("%w: run make build first", err)
		}
	}
	if profile != "" {
		if profile, err = filepath.Abs(profile); err != nil {
			return err
		}
		if err := errors.Join(os.MkdirAll(profile, 0o755), os.Setenv(profileEnv, profile)); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp(dir, "jjm-bench-"); err != nil {
		return err
	}
	// At a real site the work areas are on a shared file server. Here they are in memory, because the speed of this
	// machine's disk should not be measured.
	if b.shared, err = os.MkdirTemp("/dev/shm", "jjm-bench-"); err != nil {
		b.shared, err = b.dir+"/shared", os.Mkdir(b.dir+"/shared", 0o755)
	}
	return err
}

func (b *bench) clean() {
	for _, s := range b.sites {
		s.close()
	}
	for _, dir := range append(b.made, b.shared, b.dir) {
		if slices.ContainsFunc(b.keep, func(kept string) bool { return strings.HasPrefix(kept, dir+"/") }) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			b.say("%v", err)
		}
	}
}

// measure runs the sections. If a section fails, the following sections still run.
func (b *bench) measure(wanted []section) error {
	var errs []error
	for i, s := range wanted {
		b.say("%s", s.name)
		if err := s.do(b); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		b.leaveBeds()
		if b.ctx.Err() != nil {
			break
		}
		// The section live starts with the site of the section lookup.
		if i+1 == len(wanted) || wanted[i+1].name != "live" {
			b.closeSites()
		}
	}
	return errors.Join(errs...)
}

// folder creates an empty folder.
func (b *bench) folder(name string) (string, error) {
	return os.MkdirTemp(b.dir, name+"-")
}
