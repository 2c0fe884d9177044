package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// defaultWidth is the assumed width, in columns, of a terminal that reports no size.
const defaultWidth = 80

// terminal returns the columns and lines of the terminal f; 80 and 24 if it reports no size. ok is false if f is not a
// terminal, or if it cannot move its cursor (TERM is dumb).
func (c *cli) terminal(f *os.File) (width, height int, ok bool) {
	if f == nil || !isTerminal(f) || c.getenv("TERM") == "dumb" {
		return 0, 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return defaultWidth, 24, true
	}
	return int(size.Col), int(size.Row), true
}

// isTerminal reports whether f is a terminal (isatty(3)).
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
