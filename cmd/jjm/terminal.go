package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// defaultWidth is the assumed width of a terminal whose width is unknown.
const defaultWidth = 80

// terminal returns the size of f. ok is false if f is not a terminal or cannot move its cursor (TERM is dumb). A
// terminal that reports no size counts as 80 by 24.
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
