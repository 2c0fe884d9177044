package plain_test

import (
	"testing"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"
)

func TestPrintable_EscapesWhatControlsATerminal(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text", "plain text"}, {"größe 日本", "größe 日本"}, {"", ""},
		{"\x1b[31mred", `\x1b[31mred`}, {"a\nb\tc\rd", `a\nb\tc\rd`}, {"\x00\x7f", `\x00\x7f`},
		{"\u009b31m", `\u009b31m`}, {"\u202eevil", `\u202eevil`}, {"\xff\xfe", `\xff\xfe`}, {"a'b\"c\\d", "a'b\"c\\d"},
		{"\xffb\n", `\xffb\n`}, {"�", "�"},
	} {
		if got := plain.Printable(c.in); got != c.want {
			t.Errorf("Printable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := plain.PrintableLines("a\n\tb\r\x1b"); got != "a\n\tb\\r\\x1b" {
		t.Errorf("PrintableLines: %q", got)
	}
}

// StampAt formats a time of today without its date, and a time of another day with its date but without seconds.
func TestStamp_OfTodayIsTheTimeAlone(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"02:07:27": time.Date(2026, 3, 1, 2, 7, 27, 0, time.UTC), "2026-02-28 23:59": time.Date(2026, 2, 28, 23, 59, 1, 0,
			time.UTC),
		"-": {},
	} {
		if got := plain.StampAt(jjm.At(at), now); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
}

// A table names only one time zone. Therefore a time of last summer is also shown with the offset from UTC that is in
// force now, in winter.
func TestInZone_SummerTimeIsShownInTheZoneOfNow(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, berlin)
	summer := jjm.At(time.Date(2025, 7, 1, 12, 0, 0, 0, time.UTC))
	if got := plain.StampAt(summer, now); got != "2025-07-01 13:00" {
		t.Errorf("%q, want the hour of CET", got)
	}
}

func TestPercent_OnlyAllIsAHundred(t *testing.T) {
	for fraction, want := range map[float64]string{0: "0", 1: "100", 1.2: "100", 3. / 43: "7.0", 0.5: "50.0",
		0.9999: "99.9", 0.00001: "0.1"} {
		if got := plain.Percent(fraction); got != want {
			t.Errorf("%v: %s, want %s", fraction, got, want)
		}
	}
}

func TestBytes_NamesTheUnit(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 99_999: "99999 bytes", 100_000: "0.1 MB",
		1_260_000: "1.3 MB", 7_000_000_000: "7000.0 MB"} {
		if got := plain.Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
