package accounting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func entry(seq int64) Entry {
	return Entry{Seq: seq, Attempt: jjm.AttemptID{LocalID: jjm.LocalID{Grid: 17, N: 3}, Attempt: 1}, Owner: "alice",
		Cluster: "slurm", Queue: "long",
		Batch: "4711_3", Submitted: jjm.At(noon), Ended: jjm.At(noon.Add(time.Hour)),
		Origin: &jjm.Origin{Subject: `/O=Grid/CN="Alice"`, VO: "/dzero/Role=production", Job: "https://ce/1"}}
}

func TestLine_HasTheFormatOfBlahpd(t *testing.T) {
	want := `"timestamp=2026-03-01 12:00:00" "userDN=/O=Grid/CN='Alice'" "userFQAN=/dzero/Role=production" "ceID=ce:9619/ce-slurm-long" ` +
		`"jobID=https://ce/1" "lrmsID=4711_3" "localUser=alice" "originBy=account" "clientID=abcd.5.17.3.1"` + "\n"
	if got := Line(entry(5), "ce:9619/ce", "abcd"); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	bare := Entry{Seq: 1, Batch: "1\n\"x\"", Ended: jjm.At(noon)}
	if got := Line(bare, "ce", "s"); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"lrmsID=1 'x'"`) ||
		!strings.Contains(got, "timestamp=2026-03-01 12:00:00") {
		t.Errorf("%s", got)
	}
}

// A name that was not verified is kept in the line and marked; docs/GATEKEEPERS.md has the reason. A line without an
// origin must not look as if an administrator had verified it.
func TestLine_MarksWhoVerifiedTheName(t *testing.T) {
	for _, c := range []struct {
		origin *jjm.Origin
		want   string
	}{
		{&jjm.Origin{Subject: "/CN=Bob", VO: "/atlas"}, `"userDN=/CN=Bob" "userFQAN=/atlas" originBy=account`},
		{&jjm.Origin{Subject: "/CN=Bob", VO: "/atlas", Verified: true},
			`"userDN=/CN=Bob" "userFQAN=/atlas" originBy=administrator`},
		{&jjm.Origin{Subject: `/CN=Bob" "originBy=administrator`},
			`"userDN=/CN=Bob' 'originBy=administrator" "userFQAN=" originBy=account`},
		{nil, `"userDN=" "userFQAN=" originBy=account`},
	} {
		e := entry(1)
		e.Origin = c.origin
		line := Line(e, "ce", "s")
		name, by, ok := strings.Cut(c.want, " originBy=")
		if !ok || !strings.Contains(line, " "+name+" ") || !strings.Contains(line, ` "originBy=`+by+`" `) ||
			strings.Count(line, `"originBy=`) != 1 {
			t.Errorf("%+v: %swant %s", c.origin, line, c.want)
		}
	}
}

func TestLog_WritesEveryEntryOnceThoughTheDaemonIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "blah.log")
	text := func() string {
		b, err := os.ReadFile(path + "-20260301")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	open := func(done int64) *Log {
		l, err := Open(path, "ce", "abcd", done)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	absent := entry(3)
	absent.Batch = "" // this attempt was never in a batch system
	l := open(0)
	if err := l.Append(noon, []Entry{entry(1), entry(2), absent}); err != nil || l.Last() != 3 {
		t.Fatal(err, l.Last())
	}
	// First the daemon is killed before the store records that the entry was written. Then the daemon is killed in the
	// middle of writing a line.
	l = open(0)
	if err := l.Append(noon, []Entry{entry(1), entry(2), absent, entry(4)}); err != nil {
		t.Fatal(err)
	}
	whole := text()
	if strings.Count(whole, "\n") != 3 {
		t.Fatalf("%s", whole)
	}
	if err := os.WriteFile(path+"-20260301", []byte(whole[:len(whole)-20]), 0o640); err != nil {
		t.Fatal(err)
	}
	l = open(3)
	if err := l.Append(noon, []Entry{entry(4), entry(5)}); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []string{"abcd.1.", "abcd.2.", "abcd.4.17.3.1\"\n", "abcd.5."} {
		if strings.Count(text(), seq) != 1 {
			t.Errorf("%s: %s", seq, text())
		}
	}
	// Entries of another store in the same file must not be taken for ours.
	if other, err := Open(path, "ce", "efgh", 0); err != nil || other.Last() != 0 {
		t.Error(other, err)
	}
	// The daemon continues even if it was stopped for days. The next day has a new file.
	if l := open(0); l.Last() != 5 {
		t.Errorf("after days the last one is %d", l.Last())
	}
	if err := open(5).Append(noon.Add(24*time.Hour), []Entry{entry(6)}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path + "-20260302"); err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("%s, %v", b, err)
	}
	if err := (&Log{path: "/no/such/folder/x"}).Append(noon, []Entry{entry(1)}); err == nil {
		t.Error("no folder, no error")
	}
}

// FuzzLine checks that, for any texts, an entry is one line that has its nine fields with their values.
func FuzzLine(f *testing.F) {
	f.Add(`a" "lrmsID=1`, "b\n\"x\u2028")
	f.Fuzz(func(t *testing.T, a, b string) {
		e := entry(7)
		e.Owner, e.Queue, e.Cluster, e.Origin = a, b, a, &jjm.Origin{Subject: a, VO: b, Job: a}
		line := Line(e, b, "store")
		fields := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, `"`), "\"\n"), `" "`)
		if strings.Count(line, "\n") != 1 || strings.Count(line, `"`) != 2*len(fields) || len(fields) != 9 ||
			fields[5] != "lrmsID=4711_3" {
			t.Errorf("%q", line)
		}
	})
}
