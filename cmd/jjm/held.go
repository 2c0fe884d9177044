package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// holdReason returns the code and the text of a hold for a line about the hold, beginning with ": ". It returns "" if
// both are empty.
func holdReason(code, text string) string {
	switch {
	case code == "" && text == "":
		return ""
	case code == "" || code == text:
		return ": " + text
	case text == "":
		return ": " + code
	}
	return ": " + code + ": " + text
}

// heldText returns who holds a local job, why, since when, and what jjm does about the hold. It returns "" if nobody
// holds the local job and nobody has requested a hold.
func heldText(l jjm.LocalJob) string {
	h := l.Holding
	if h.Keeps() && l.State.InBatch() {
		return toBeHeld(l)
	}
	if !h.Now() || l.State != jjm.Held && l.Phase != jjm.BatchHeld {
		return ""
	}
	s := h.By + holdReason(h.Code, h.Text) + "; since " + plain.Clock(h.Since)
	if h.Age > 0 {
		s += ", seen for " + jjm.HowLong(h.Age.D())
	}
	switch {
	case h.Action == jjm.HoldRelease:
		s += "; being released"
	case h.GivenUp():
		s += "; the attempt is being given up"
	}
	if h.Releases > 0 {
		s += fmt.Sprintf("; released by rules so far: %d", h.Releases)
	}
	if h.Trouble != "" {
		s += "; not released: " + h.Trouble
	}
	return s
}

// heldRows returns a row for each kind of hold on the local jobs of a grid job.
func heldRows(holds []wire.Hold) (rows [][2]string) {
	for i, h := range holds {
		rows = append(rows, [2]string{[]string{"held by", ""}[min(i, 1)],
			fmt.Sprintf("%s%s; local jobs: %d, such as %s", h.By, holdReason(h.Code, h.Text), h.Jobs, h.First)})
	}
	return rows
}

// toBeHeld returns the text about a requested hold on a local job that a batch system still has: who requested it, and
// when it takes effect.
func toBeHeld(l jjm.LocalJob) string {
	text := jjm.HeldOperator + ": " + l.Holding.Why
	if l.State == jjm.Running || l.State == jjm.Completing {
		return text + "; it runs, and a next attempt would wait"
	}
	return text + "; it is being taken back from the batch system"
}
