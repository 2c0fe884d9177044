package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
)

func TestReadGLF_DistinguishesNoneFromEmpty(t *testing.T) {
	a := newArea(t)
	if text, ok, err := a.ReadGLF(first); text != "" || ok || err != nil {
		t.Errorf("none: %q %t %v", text, ok, err)
	}
	put(t, a, AttemptDir(first)+"/"+GLFName, "")
	if text, ok, err := a.ReadGLF(first); text != "" || !ok || err != nil {
		t.Errorf("empty: %q %t %v", text, ok, err)
	}
	put(t, a, AttemptDir(first)+"/"+GLFName, "one\ntwo")
	if text, ok, err := a.ReadGLF(first); text != "one\ntwo" || !ok || err != nil {
		t.Errorf("short: %q %t %v", text, ok, err)
	}
}

func TestReadGLF_KeepsHeadAndTailOfALongFile(t *testing.T) {
	a := newArea(t)
	var b strings.Builder
	b.WriteString("the start\n")
	for i := 0; b.Len() < 5<<20; i++ {
		fmt.Fprintf(&b, "line %d of many\n", i)
	}
	b.WriteString("the end\n")
	put(t, a, AttemptDir(first)+"/"+GLFName, b.String())
	text, ok, err := a.ReadGLF(first)
	if err != nil || !ok || len(text) > maxGLF || len(text) < maxGLF-100 {
		t.Fatalf("length %d %t %v", len(text), ok, err)
	}
	if !strings.HasPrefix(text, "the start\nline ") || !strings.HasSuffix(text, "\nthe end\n") {
		t.Errorf("%.60q ... %q", text, text[len(text)-40:])
	}
}

func TestHeadTail_OfEveryShapeStaysWithinTheLimit(t *testing.T) {
	const limit = 64
	for name, text := range map[string]string{
		"no newline":         strings.Repeat("x", 1000),
		"one at the end":     strings.Repeat("x", 1000) + "\n",
		"one at the start":   "\n" + strings.Repeat("x", 1000),
		"only newlines":      strings.Repeat("\n", 1000),
		"exactly":            strings.Repeat("x", limit),
		"one more":           strings.Repeat("x", limit+1),
		"a long first line":  strings.Repeat("x", 40) + "\nb\n" + strings.Repeat("c\n", 100),
		"NULs":               strings.Repeat("\x00", 500),
		"a short first line": "s\n" + strings.Repeat("yy\n", 100),
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := HeadTail(f, limit)
		f.Close()
		if err != nil || len(got) > limit || len(text) <= limit && got != text || len(got) == 0 {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

func TestHeartbeatAge(t *testing.T) {
	a := newArea(t)
	if _, ok, err := a.HeartbeatAge(first, time.Now()); ok || err != nil {
		t.Errorf("none: %t %v", ok, err)
	}
	put(t, a, AttemptDir(first)+"/"+HeartbeatName, "x")
	beat := time.Date(2008, 3, 13, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(a.Root(), AttemptDir(first), HeartbeatName), beat, beat); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[time.Time]time.Duration{beat.Add(90 * time.Second): 90 * time.Second,
		beat.Add(-time.Hour): 0} {
		if age, ok, err := a.HeartbeatAge(first, now); age != want || !ok || err != nil {
			t.Errorf("at %v: %v %t %v, want %v", now, age, ok, err, want)
		}
	}
}

func TestOpenJobFile_MissingIsGone(t *testing.T) {
	a := newArea(t)
	_, err := a.OpenJobFile(first, Stdout)
	mustNot(t, "missing", err, jjm.Gone)
	if err == nil || !strings.Contains(err.Error(), "attempt.0/stdout") {
		t.Errorf("the error does not name the file: %v", err)
	}
}
