package xmldb

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/xmldb/head"
)

const (
	schemaFile  = "../docs/record.xsd"
	recordsPage = "../docs/RECORDS.md"
)

// validate runs xmllint on files and returns its complaints.
func validate(t *testing.T, files ...string) (string, error) {
	t.Helper()
	xmllint := needs.Program(t, "xmllint", "libxml2-utils")
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), xmllint,
		append([]string{"--nonet", "--noout", "--schema", schemaFile}, files...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func wantValid(t *testing.T, files ...string) {
	t.Helper()
	if out, err := validate(t, files...); err != nil || strings.Contains(out, "error") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func recordFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.xml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no records in %s: %v", dir, err)
	}
	return files
}

// everyState returns a shard with a job in each state, and a job that has every element.
func everyState(grid jjm.GridID) Shard {
	var s Shard
	for i := range jjm.NumStates {
		j := jjm.LocalJob{ID: jjm.LocalID{Grid: grid, N: int32(i)}, State: jjm.State(i), Exit: -1,
			Part: jjm.Part{Unit: jjm.UnitRow, First: int64(i), Count: 1, Serial: int64(i + 1)}}
		s.Jobs = append(s.Jobs, j)
	}
	full := sampleJob(grid, jjm.NumStates)
	full.Phase, full.Message, full.Exit = jjm.RetryWait, "exit <139> & \x07 \xff \uFFFE", 139
	full.Kill, full.NotBefore, full.Ended = true, jjm.At(noon), jjm.At(noon)
	full.Counters = jjm.Counters{Early: 1, LateHandled: 2, LateUnhandled: 3}
	full.Again = jjm.Again{Times: 2, Stopped: "2 of 4"}
	full.Waits = &jjm.Waiting{Reason: "hold <1>\x00", Hold: "13/2", Starts: jjm.At(noon), Source: "condor_q",
		At: jjm.At(noon)}
	full.Part.Args = []string{"a b", "", "<\r\n>"}
	held := sampleJob(grid, jjm.NumStates+1)
	held.State, held.Holding = jjm.Held, &jjm.Holding{By: jjm.HeldApplication, Since: jjm.At(noon)}
	s.Jobs = append(s.Jobs, full, held)
	return s
}

func TestSchema_HoldsForWhatIsPublished(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 1, 2500)
	for i := range jjm.NumGridStatuses { // every status, and the smallest possible head
		grid := jjm.GridID(100 + i)
		h := Head{Grid: jjm.GridJob{ID: grid, Status: jjm.GridStatus(i)}, GRAM: jjm.GRAMPending}
		if err := db.Publish(t.Context(), h, slices.Values([]Shard{everyState(grid)})); err != nil {
			t.Fatal(err)
		}
	}
	h := sampleHead(2, 1)
	h.Grid.Status, h.GRAM, h.GRAMCode, h.Grid.Kill, h.Grid.KillBy = jjm.GridFailed, jjm.GRAMFailed, 17, true, "bob"
	h.Message, h.Grid.Reason, h.Grid.Ended, h.Exit = "all\x00failed", "reason", jjm.At(noon), 1
	h.Tar, h.Grid.Tar, h.Grid.TarBytes = "/srv/2.tar", "2.tar", 77
	h.Grid.TarSHA256 = strings.Repeat("0a", 32)
	if err := db.Publish(t.Context(), h, shardsOf(2, 1)); err != nil {
		t.Fatal(err)
	}
	wantValid(t, recordFiles(t, dir)...)
}

func TestSchema_HoldsForForeignContent(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 10)
	decorate(t, dir)
	wantValid(t, recordFiles(t, dir)...)
	addAll(t, db,
		`<fragment job="17.3"><phase name="d0gstar" done="117" total="250"/></fragment>`,
		`<fragment job="17.3" xmlns="urn:d"><part/><message xml:lang="en"><gridjob/></message></fragment>`,
		`<fragment job="17"><a><counts/><localjob/><xs:any xmlns:xs="http://www.w3.org/2001/XMLSchema"/></a></fragment>`)
	publish(t, db, 17, 10)
	wantValid(t, recordFiles(t, dir)...)
}

func TestSchema_HoldsForTruncatedRecords(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	h := sampleHead(17, 5_000_000)
	h.Message, h.Grid.Reason, h.Grid.Spec.Name = strings.Repeat("<", 99_999), strings.Repeat("&", 99_999),
		strings.Repeat("\x01", 99_999)
	h.Grid.Step.Cluster = strings.Repeat("c", 99_999)
	for i := range 2000 {
		h.ClusterJobs = append(h.ClusterJobs,
			jjm.ClusterJob{Cluster: strings.Repeat("c", 9_999) + fmt.Sprint(i), Counts: h.Counts})
	}
	job := sampleJob(17, 0)
	job.Message, job.Host = strings.Repeat("m", 99_999), strings.Repeat("h", 99_999)
	job.Part.Args = slices.Repeat([]string{strings.Repeat("a", 100)}, 999)
	if err := db.Publish(t.Context(), h, slices.Values([]Shard{{Jobs: []jjm.LocalJob{job}}})); err != nil {
		t.Fatal(err)
	}
	wantValid(t, recordFiles(t, dir)...)
}

func TestSchema_RefusesWrongRecords(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 2)
	head, shard := readText(t, filepath.Join(dir, "17/record.xml")), readText(t, filepath.Join(dir, "17/jobs-0000.xml"))
	for _, tc := range []struct{ name, text, old, new string }{
		{"no schema version", head, ` schemaVersion="1.1"`, ""},
		{"another schema version", head, `schemaVersion="1.1"`, `schemaVersion="2.0"`},
		{"unknown status", head, `status="running"`, `status="fine"`},
		{"unknown GRAM state", head, `gram="2"`, `gram="3"`},
		{"a time without a zone", head, `12:00:00.000Z`, `12:00:00.000`},
		{"no counts", head, `<counts`, `<numbers`},
		{"a count that is none", head, `running="2"`, `running="many"`},
		{"counts with one missing", head, ` held="0"`, ``},
		{"no step", head, `<step n="0"`, `<stage n="0"`},
		{"a shard without a file", head, ` file="jobs-0000.xml"`, ``},
		{"a shard elsewhere", head, `jobs-0000.xml`, `../jobs-0000.xml`},
		{"foreign element in front", head, `<message/>`, `<x/><message/>`},
		{"foreign element without a namespace in a list", head, `</phases>`, `<x/></phases>`},
		{"unknown state", shard, `state="running"`, `state="lost"`},
		{"an id of no local job", shard, `id="17.1"`, `id="17"`},
		{"an id twice", shard, `id="17.1"`, `id="17.0"`},
		{"no part", shard, `<part unit="event" first="1" count="250" serial="1"/>`, ``},
		{"a part without a count", shard, ` count="250"`, ``},
		{"negative exit", shard, `attempt="1"`, `attempt="1" exit="-1"`},
		{"a record in a record", shard, `</localjob>`, `<gridjob/></localjob>`},
		{"another root", `<localjob id="17.1"/>`, ``, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(tc.text, tc.old) {
				t.Fatalf("no %q to replace", tc.old)
			}
			path := filepath.Join(t.TempDir(), "wrong.xml")
			writeText(t, path, strings.ReplaceAll(tc.text, tc.old, tc.new))
			if out, err := validate(t, path); err == nil {
				t.Errorf("it was accepted: %s", out)
			}
		})
	}
}

// The schema and the loader must know the same attributes of jjm.
func TestSchema_KnowsTheSameAttributes(t *testing.T) {
	doc := etree.NewDocument()
	if err := doc.ReadFromFile(schemaFile); err != nil {
		t.Fatal(err)
	}
	schema := doc.Root()
	for root, layout := range map[string]*element{"gridjob": headLayout(), "localjobs": shardLayout()} {
		compareType(t, schema, schema.FindElement("complexType[@name='"+root+"']"), root, layout)
	}
}

func compareType(t *testing.T, schema, typ *etree.Element, name string, e *element) {
	t.Helper()
	if typ == nil {
		t.Errorf("%s: the schema has no such type", name)
		return
	}
	var attrs, kids, wantKids []string
	for _, a := range typ.SelectElements("attribute") {
		attrs = append(attrs, a.SelectAttrValue("name", ""))
	}
	for _, k := range typ.FindElements("sequence/element") {
		kid := k.SelectAttrValue("name", "")
		kids = append(kids, kid)
		inner := k.SelectElement("complexType")
		if inner == nil {
			inner = schema.FindElement("complexType[@name='" + k.SelectAttrValue("type", "") + "']")
		}
		if e.kids[kid] != nil {
			compareType(t, schema, inner, name+"/"+kid, e.kids[kid])
		}
	}
	for kid := range e.kids {
		wantKids = append(wantKids, kid)
	}
	slices.Sort(kids)
	slices.Sort(wantKids)
	if diff := cmp.Diff(wantKids, kids); diff != "" {
		t.Errorf("children of %s (-layout +schema):\n%s", name, diff)
	}
	if diff := cmp.Diff(e.attrs, attrs); diff != "" {
		t.Errorf("attributes of %s (-layout +schema):\n%s", name, diff)
	}
	if typ.SelectElement("anyAttribute") == nil {
		t.Errorf("%s admits no foreign attributes", name)
	}
}

func TestReserved_AreTheNamesInTheLayout(t *testing.T) {
	var walk func(e *element)
	walk = func(e *element) {
		for name, kid := range e.kids {
			if !reserved(name) {
				t.Errorf("%s is not reserved", name)
			}
			walk(kid)
		}
	}
	walk(headLayout())
	walk(shardLayout())
	if reserved("phase") {
		t.Error("phase is reserved: the documented example would be refused")
	}
}

var fence = regexp.MustCompile("(?s)```xml\n(.*?)```")

func TestRecordsPage_ExamplesAreTrue(t *testing.T) {
	blocks := fence.FindAllStringSubmatch(readText(t, recordsPage), -1)
	records, fragments := 0, 0
	for i, b := range blocks {
		text := b[1]
		if strings.Contains(text, "<fragment") {
			fragments++
			if _, err := ParseFragment([]byte(text)); err != nil {
				t.Errorf("fragment %s: %v", text, err)
			}
			continue
		}
		records++
		path := filepath.Join(t.TempDir(), fmt.Sprintf("example%d.xml", i))
		writeText(t, path, text)
		wantValid(t, path)
		if strings.Contains(text, "<history") {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "17"), 0o755); err != nil {
				t.Fatal(err)
			}
			writeText(t, filepath.Join(dir, "17", head.HistoryFile), text)
			if h, err := head.ReadHistory(dir, 17); err != nil || len(h.Changes) == 0 {
				t.Errorf("%d changes, %v in\n%s", len(h.Changes), err, text)
			}
			continue
		}
		if _, err := parseAny(text); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if records < 2 || fragments < 1 {
		t.Errorf("%d records and %d fragments in %s; want a head, a shard, a fragment", records, fragments, recordsPage)
	}
}

func parseAny(text string) (*extras, error) {
	if strings.Contains(text, "<gridjob") {
		return loadExtras([]byte(text), "gridjob", headLayout())
	}
	return loadExtras([]byte(text), "localjobs", shardLayout())
}

// Every element and attribute must be documented.
func TestRecordsPage_NamesEverything(t *testing.T) {
	page := readText(t, recordsPage)
	var walk func(name string, e *element)
	walk = func(name string, e *element) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("element %s is not described", name)
		}
		for _, a := range e.attrs {
			if !strings.Contains(page, "`"+a+"`") {
				t.Errorf("attribute %s of %s is not described", a, name)
			}
		}
		for kid, k := range e.kids {
			walk(kid, k)
		}
	}
	walk("gridjob", headLayout())
	walk("localjobs", shardLayout())
}
