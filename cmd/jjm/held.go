package main

import (
	"fmt"
	"time"

	"jjm"
	"jjm/wire"
)

// holdReason is why something is held, in the words of who holds it.
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

// heldText says who holds a local job, why, for how long, and what jjm does about
// it; nothing of one that is not held.
func heldText(l jjm.LocalJob) string {
	h := l.Holding
	if !h.Now() || l.State != jjm.Held && l.Phase != jjm.BatchHeld {
		return ""
	}
	s := h.By + holdReason(h.Code, h.Text) + "; since " + clock(h.Since)
	if h.Age > 0 {
		s += ", seen for " + h.Age.D().Round(time.Second).String()
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

// heldRows shows what of a grid job is held.
func heldRows(holds []wire.Hold) (rows [][2]string) {
	for i, h := range holds {
		rows = append(rows, [2]string{[]string{"held by", ""}[min(i, 1)],
			fmt.Sprintf("%s%s; local jobs: %d, such as %s", h.By, holdReason(h.Code, h.Text), h.Jobs, h.First)})
	}
	return rows
}
