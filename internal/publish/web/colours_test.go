package web

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance returns the relative luminance of a colour such as #1b1b1f, as in WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("colour %q: %v", colour, err)
	}
	linear := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(rgb>>16) + 0.7152*linear(rgb>>8) + 0.0722*linear(rgb)
}

// Text has a contrast of 4.5:1 or more with the ground, and drawings 3:1 or more, in both themes. Nothing moves, so the
// page needs no rule for readers who prefer reduced motion.
func TestCSS_ContrastAndMotion(t *testing.T) {
	text, err := assets.ReadFile("assets/page.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(string(text), -1)
	if len(themes) != 2 {
		t.Fatalf("%d themes, want light and dark", len(themes))
	}
	least := map[string]float64{"text": 4.5, "faint": 4.5, "link": 4.5, "good": 4.5, "bad": 4.5, "queued": 3, "running": 3,
		"collecting": 3, "start": 3, "outage": 3}
	for i, theme := range themes {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): (#\w+);`).FindAllStringSubmatch(theme[1], -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for name, want := range least {
			a, b := colours[name], colours["ground"]
			if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); got < want {
				t.Errorf("theme %d: --%s has a contrast of %.2f, want %.1f", i, name, got, want)
			}
		}
	}
	if m := regexp.MustCompile(`transition|animation|scroll-behavior`).Find(text); m != nil {
		t.Errorf("the style sheet has %q: obey prefers-reduced-motion", m)
	}
}
