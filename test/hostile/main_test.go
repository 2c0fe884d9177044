// Package hostile_test plays accounts that try to harm the other accounts of a site. Each attack is carried out on a
// real daemon by accounts that the test creates. While the test checks that the attack is in force, another account
// works as usual.
//
// "make test-hostile" runs the whole campaign: attacks of full size, and twenty jobs of the other account instead of
// five. For each attack, the table at the end shows how long a job of the other account took before and during the
// attack, and the most memory that the daemon used.
package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
)

var bin programs.Programs

func TestMain(m *testing.M) {
	if play(os.Args) {
		return
	}
	code := bin.Main(m)
	table.print()
	os.Exit(code)
}

// whole reports whether this run is the whole campaign.
func whole() bool { return needs.InCampaign(needs.Hostile) }

// full returns the first size in the whole campaign, and otherwise the second, smaller size.
func full(size, short int) int {
	if whole() {
		return size
	}
	return short
}

// attacks limits how many sites run simultaneously, because the machine may be small.
var attacks = make(chan struct{}, 3)

// row is the result of one attack, one line of the table.
type row struct {
	attack, mode  string
	alone, during time.Duration // medians of the time of a job of the other account
	memory        int64         // the most that the daemon used, in bytes
	result        string
}

type rows struct {
	mu  sync.Mutex
	all []row
}

var table rows

func (r *rows) add(one row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// print writes the table where make test collects tables, or else to standard output.
func (r *rows) print() {
	if len(r.all) == 0 {
		return
	}
	slices.SortFunc(r.all, func(a, b row) int { return strings.Compare(a.attack+a.mode, b.attack+b.mode) })
	var b strings.Builder
	fmt.Fprintf(&b, "%-64s %-8s %9s %9s %7s  %s\n", "attack", "run_as", "alone", "during", "memory", "result")
	for _, one := range r.all {
		fmt.Fprintf(&b, "%-64s %-8s %9s %9s %4d MB  %s\n", one.attack, one.mode, one.alone.Round(time.Millisecond),
			one.during.Round(time.Millisecond), one.memory>>20, one.result)
	}
	if dir := os.Getenv("JJM_TABLES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "hostile"), []byte(b.String()), 0o644); err == nil {
			return
		}
	}
	fmt.Print(b.String())
}
