package glf

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2008, 3, 13, 12, 0, 0, 0, time.UTC)

func at(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }

func TestParse_ReadsEveryFormOfALine(t *testing.T) {
	tests := []struct {
		name, text string
		want       Record
	}{
		{"as written", "2008-03-13T12:00:00Z SUCCEEDED a.root b.root\n", Record{noon, Succeeded, "a.root b.root"}},
		{"without a newline", "2008-03-13T12:00:00Z SUCCEEDED a", Record{noon, Succeeded, "a"}},
		{"CRLF", "2008-03-13T12:00:00Z FAILED no disk\r\n", Record{noon, Failed, "no disk"}},
		{"blank for T, no Z", "2008-03-13 12:00:00 RETRY 3\n", Record{noon, Retry, "3"}},
		{"tabs and many blanks", "2008-03-13T12:00:00Z \t HOLD \t 3  from scratch \t\n",
			Record{noon, Hold, "3  from scratch"}},
		{"blanks in front", "  2008-03-13T12:00:00Z HOLD 1\n", Record{noon, Hold, "1"}},
		{"no data", "2008-03-13T12:00:00Z HOLD\n", Record{noon, Hold, ""}},
		{"NUL in data", "2008-03-13T12:00:00Z FAILED a\x00b\n", Record{noon, Failed, "a b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Parse([]byte(tt.text))
			if diff := cmp.Diff([]Record{tt.want}, l.Terminals); diff != "" || l.Bad != 0 || l.Lines != 1 {
				t.Errorf("bad %d, lines %d, terminals (-want +got):\n%s", l.Bad, l.Lines, diff)
			}
		})
	}
}

func TestParse_CountsUnknownKeywords(t *testing.T) {
	for _, line := range []string{
		"hello", "2008-03-13T12:00:00Z", "2008-03-13T12:00:00Z succeeded a", "2008-03-13T12:00:00Z DONE a",
		"2008-03-13T12:00:00ZSUCCEEDED a", "2008-03-13T25:00:00Z SUCCEEDED a", "2008-02-31T12:00:00Z SUCCEEDED a",
		"2008-03-13T12:00:00+01:00 SUCCEEDED a", "13.3.2008 12:00 SUCCEEDED a", "\x00\x00\x00",
		"2008-03-13T12:00:00Z SUCC\x00EEDED a", "\xff\xfe",
	} {
		l := Parse([]byte(line + "\n"))
		if l.Bad != 1 || len(l.BadLines) != 1 || l.Lines != 1 || len(l.Terminals) != 0 {
			t.Errorf("%q: got %+v", line, l)
		}
	}
	if l := Parse([]byte("\n \n\r\n\t\n")); l.Lines != 0 || l.Bad != 0 {
		t.Errorf("blank lines: got %+v", l)
	}
}

func TestParse_KeepsFewOfManyBadLines(t *testing.T) {
	l := Parse([]byte(strings.Repeat(strings.Repeat("x", 1000)+"\n", 5000)))
	if l.Bad != 5000 || len(l.BadLines) != maxBad || len(l.BadLines[0]) != maxBadLine {
		t.Errorf("bad %d, kept %d of length %d", l.Bad, len(l.BadLines), len(l.BadLines[0]))
	}
}

func TestParse_CutsALineOfManyMegabytes(t *testing.T) {
	text := FormatLine(noon, Info, StartData(0, "wn1", 7)) +
		"2008-03-13T12:00:01Z FAILED " + strings.Repeat("y", 3<<20) + "\n" + FormatLine(at(9), Info, EndData(1))
	l := Parse([]byte(text))
	if !l.Start || !l.End || l.AppExit != 1 || l.Lines != 3 || len(l.Terminals) != 1 ||
		len(l.Terminals[0].Data) > MaxLine {
		t.Errorf("start %t end %t exit %d lines %d terminals %d", l.Start, l.End, l.AppExit, l.Lines, len(l.Terminals))
	}
}

func TestParse_WrapperRecordsAreFirstStartAndLastEnd(t *testing.T) {
	text := FormatLine(at(0), Info, StartData(2, "wn1", 7)) +
		FormatLine(at(1), Info, "job wrapper end exit=0") + // written by the application
		FormatLine(at(2), Info, "job wrapper start attempt=0 host=x") +
		FormatLine(at(3), Info, "half way") +
		FormatLine(at(4), Info, EndData(139))
	l := Parse([]byte(text))
	if !l.StartTime.Equal(at(0)) || !l.EndTime.Equal(at(4)) || l.AppExit != 139 || l.RunSeconds() != 4 {
		t.Errorf("start %v end %v exit %d run %d", l.StartTime, l.EndTime, l.AppExit, l.RunSeconds())
	}
	if diff := cmp.Diff([]Record{{at(3), Info, "half way"}}, l.Infos); diff != "" {
		t.Errorf("infos (-want +got):\n%s", diff)
	}
}

func TestParse_AnEndWithoutAnExitCodeDoesNotCount(t *testing.T) {
	for _, data := range []string{"job wrapper end", "job wrapper end exit=", "job wrapper end exit=x",
		"job wrapper ended exit=0"} {
		if l := Parse([]byte(FormatLine(noon, Info, data))); l.End || len(l.Infos) != 1 {
			t.Errorf("%q: got %+v", data, l)
		}
	}
}

func TestParse_RelativeReturnFilesAreIgnored(t *testing.T) {
	l := Parse([]byte(FormatLine(noon, ReturnFile, "/tmp/a b") + FormatLine(noon, ReturnFile, "x") +
		FormatLine(noon, ReturnFile, "")))
	if diff := cmp.Diff([]string{"/tmp/a b"}, l.Returns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", ""}, l.Ignored); diff != "" {
		t.Error(diff)
	}
}

func TestRunSeconds_IsNeverNegative(t *testing.T) {
	start, end := FormatLine(at(100), Info, StartData(0, "h", 1)), FormatLine(at(40), Info, EndData(0))
	tests := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"start only", start, 0},
		{"clock went back", start + end, 0},
		{"no end: first to last", start + FormatLine(at(160), Info, "x"), 60},
		{"no end, clock went back", start + FormatLine(at(60), Info, "x"), 0},
	}
	for _, tt := range tests {
		if got := Parse([]byte(tt.text)).RunSeconds(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestFormatLine_IsOneLineThatParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keyword := rapid.SampledFrom([]string{Succeeded, Failed, Retry, Hold}).Draw(t, "keyword")
		data := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a\n\r\x00\t "]{0,40}`)).Draw(t, "data")
		when := noon.Add(time.Duration(rapid.IntRange(-1e9, 1e9).Draw(t, "s")) * time.Second)
		line := FormatLine(when, keyword, data)
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || len(line) > MaxLine ||
			strings.Contains(line, "\x00") {
			t.Fatalf("not one line: %q", line)
		}
		l := Parse([]byte(line))
		want := strings.Trim(strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace(data), blanks)
		if len(l.Terminals) != 1 || !l.Terminals[0].Time.Equal(when) || l.Terminals[0].Data != want {
			t.Fatalf("%q: got %+v", line, l)
		}
	})
}

func TestFormatLine_CutsLongDataBetweenCharacters(t *testing.T) {
	for pad := range 4 {
		line := FormatLine(noon, Failed, strings.Repeat("x", pad)+strings.Repeat("é", MaxLine))
		if len(line) > MaxLine || len(line) < MaxLine-2 || !utf8.ValidString(line) || !strings.HasSuffix(line, "\n") {
			t.Errorf("pad %d: length %d, valid %t", pad, len(line), utf8.ValidString(line))
		}
	}
}

func TestFormatLine_UnknownKeywordBecomesInfo(t *testing.T) {
	if got, want := FormatLine(noon, "DONE", "well"), "2008-03-13T12:00:00Z INFO DONE well\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStartAndEndData_AreThoseOfTheWrapper(t *testing.T) {
	if got, want := StartData(3, "wn1", 42), "job wrapper start attempt=3 host=wn1 pid=42"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := EndData(143), "job wrapper end exit=143"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSplitArgs(t *testing.T) {
	tests := []struct {
		data string
		want []string
	}{
		{"", nil},
		{" \t ", nil},
		{"3 from scratch", []string{"3", "from", "scratch"}},
		{`a  "b c" d`, []string{"a", "b c", "d"}},
		{`"" x`, []string{"", "x"}},
		{`a"b c"d`, []string{"ab cd"}},
		{`"say \"hi\"" C:\dir`, []string{`say "hi"`, `C:\dir`}},
		{`"a\nb"`, []string{`a\nb`}},
		{`"open end`, []string{"open end"}},
		{`"ends in \`, []string{`ends in \`}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, SplitArgs(tt.data)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.data, diff)
		}
	}
}

func TestJoinArgs_SplitsBack(t *testing.T) {
	word := rapid.OneOf(rapid.StringMatching(`[a"\\ \t]{0,8}`), rapid.StringMatching(`[^\n\r\x00]{0,20}`))
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(word, 0, 6).Draw(t, "args")
		got := SplitArgs(JoinArgs(args))
		if len(got) != len(args) {
			t.Fatalf("%q: joined %q, got %q", args, JoinArgs(args), got)
		}
		for i := range args {
			if got[i] != args[i] {
				t.Fatalf("%q: joined %q, got %q", args, JoinArgs(args), got)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(
		"2008-03-13T13:00:00Z INFO job wrapper start attempt=0 host=wn1\n2008-03-13T13:16:39Z SUCCEEDED a.root\r\n2008-03-13 13:16:40 INFO job wrapper end exit=0\n"))
	f.Add([]byte("2008-03-13T13:00:00Z\tRETURN_FILE\t/x\x00y\nnonsense\n\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := Parse(text)
		if l.RunSeconds() < 0 || l.Bad > l.Lines || len(l.BadLines) > l.Bad {
			t.Errorf("got %+v", l)
		}
		for _, r := range append(l.Terminals, l.Infos...) {
			if !Known(r.Keyword) || strings.ContainsAny(r.Data, "\n\r\x00") {
				t.Errorf("record %+v", r)
			}
			if again := Parse([]byte(FormatLine(r.Time, r.Keyword, r.Data))); again.Bad != 0 || again.Lines != 1 {
				t.Errorf("record %+v does not survive: %+v", r, again)
			}
		}
	})
}

func FuzzSplitArgs(f *testing.F) {
	f.Add(`a "b c" \"`)
	f.Fuzz(func(t *testing.T, data string) {
		words := SplitArgs(data)
		if got := SplitArgs(JoinArgs(words)); len(got) != len(words) {
			t.Errorf("%q: %q became %q", data, words, got)
		}
	})
}
