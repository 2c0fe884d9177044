package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

func TestTerminalWriter_IsIndependentOfHowBytesArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte {
			return []byte(s)
		})).Draw(t, "text")
		var out bytes.Buffer
		w := &terminalWriter{w: &out}
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		w.end()
		if got, want := out.String(), plain.PrintableLines(string(text)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if !utf8.Valid(out.Bytes()) || strings.ContainsAny(out.String(), "\x00\x1b\r\x7f") {
			t.Fatalf("%q reaches the terminal", out.String())
		}
	})
}

func TestLookupLine_IsOneLineOfFixedFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := wire.Lookup{ID: jjm.GridID(rapid.Int64Range(1, 1<<40).Draw(t, "id")), Status: rapid.String().Draw(t, "status"),
			GRAM: jjm.GRAMActive, Master: rapid.String().Draw(t, "master"), Tar: rapid.String().Draw(t, "tar"),
			Message: rapid.String().Draw(t, "message"), AsOf: jjm.Time(rapid.Int64Range(0, 1<<42).Draw(t, "asof"))}
		if rapid.Bool().Draw(t, "wrong") {
			l.Error = &wire.Error{Kind: jjm.Gone, Text: rapid.String().Draw(t, "text")}
		}
		line := lookupLine(l)
		head, _, ok := strings.Cut(line, " message=")
		if !ok || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%q", line)
		}
		var names []string
		words := strings.Split(head, " ")
		for _, w := range words[min(3, len(words)):] {
			name, value, ok := strings.Cut(w, "=")
			if !ok || value == "" {
				t.Fatalf("field %q in %q", w, line)
			}
			names = append(names, name)
		}
		want := "gram code exit master expected total new submitting submitted running completing completed failed killed held stale asof error tar"
		if got := strings.Join(names, " "); got != want {
			t.Fatalf("fields %q", got)
		}
	})
}

func TestTail_KnowsHowATarEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := append(rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 50).Draw(t, "text"),
			make([]byte, rapid.IntRange(0, 1100).Draw(t, "zeros"))...)
		end := &tail{}
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			_, _ = end.Write(rest[:n])
			rest = rest[n:]
		}
		want := len(text) >= tarEnd && len(bytes.Trim(text[len(text)-tarEnd:], "\x00")) == 0
		if end.zeros() != want {
			t.Fatalf("%d bytes: %v, want %v", len(text), end.zeros(), want)
		}
	})
}

func TestOutputPath_UsesTheSuggestedNameAsANameOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	o := &output{ID: "17"}
	for _, c := range []struct{ suggested, want string }{
		{"mc.tar", "mc.tar"}, {"../../etc/passwd", "passwd"}, {"/abs/x.tar", "x.tar"}, {"..", "jjm-17.tar"},
		{"", "jjm-17.tar"},
		{".bashrc", "jjm-17.tar"}, {"a\x00b", "jjm-17.tar"}, {"/", "jjm-17.tar"},
	} {
		if got, err := o.path(c.suggested); err != nil || got != c.want {
			t.Errorf("path(%q) = %q, %v; want %q", c.suggested, got, err, c.want)
		}
	}
}
