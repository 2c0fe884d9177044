package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// MostHosts is the greatest number of hosts in a report.
	MostHosts = 20
	// leastEnded is the least number of ended attempts, and leastFailed the least number of failed attempts, with which a
	// host is compared to the other hosts. From oddRatio on, a host is marked.
	leastEnded  = 3
	leastFailed = 2
	oddRatio    = 1.5
)

// Hosts counts the attempts of a grid job by host. The zero value is ready to use.
type Hosts struct {
	by  map[string]*hostSums
	all hostSums
}

// hostSums are sums over the attempts on a host. Times are in milliseconds, because a time.Duration holds only 292
// years. known counts the attempts whose processor time is in cpu.
type hostSums struct {
	running, ended, failed, known int
	wall, cpu                     int64
}

// AddLocal counts the current or last attempt of a local job.
func (h *Hosts) AddLocal(l *jjm.LocalJob, now jjm.Time) {
	a := lastAttempt(l, now)
	h.add(&a)
}

// AddAttempts counts all attempts of a local job.
func (h *Hosts) AddAttempts(l *jjm.LocalJob, attempts []wire.Attempt, now jjm.Time) {
	for i := range attempts {
		a := attemptOfHistory(l, attempts, i, now)
		h.add(&a)
	}
}

// add counts an attempt, if it has started and was not killed.
func (h *Hosts) add(a *attempt) {
	if a.from == 0 || a.outcome == attemptKilled {
		return
	}
	s := h.by[a.host]
	if s == nil {
		if h.by == nil {
			h.by = map[string]*hostSums{}
		}
		s = &hostSums{}
		h.by[a.host] = s
	}
	s.add(a)
	h.all.add(a)
}

func (s *hostSums) add(a *attempt) {
	if a.outcome == attemptRuns {
		s.running++
		return
	}
	s.ended++
	s.wall += a.wall().Milliseconds()
	if a.outcome == attemptFailed {
		s.failed++
	}
	if a.cpu > 0 {
		s.known++
		s.cpu += a.cpu
	}
}

// Figures returns the figures of at most MostHosts hosts, and how many hosts are left out. A host whose mean elapsed
// time or share of failures is largest, relative to all other hosts, is first. Hosts with fewer than leastEnded ended
// attempts are not compared; they are last.
func (h *Hosts) Figures() (all []wire.HostFigures, leftOut int) {
	type ranked struct {
		wire.HostFigures
		ratio float64
	}
	var rows []ranked
	for name, s := range h.by {
		r := ranked{HostFigures: wire.HostFigures{Host: cmp.Or(name, "unknown"), Running: s.running, Ended: s.ended,
			Failed: s.failed, MeanWallMS: mean(s.wall, s.ended), MeanCPUMS: mean(s.cpu, s.known)}}
		r.ratio, r.Odd = s.compare(h.all)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Ended, a.Ended),
			cmp.Compare(b.Running, a.Running), cmp.Compare(a.Host, b.Host))
	})
	for _, r := range rows[:min(len(rows), MostHosts)] {
		all = append(all, r.HostFigures)
	}
	return all, len(rows) - len(all)
}

// mean returns the mean of n values, 0 for no values.
func mean(sum int64, n int) int64 { return sum / int64(max(n, 1)) }

// compare compares the sums of a host with the sums over all hosts. ratio is the larger one of two ratios to all other
// hosts: of the mean elapsed time, and of the share of failures. If the other hosts have no failures, one failure is
// assumed. The text says which of the ratios are at least oddRatio.
func (s *hostSums) compare(all hostSums) (ratio float64, odd string) {
	others := all.ended - s.ended
	if s.ended < leastEnded || others == 0 {
		return 0, ""
	}
	var texts []string
	if wall := float64(all.wall-s.wall) / float64(others); wall > 0 {
		if ratio = float64(s.wall) / float64(s.ended) / wall; ratio >= oddRatio {
			texts = append(texts, fmt.Sprintf("mean wall %.1f times the mean of the other hosts", ratio))
		}
	}
	if s.failed >= leastFailed {
		failed := all.failed - s.failed
		rate := float64(s.failed) / float64(s.ended) / (float64(max(failed, 1)) / float64(others))
		if ratio = max(ratio, rate); failed == 0 {
			texts = append(texts, "the other hosts have no failures")
		} else if rate >= oddRatio {
			texts = append(texts, fmt.Sprintf("share of failures %.1f times the share of the other hosts", rate))
		}
	}
	return ratio, strings.Join(texts, "; ")
}

// HostRows returns a table of figures of hosts, with its heading.
func HostRows(all []wire.HostFigures) [][]string {
	rows := [][]string{{"HOST", "RUNNING", "ENDED", "FAILED", "SHARE", "MEAN WALL", "MEAN CPU", "COMPARED"}}
	for _, h := range all {
		share, wall, cpu := "-", "-", "-"
		if h.Ended > 0 {
			share = plain.Share(float64(h.Failed) / float64(h.Ended))
			wall = plain.Milliseconds(h.MeanWallMS)
		}
		if h.MeanCPUMS > 0 {
			cpu = plain.Milliseconds(h.MeanCPUMS)
		}
		rows = append(rows, []string{h.Host, fmt.Sprint(h.Running), fmt.Sprint(h.Ended), fmt.Sprint(h.Failed), share, wall,
			cpu, cmp.Or(h.Odd, "-")})
	}
	return rows
}
