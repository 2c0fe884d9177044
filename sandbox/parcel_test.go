package sandbox

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"jjm"
)

// entry is one entry of a hand-made tar.
type entry struct {
	name, text string
	kind       byte
	link       string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		kind := e.kind
		if kind == 0 {
			kind = tar.TypeReg
		}
		err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: e.name, Linkname: e.link, Mode: 0o600, Size: int64(len(e.text))})
		if err == nil {
			_, err = w.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// goodResult is the result of position 0 of newBulk's bulk.
func goodResult(t testing.TB) entry {
	t.Helper()
	b, err := json.Marshal(resultAt(0))
	if err != nil {
		t.Fatal(err)
	}
	return entry{name: parcelResult, text: string(b)}
}

var zeroth = jjm.AttemptID{LocalID: jjm.LocalID{Grid: 17}}

func TestTakeParcel_AnythingHostileIsRefused(t *testing.T) {
	other := resultAt(1)
	b, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, parcel := range map[string][]byte{
		"up":            tarOf(t, entry{name: "attempt/work/../../../x", text: "x"}),
		"absolute":      tarOf(t, entry{name: "/etc/x", text: "x"}),
		"a link":        tarOf(t, entry{name: "attempt/work/x", kind: tar.TypeSymlink, link: "/etc/passwd"}),
		"a hard link":   tarOf(t, entry{name: "attempt/work/x", kind: tar.TypeLink, link: "attempt/stdout"}),
		"a device":      tarOf(t, entry{name: "attempt/work/x", kind: tar.TypeChar}),
		"another place": tarOf(t, entry{name: "claims/0", text: "x"}),
		"heartbeat":     tarOf(t, entry{name: "attempt/heartbeat", text: "x"}),
		"a file as dir": tarOf(t, entry{name: "attempt/stdout/x", text: "x"}),
		"another job":   tarOf(t, entry{name: parcelResult, text: string(b)}),
		"two results":   tarOf(t, goodResult(t), goodResult(t)),
		"no JSON":       tarOf(t, entry{name: parcelResult, text: "{"}),
		"no tar":        []byte("this is no tar, but it is long enough to be looked at as if it were one"),
	} {
		a := newBulk(t, 2)
		put(t, a, parcelOf(tag, 0), string(parcel))
		r, err := a.TakeParcel(tag, 0, zeroth, 0)
		if r != nil || jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if claim, _ := a.ReadClaim(tag, 0); claim != nil {
			t.Errorf("%s: claimed by %+v", name, claim)
		}
	}
}

func TestTakeParcel_OneCutAnywhereHasNoResult(t *testing.T) {
	whole := tarOf(t, entry{name: "attempt/work/a.root", text: "hello"}, goodResult(t))
	end := len(whole) - 1024 // the two blocks of zeros say nothing
	for cut := 0; cut < end; cut += 7 {
		a := newBulk(t, 2)
		put(t, a, parcelOf(tag, 0), string(whole[:cut]))
		if r, err := a.TakeParcel(tag, 0, zeroth, 0); r != nil && cut < end-512 {
			t.Fatalf("cut at %d of %d: %+v, %v", cut, len(whole), r, err)
		}
	}
}

func TestTakeParcel_NoneAndTooLarge(t *testing.T) {
	a := newBulk(t, 2)
	if r, err := a.TakeParcel(tag, 0, zeroth, 0); r != nil || err != nil {
		t.Errorf("none: %+v, %v", r, err)
	}
	put(t, a, parcelOf(tag, 0), "")
	if err := os.Truncate(filepath.Join(a.Root(), parcelOf(tag, 0)), 10<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := a.TakeParcel(tag, 0, zeroth, 1<<20); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("too large: %v", err)
	}
}

func FuzzTakeParcel(f *testing.F) {
	f.Add(tarOf(f, entry{name: "attempt/stdout", text: "x"}, goodResult(f)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, parcel []byte) {
		a := newArea(t)
		r, err := a.unpackParcel(bytes.NewReader(parcel), zeroth)
		if err != nil && jjm.KindOf(err) == jjm.Unclassified && r != nil {
			t.Errorf("%+v, %v", r, err)
		}
		if left, err := os.ReadDir(filepath.Dir(a.Root())); err != nil || len(left) != 1 {
			t.Errorf("written outside the area: %v, %v", left, err)
		}
	})
}
