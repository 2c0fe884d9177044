package main

import "testing"

// A Globus client shows a message only if the message is one line of ASCII.
func TestASCIIText_KeepsTheMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`refused by slurm: bulk ji…g of "x": C:\a`: `refused by slurm: bulk ji...g of "x": C:\a`,
		"größe\nzwei": `gr\u00f6\u00dfe\nzwei`,
		"":            "",
	} {
		if got := asciiText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
