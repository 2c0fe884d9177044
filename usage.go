package jjm

import "cmp"

// Usage is what a grid job used: what gatekeepers and accounting ask for. Of
// several local jobs it is that of the last attempt of each: times are summed,
// Started is the first and Ended the last, and MaxRSSKB is the largest.
type Usage struct {
	// Batch is the batch system's id of the first local job; Host is where that
	// ran.
	Batch string `json:"batch,omitempty"`
	Host  string `json:"host,omitempty"`
	// WallMS is the time that they ran, UserMS and SysMS what they computed, in
	// milliseconds.
	WallMS int64 `json:"wall_ms,omitempty"`
	UserMS int64 `json:"user_ms,omitempty"`
	SysMS  int64 `json:"sys_ms,omitempty"`
	// MaxRSSKB is the largest resident size of any attempt, in KiB.
	MaxRSSKB int64 `json:"max_rss_kb,omitempty"`
	// Signal ended the last attempt of the only local job; 0 if none did, or if
	// there are several.
	Signal int `json:"signal,omitempty"`
	// Processors is how many cores each local job was given.
	Processors int  `json:"processors,omitempty"`
	Started    Time `json:"started,omitempty"`
	Ended      Time `json:"ended,omitempty"`
}

// SignalOf gives the signal that ended an attempt, 0 if none did: the wrapper has
// seen the application's end, the batch system at best its own.
func SignalOf(ev *Evidence) int {
	switch {
	case ev == nil:
		return 0
	case ev.Result != nil:
		return ev.Result.Signal
	}
	return ev.Batch.Signal
}

// Add counts one attempt that ended, which ran from one time to another as far as
// jjm knows. The wrapper measured user and system time apart; where it is silent,
// the batch system's sum counts as user time. The batch system's figures outrank
// the wrapper's, which an owner could forge; of what it does not say the
// wrapper's word is taken, but for times outside those in which the attempt ran.
func (u *Usage) Add(ev *Evidence, from, to Time) {
	if ev == nil {
		return
	}
	b := ev.Batch
	started, ended := cmp.Or(b.Started, from), cmp.Or(b.Ended, to)
	var wall, user, sys, rss int64
	if r := ev.Result; r != nil {
		wall, user, sys, rss = r.WallMS, r.UserMS, r.SysMS, r.RSSKB
		if started != 0 {
			wall = min(wall, int64(ended-started))
		}
	}
	if b.Started != 0 && b.Ended >= b.Started {
		wall = int64(b.Ended - b.Started)
	}
	if cpu := b.CPUms; cpu > 0 {
		user, sys = splitCPU(cpu, user, sys)
	}
	if b.RSSKB > 0 {
		rss = b.RSSKB
	}
	u.WallMS += max(wall, 0)
	u.UserMS += max(user, 0)
	u.SysMS += max(sys, 0)
	u.MaxRSSKB = max(u.MaxRSSKB, rss)
	if started != 0 && (u.Started == 0 || started < u.Started) {
		u.Started = started
	}
	u.Ended = max(u.Ended, ended)
}

// splitCPU parts a sum in the proportion of what was measured apart.
func splitCPU(sum, user, sys int64) (int64, int64) {
	if user < 0 || sys <= 0 || user+sys <= 0 {
		return sum, 0
	}
	s := int64(float64(sum) * (float64(sys) / (float64(user) + float64(sys))))
	return sum - s, s
}
