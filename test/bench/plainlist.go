package main

import (
	"fmt"
	"strings"
	"time"
)

// plainRow holds the facts about a job that plainListing stores.
type plainRow struct {
	state, host string
	seen        int
}

// plainListing returns the CPU time of reading a listing of n jobs as text, and of comparing each row with the previous
// row of the same job. Every program that watches so many jobs must do this work. The time is the mean of some rounds.
func plainListing(n int) time.Duration {
	const rounds = 10
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%d_%d|RUNNING|node%03d|2026-11-24T02:51:06|None|0:0\n", 4711+i/1000, i%1000, i%500)
	}
	known := make(map[string]plainRow, n)
	listing := text.String()
	before := processCPU()
	for round := range rounds {
		for line := range strings.Lines(listing) {
			fields := strings.Split(line, "|")
			row := known[fields[0]]
			if row.state != fields[1] || row.host != fields[2] {
				row.state, row.host = fields[1], fields[2]
			}
			row.seen = round
			known[fields[0]] = row
		}
	}
	return (processCPU() - before) / rounds
}
