package local

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// The log of a bulk records the events of its jobs, one line each. Every line ends with " ;". A line that a full disk
// or a loss of power cut short is therefore not mistaken for a complete line.
//
//	boot ID ;                        the lines below were written in this boot
//	run POS RESTARTS MS BOOTMS ;     the job is about to be started
//	pid POS PID BOOTMS ;             its process is PID
//	back POS ;                       it could not be started, and waits again
//	hold POS ;  free POS ;           held, released
//	cancel POS ;  timeout POS ;      it is about to be ended for this reason
//	end POS STATE EXIT SIGNAL MS CPUMS RSSKB "REASON" ;
//
// MS is the time in milliseconds since 1970, BOOTMS since the boot of the machine.

func lineBoot(id string) []byte { return fmt.Appendf(nil, "boot %s ;\n", id) }

func lineRun(pos, restarts int32, at jjm.Time, bootMS int64) []byte {
	return fmt.Appendf(nil, "run %d %d %d %d ;\n", pos, restarts, int64(at), bootMS)
}

func linePID(pos int32, pid int, bootMS int64) []byte {
	return fmt.Appendf(nil, "pid %d %d %d ;\n", pos, pid, bootMS)
}

func lineOf(verb string, pos int32) []byte { return fmt.Appendf(nil, "%s %d ;\n", verb, pos) }

func lineEnd(pos int32, j *job) []byte {
	return fmt.Appendf(nil, "end %d %s %d %d %d %d %d %s ;\n", pos, j.state, j.exit, j.signal,
		int64(j.ended), j.cpuMS, j.rssKB, strconv.QuoteToASCII(j.reason))
}

// replay applies a log to a bulk that is in its state after submission. It returns the number of unreadable lines.
func (b *bulk) replay(log []byte) (bad int) {
	boot := ""
	for line := range bytes.Lines(log) {
		text, whole := strings.CutSuffix(strings.TrimSuffix(string(line), "\n"), " ;")
		verb, rest, _ := strings.Cut(text, " ")
		switch {
		case text == "" && !whole: // rest of a line that was cut short
		case !whole:
			bad++
		case verb == "boot":
			boot = rest
		default:
			if !b.applyLine(verb, rest, boot) {
				bad++
			}
		}
	}
	return bad
}

// applyLine applies one line; it returns false if the line is invalid.
func (b *bulk) applyLine(verb, rest, boot string) bool {
	reason := ""
	if verb == "end" {
		i := strings.IndexByte(rest, '"')
		if i < 0 {
			return false
		}
		var err error
		if reason, err = strconv.Unquote(rest[i:]); err != nil {
			return false
		}
		rest = rest[:i]
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return false
	}
	n := make([]int64, len(words))
	for i, w := range words {
		if verb == "end" && i == 1 {
			continue // this word is the state
		}
		var err error
		if n[i], err = strconv.ParseInt(w, 10, 64); err != nil || n[i] < 0 {
			return false
		}
	}
	if n[0] >= int64(b.N) {
		return false
	}
	return b.apply(verb, int32(n[0]), n, words, boot, reason)
}

// apply changes the job at pos according to a line. It returns false if the line does not fit the state of the job. The
// log may contain a line twice, because a write may succeed although the disk reports an error.
func (b *bulk) apply(verb string, pos int32, n []int64, words []string, boot, reason string) bool {
	j := &b.jobs[pos]
	p := b.procs[pos]
	switch {
	case verb == "run" && len(n) == 4 && j.state == jjm.BatchQueued && n[1] < 1<<31:
		j.restarts, j.started = int32(n[1]), jjm.Time(n[2])
		b.set(pos, jjm.BatchRunning)
		b.procs[pos] = &proc{b: b, pos: pos, boot: boot, born: [2]int64{n[3], n[3]}}
	case verb == "run" && len(n) == 4 && p != nil && n[1] < 1<<31: // it was started again
		j.restarts, j.started = int32(n[1]), jjm.Time(n[2])
		*p = proc{b: b, pos: pos, boot: boot, born: [2]int64{n[3], n[3]}}
	case verb == "pid" && len(n) == 3 && n[1] > 1 && n[1] < 1<<31:
		if p != nil {
			p.pid, p.born[1] = int(n[1]), n[2]
		}
		return p != nil || j.state.Ended()
	case verb == "back" && len(n) == 1 && !j.state.Ended():
		j.started = 0
		delete(b.procs, pos)
		b.set(pos, jjm.BatchQueued)
	case verb == "hold" && len(n) == 1 && (j.state == jjm.BatchQueued || j.state == jjm.BatchHold):
		b.set(pos, jjm.BatchHold)
	case verb == "free" && len(n) == 1 && (j.state == jjm.BatchQueued || j.state == jjm.BatchHold):
		b.set(pos, jjm.BatchQueued)
	case verb == "cancel" && len(n) == 1:
		j.endAsked |= byCancel
	case verb == "timeout" && len(n) == 1:
		j.endAsked |= byWalltime
	case verb == "end" && len(n) == 7 && n[2] < 256 && n[3] < 256:
		var s jjm.BatchState
		if s.UnmarshalText([]byte(words[1])) != nil || !s.Ended() {
			return false
		}
		j.exit, j.signal, j.ended, j.cpuMS, j.rssKB, j.reason = uint8(n[2]), uint8(n[3]), jjm.Time(n[4]), n[5], n[6], reason
		delete(b.procs, pos)
		b.set(pos, s)
	default:
		return false
	}
	return true
}
