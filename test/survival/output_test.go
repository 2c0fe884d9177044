package survival_test

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/sandbox"
	"jjm/xmldb/head"
)

// outputSum reads the tar through the daemon and returns its SHA-256. It requires that the daemon reports the same
// SHA-256.
func (s *site) outputSum(id jjm.GridID) string {
	s.t.Helper()
	a, r, err := client.Open(context.Background(), s.client(), wire.VerbOutput(),
		wire.OutputRequest{One: wire.OneRef(id.String())})
	if err != nil {
		s.t.Fatalf("output of grid job %s: %v", id, err)
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, r)
	sum := hex.EncodeToString(h.Sum(nil))
	if err != nil || n != a.Bytes || sum != a.Output.SHA256 {
		s.t.Errorf("output of grid job %s: %d bytes of sum %s (%v), announced were %d of sum %s", id, n, sum, err, a.Bytes,
			a.Output.SHA256)
	}
	return sum
}

// manifestLine is the line of one file in the tar's manifest.
type manifestLine struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Absent string `json:"absent"`
}

// checkTar checks the tar: each file agrees with the manifest, the output of each completed local job is in the tar
// with its events, and the record in the tar shows the same end.
func (e *ended) checkTar(sum string) {
	e.t.Helper()
	files, whole := readTar(e.t, e.status.Lookup.Tar)
	if whole != sum {
		e.t.Errorf("the tar on disk has sum %s, the one handed out %s", whole, sum)
	}
	var manifest []manifestLine
	if err := json.Unmarshal(files["survival/"+sandbox.ManifestName], &manifest); err != nil {
		e.t.Fatalf("the tar's manifest: %v", err)
	}
	for _, m := range manifest {
		text, there := files[m.Path]
		sum := sha256.Sum256(text)
		switch {
		case there && m.Absent != "", !there && m.Absent == "":
			e.t.Errorf("%s: in the tar: %v, in the manifest: %+v", m.Path, there, m)
		case there && (int64(len(text)) != m.Size || hex.EncodeToString(sum[:]) != m.SHA256):
			e.t.Errorf("%s: %d bytes of sum %x, in the manifest: %+v", m.Path, len(text), sum, m)
		}
	}
	for _, l := range e.status.Locals {
		e.checkOutput(files, &l)
	}
	h, err := head.Parse(files["survival/record/record.xml"])
	if err != nil || h.Grid.Status.String() != e.status.Lookup.Status || h.Jobs != len(e.status.Locals) {
		e.t.Errorf("the record in the tar says %v of %d local jobs (%v), want %s of %d",
			h.Grid.Status, h.Jobs, err, e.status.Lookup.Status, len(e.status.Locals))
	}
	e.checkShards("in the tar", func(name string) ([]byte, error) { return files["survival/record/"+name], nil })
}

// checkOutput checks the output of one local job.
func (e *ended) checkOutput(files map[string][]byte, l *jjm.LocalJob) {
	e.t.Helper()
	name := "survival/" + sandbox.OutputName("survival", l.ID, "out.txt")
	text, there := files[name]
	if l.State != jjm.Completed {
		return
	}
	var want strings.Builder
	for i := range l.Part.Count {
		fmt.Fprintf(&want, "event %d\n", l.Part.First+i)
	}
	if !there || string(text) != want.String() {
		e.t.Errorf("%s in the tar: there: %v, content %q, want %q", name, there, text, want.String())
	}
}

// readTar reads a complete tar.
func readTar(t interface {
	Helper()
	Fatalf(string, ...any)
}, path string) (files map[string][]byte, sum string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("the tar: %v", err)
	}
	defer f.Close()
	h := sha256.New()
	all := io.TeeReader(f, h)
	files = map[string][]byte{}
	for r := tar.NewReader(all); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the tar %s: %v", path, err)
		}
		if _, twice := files[head.Name]; twice {
			t.Fatalf("the tar %s has %s twice", path, head.Name)
		}
		if files[head.Name], err = io.ReadAll(r); err != nil {
			t.Fatalf("%s in the tar %s: %v", head.Name, path, err)
		}
	}
	if _, err := io.Copy(io.Discard, all); err != nil {
		t.Fatalf("the tar %s: %v", path, err)
	}
	return files, hex.EncodeToString(h.Sum(nil))
}

// checkRecord compares the published record with the daemon's answers, and validates it with its schema.
func (e *ended) checkRecord() {
	e.t.Helper()
	dir := filepath.Join(e.state, "records")
	h, err := head.Read(dir, e.id)
	if err != nil {
		e.t.Errorf("the record: %v", err)
		return
	}
	l := e.status.Lookup
	c := h.Counts
	if h.Grid.Status.String() != l.Status || h.GRAM != l.GRAM || h.Master != l.Master || h.Exit != l.Exit ||
		h.Tar != l.Tar ||
		h.Jobs != l.Counts.Total || c[jjm.Completed] != l.Counts.Completed || c[jjm.Failed] != l.Counts.Failed ||
		c[jjm.Killed] != l.Counts.Killed {
		e.t.Errorf("the record says %v, GRAM %v, master %s, exit %d, tar %s, counts %v; the daemon %+v",
			h.Grid.Status, h.GRAM, h.Master, h.Exit, h.Tar, c, l)
	}
	own := filepath.Join(dir, e.id.String())
	e.checkShards("on disk", func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(own, name)) })
	e.checkSchema(own)
}

// shard is the part of a record's shard that the tests read.
type shard struct {
	Jobs []struct {
		ID      string `xml:"id,attr"`
		State   string `xml:"state,attr"`
		Attempt int32  `xml:"attempt,attr"`
		Part    struct {
			First int64 `xml:"first,attr"`
			Count int64 `xml:"count,attr"`
		} `xml:"part"`
	} `xml:"localjob"`
}

// checkShards compares the record's local jobs with the daemon's answers.
func (e *ended) checkShards(where string, read func(name string) ([]byte, error)) {
	e.t.Helper()
	const size = 1000
	for from := 0; from < len(e.status.Locals); from += size {
		name := fmt.Sprintf("jobs-%04d.xml", from/size)
		text, err := read(name)
		var s shard
		if err == nil {
			err = xml.Unmarshal(text, &s)
		}
		locals := e.status.Locals[from:min(from+size, len(e.status.Locals))]
		if err != nil || len(s.Jobs) != len(locals) {
			e.t.Errorf("record %s: %s has %d local jobs (%v), want %d", where, name, len(s.Jobs), err, len(locals))
			continue
		}
		for i, l := range locals {
			j := s.Jobs[i]
			if j.ID != l.ID.String() || j.State != l.State.String() || j.Attempt != l.Attempt || j.Part.First != l.Part.First ||
				j.Part.Count != l.Part.Count {
				e.t.Errorf("record %s: %s says %+v of local job %s; the daemon %v, attempt %d, part %+v", where, name, j, l.ID,
					l.State, l.Attempt, l.Part)
			}
		}
	}
}

// checkSchema validates the files of a record with xmllint.
func (e *ended) checkSchema(dir string) {
	e.t.Helper()
	schema := filepath.Join(repository(e.site.t), "docs", "record.xsd")
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil || len(files) == 0 {
		e.t.Errorf("no record in %s: %v", dir, err)
		return
	}
	if _, err := exec.LookPath("xmllint"); err != nil {
		needs.Gap(e.t, "xmllint, to validate records", "install it (Debian: apt-get install libxml2-utils)")
		return
	}
	out, err := exec.Command("xmllint",
		append([]string{"--noout", "--nonet", "--schema", schema}, files...)...).CombinedOutput()
	if err != nil {
		e.t.Errorf("the record is not valid: %v\n%s", err, tail(string(out), 10))
	}
}
