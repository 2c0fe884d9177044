package sandbox

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/jjm"
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
		err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: e.name, Linkname: e.link, Mode: 0o600,
			Size: int64(len(e.text))})
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

func TestTakeParcel_ATruncatedOneHasNoResult(t *testing.T) {
	whole := tarOf(t, entry{name: "attempt/work/a.root", text: "hello"}, goodResult(t))
	end := len(whole) - 1024 // cuts off the two blocks of zeros at the end of a tar
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
	if err := os.Truncate(filepath.Join(a.Root(), parcelOf(tag, 0)), 40<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := a.TakeParcel(tag, 0, zeroth, 1<<20); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("too large: %v", err)
	}
}

// sparse returns a parcel of some kilobytes with an entry that unpacks to size bytes of zeros, in a version of GNU
// tar's format for sparse files.
func sparse(t *testing.T, version string, size int64) []byte {
	t.Helper()
	number := strconv.FormatInt(size, 10)
	records := map[string]string{"GNU.sparse.size": number, "GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,512"}
	if version == "1.0" {
		records = map[string]string{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "attempt/work/x",
			"GNU.sparse.realsize": number}
	}
	var pax strings.Builder
	for _, key := range slices.Sorted(maps.Keys(records)) {
		pax.WriteString(paxRecord(key, records[key]))
	}
	var out bytes.Buffer
	block := func(name string, kind byte, body []byte) {
		head := make([]byte, 512)
		copy(head, name)
		copy(head[100:], "0000600\x000000000\x000000000\x00")
		copy(head[124:], fmt.Sprintf("%011o\x0000000000000\x00        ", len(body)))
		head[156] = kind
		copy(head[257:], "ustar\x0000")
		sum := 0
		for _, b := range head {
			sum += int(b)
		}
		copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
		out.Write(head)
		out.Write(body)
		out.Write(make([]byte, (512-len(body)%512)%512))
	}
	block("pax", 'x', []byte(pax.String()))
	body := make([]byte, 512)
	copy(body, "0\n")
	block("attempt/work/x", '0', body)
	out.Write(make([]byte, 1024))
	return out.Bytes()
}

// paxRecord returns a record of an extended header. A record begins with its own length (pax(1)).
func paxRecord(key, value string) string {
	n := len(key) + len(value) + 3
	n += len(strconv.Itoa(n + len(strconv.Itoa(n))))
	return fmt.Sprintf("%d %s=%s\n", n, key, value)
}

func TestTakeParcel_ASparseFileIsRefusedBeforeItIsWritten(t *testing.T) {
	for _, version := range []string{"0.1", "1.0"} {
		parcel := sparse(t, version, 1<<40)
		if h, err := tar.NewReader(bytes.NewReader(parcel)).Next(); err != nil || h.Size != 1<<40 {
			t.Fatalf("%s: the test makes no sparse file: %+v, %v", version, h, err)
		}
		a := newBulk(t, 2)
		put(t, a, parcelOf(tag, 0), string(parcel))
		_, err := a.TakeParcel(tag, 0, zeroth, 0)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "sparse") {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestTakeParcel_CountsWhatItWrites(t *testing.T) {
	a := newBulk(t, 2)
	put(t, a, parcelOf(tag, 0), string(tarOf(t, entry{name: "attempt/work/a", text: strings.Repeat("x", 6000)},
		entry{name: "attempt/work/b", text: strings.Repeat("x", 6000)}, goodResult(t))))
	_, err := a.TakeParcel(tag, 0, zeroth, 10_000)
	var large *TooLarge
	if !errors.As(err, &large) || large.Limit != 10_000 || jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("12 000 bytes of 10 000: %v", err)
	}
	if r, err := a.TakeParcel(tag, 0, zeroth, 20_000); r == nil || err != nil {
		t.Errorf("12 000 bytes of 20 000: %+v, %v", r, err)
	}
	var empty []entry
	for i := range 5000 {
		empty = append(empty, entry{name: fmt.Sprintf("attempt/work/%d", i)})
	}
	put(t, a, parcelOf(tag, 1), string(tarOf(t, empty...)))
	if _, err := a.TakeParcel(tag, 1, zeroth, 1<<20); !errors.As(err, &large) {
		t.Errorf("5000 empty files: %v", err)
	}
}

func FuzzTakeParcel(f *testing.F) {
	f.Add(tarOf(f, entry{name: "attempt/stdout", text: "x"}, goodResult(f)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, parcel []byte) {
		a := newArea(t)
		r, err := a.unpackParcel(bytes.NewReader(parcel), zeroth, 0)
		if err != nil && jjm.KindOf(err) == jjm.Unclassified && r != nil {
			t.Errorf("%+v, %v", r, err)
		}
		if left, err := os.ReadDir(filepath.Dir(a.Root())); err != nil || len(left) != 1 {
			t.Errorf("written outside the area: %v, %v", left, err)
		}
	})
}
