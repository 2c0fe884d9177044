package head

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
)

const small = `<gridjob id="17" status="running" gram="2"/>`

func write(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "17"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(Path(dir, 17), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRead_ClassifiesErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		dir  func(t *testing.T) string
		kind jjm.Kind
		text string
	}{
		{"no record", func(t *testing.T) string { return t.TempDir() }, jjm.Gone, "there is no record of grid job 17 in "},
		{"a file in the way", func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "17"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return dir
		}, jjm.Gone, "not a directory"},
		{"empty", func(t *testing.T) string { return write(t, "") }, jjm.Internal, "no element gridjob"},
		{"truncated", func(t *testing.T) string { return write(t, small[:30]) }, jjm.Internal, "EOF"},
		{"of another grid job", func(t *testing.T) string {
			return write(t, strings.Replace(small, "17", "18", 1))
		}, jjm.Internal, "the file is the record of grid job 18"},
		{"too long", func(t *testing.T) string {
			return write(t, small+strings.Repeat(" ", MaxBytes))
		}, jjm.Internal, "longer than the 65536 bytes"},
		{"a folder", func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.MkdirAll(Path(dir, 17), 0o755); err != nil {
				t.Fatal(err)
			}
			return dir
		}, jjm.Internal, "not a regular file"},
		{"a fifo", func(t *testing.T) string {
			dir := write(t, "")
			if err := errors.Join(os.Remove(Path(dir, 17)), syscall.Mkfifo(Path(dir, 17), 0o644)); err != nil {
				t.Fatal(err)
			}
			return dir
		}, jjm.Internal, "not a regular file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read(tc.dir(t), 17)
			if jjm.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.text) ||
				!strings.Contains(err.Error(), "grid job 17") {
				t.Errorf("error %v, want kind %v and %q", err, tc.kind, tc.text)
			}
		})
	}
}

func TestRead_KeepsTheCause(t *testing.T) {
	if _, err := Read(t.TempDir(), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist in it", err)
	}
}

func TestKind_OfAFileThatMayNotBeRead(t *testing.T) {
	if k := kind(&fs.PathError{Err: syscall.EACCES}); k != jjm.Denied {
		t.Errorf("kind %v, want denied", k)
	}
}

func TestParse_IgnoresWhatItDoesNotKnow(t *testing.T) {
	h, err := Parse([]byte("\uFEFF" + `<?xml version="1.0"?><!-- by hand -->
<gridjob xmlns:x="urn:x" schemaVersion="1.9" id="17" status="done" gram="8" x:id="99" colour="red">
  <message>a <b>not this</b>&lt;c></message>
  <x:message>nor this</x:message>
  <new><deep><message>nor that</message></deep></new>
  <counts completed="3" lost="7"><x/></counts>
  <step expected="3"><x:why>no</x:why><why>yes</why><how>no</how></step>
</gridjob>
`))
	if err != nil {
		t.Fatal(err)
	}
	if h.Grid.ID != 17 || h.Message != "a <c>" || h.Counts[jjm.Completed] != 3 || h.Grid.Step.Expected != 3 ||
		len(h.Grid.Step.Why) != 1 || h.Grid.Step.Why[0] != "yes" {
		t.Errorf("got %+v", h)
	}
}

func TestParse_RefusesOtherDocuments(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"not XML", "status: done", "no element gridjob"},
		{"another root", `<localjobs/>`, "want one gridjob"},
		{"of a namespace", `<gridjob xmlns="urn:x" id="1"/>`, "want one gridjob"},
		{"two roots", small + small, "want one gridjob"},
		{"no status", `<gridjob id="1" gram="2"/>`, "attribute status of gridjob"},
		{"unknown status", `<gridjob id="1" gram="2" status="fine"/>`, `"fine"`},
		{"no GRAM state", `<gridjob id="1" status="done"/>`, "attribute gram of gridjob"},
		{"unknown GRAM state", `<gridjob id="1" status="done" gram="9"/>`, "attribute gram of gridjob"},
		{"number", `<gridjob id="one" status="done" gram="8"/>`, `attribute id of gridjob: "one" is not a number`},
		{"absurd number", `<gridjob id="1" status="done" gram="8"><counts new="99999999999999999999"/></gridjob>`,
			"attribute new of counts"},
		{"time", `<gridjob id="1" status="done" gram="8" written="yesterday"/>`, "attribute written of gridjob"},
		{"document type", `<!DOCTYPE gridjob [<!ENTITY a "b">]>` + small, "document type"},
		{"entity", `<gridjob id="1" status="done" gram="8"><message>&a;</message></gridjob>`, "entity"},
		{"NUL", "<gridjob id=\"1\" status=\"done\" gram=\"8\"><message>\x00</message></gridjob>", "illegal character"},
		{"unclosed", `<gridjob id="1" status="done" gram="8"><message>`, "EOF"},
		{"deep", `<gridjob id="1" status="done" gram="8">` + strings.Repeat("<a>", 20_000), "EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// No text may cause a panic. An accepted head has a known status and a known GRAM state, because readers draw
// conclusions from them.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(
		`<gridjob id="1" status="done" gram="8" written="2026-03-01T12:00:00Z"><message>a</message><step n="0"><why/></step><phases><progress phase="x" done="1"/></phases><output tar="/t"/></gridjob>`))
	f.Add([]byte("<gridjob id='1'>\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Parse(b)
		if err != nil {
			return
		}
		if h.GRAM.String() == "UNKNOWN" || h.Grid.Status.String() == "?" {
			t.Fatalf("accepted %q as %+v", b, h)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "17"), 0o755); err != nil {
		b.Fatal(err)
	}
	text := strings.Replace(small, "/>", ">"+strings.Repeat(`<x y="z"/>`, 200)+"</gridjob>", 1)
	if err := os.WriteFile(Path(dir, 17), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(dir, 17); err != nil {
			b.Fatal(err)
		}
	}
}
