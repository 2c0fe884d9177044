package xmldb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestParseFragment_Canonical(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a phase", `<fragment job="12.3"><phase name="d0gstar" done="117" total="250"/></fragment>`,
			`<fragment job="12.3"><phase name="d0gstar" done="117" total="250"/></fragment>`},
		{"of the grid job", "\uFEFF<?xml version='1.0' encoding='utf-8'?>\n<fragment job='12'>\n <site>x</site>\n</fragment>\n",
			`<fragment job="12"><site>x</site></fragment>`},
		{"comments, CDATA, references",
			`<fragment job="12.0"><!-- a --><a b='"&lt;&#10;'><![CDATA[<x>]]>&amp;<!-- b --></a></fragment>`,
			`<fragment job="12.0"><a b="&#34;&lt;&#10;">&lt;x&gt;&amp;</a></fragment>`},
		{"namespaces are inherited", `<fragment job="1.1" xmlns="urn:d" xmlns:p="urn:p"><message/><p:part q="1"/><p:x xmlns:p="urn:q"/></fragment>`,
			`<fragment job="1.1"><message xmlns="urn:d" xmlns:p="urn:p"/><p:part q="1" xmlns="urn:d" xmlns:p="urn:p"/><p:x xmlns:p="urn:q" xmlns="urn:d"/></fragment>`},
		{"xml:lang", `<fragment job="1.1"><a xml:lang="en"/></fragment>`,
			`<fragment job="1.1"><a xml:lang="en"/></fragment>`},
		{"16 levels", `<fragment job="1.1">` + nest(16) + `</fragment>`,
			`<fragment job="1.1">` + nestCanonical(16) + `</fragment>`},
		{"jjm's names further down", `<fragment job="1.1"><a><message/></a></fragment>`,
			`<fragment job="1.1"><a><message/></a></fragment>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := ParseFragment([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(f.XML())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := ParseFragment(f.XML())
			if err != nil || string(again.XML()) != tc.want {
				t.Errorf("read back: %v\n%s", err, again.XML())
			}
		})
	}
}

func nest(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
func nestCanonical(n int) string {
	return strings.Repeat("<a>", n-1) + "<a/>" + strings.Repeat("</a>", n-1)
}

func TestParseFragment_RefusesHostileInput(t *testing.T) {
	in := func(s string) string { return `<fragment job="12.3">` + s + `</fragment>` }
	for _, tc := range []struct{ name, in, want string }{
		{"empty file", "", "no element"},
		{"not XML", "117 of 250", "text outside the root element"},
		{"truncated", `<fragment job="12.3"><phase name="d0g`, "line 1"},
		{"unclosed", "<fragment job=\"12.3\">\n<phase>", "line 2 column 8: the text ends inside element phase"},
		{"tags do not match", in("<a></b>"), "end tag b matches no start tag"},
		{"two roots", in("<a/>") + in("<b/>"), "second root"},
		{"text behind", in("<a/>") + "x", "text outside"},
		{"another root", `<phase job="12.3"/>`, `want <fragment job="12.3">`},
		{"no job", `<fragment><a/></fragment>`, "attribute job of fragment"},
		{"a range", `<fragment job="12.3-4"><a/></fragment>`, "attribute job of fragment"},
		{"all", `<fragment job="12.*"><a/></fragment>`, "attribute job of fragment"},
		{"a path", `<fragment job="../12"><a/></fragment>`, "attribute job of fragment"},
		{"job 0", `<fragment job="0.1"><a/></fragment>`, "attribute job of fragment"},
		{"huge job", `<fragment job="12.99999999999"><a/></fragment>`, "attribute job of fragment"},
		{"another attribute", `<fragment job="12.3" uid="0"><a/></fragment>`, `attribute "uid" of fragment`},
		{"nothing in it", in(" "), "want at least one element"},
		{"text in it", in("117 of 250"), "text in fragment"},
		{"a part of ours", in(`<part first="1"/>`), "element part belongs to jjm"},
		{"a message of ours", in(`<x/><message>done</message>`), "element message belongs to jjm"},
		{"a local job", in(`<localjob id="12.4"/>`), "element localjob belongs to jjm"},
		{"a record further down", in(`<a><gridjob/></a>`), "element gridjob belongs to jjm"},
		{"schema instance", in(`<a xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="b"/>`),
			"attribute i:type of XML Schema"},
		{"document type", `<!DOCTYPE fragment SYSTEM "file:///etc/passwd">` + in("<a/>"), "document type declaration"},
		{"billion laughs", `<!DOCTYPE f [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>` + in("<a>&b;</a>"),
			"document type declaration"},
		{"an entity", in("<a>&nbsp;</a>"), "entity"},
		{"processing instruction", in(`<a/><?php exit ?>`), `processing instruction "php"`},
		{"late declaration", in(`<?xml version="1.0"?><a/>`), `processing instruction "xml"`},
		{"stylesheet", `<?xml-stylesheet href="x"?>` + in("<a/>"), "processing instruction"},
		{"another encoding", `<?xml version="1.0" encoding="utf-7"?>` + in("<a/>"), "utf-7"},
		{"UTF-16", "\xff\xfe<\x00f\x00", "UTF-8"},
		{"NUL", in("<a>\x00</a>"), "illegal character"},
		{"control by reference", in("<a>&#1;</a>"), "illegal character"},
		{"attribute twice", in(`<a b="1" b="2"/>`), "attribute b is given twice"},
		{"attribute twice by namespace", in(`<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>`), "attribute q:b is given twice"},
		{"prefix of nobody", in(`<p:a/>`), "prefix is not declared"},
		{"attribute prefix of nobody", in(`<a p:b="1"/>`), "prefix is not declared"},
		{"a prefix of one sibling", in(`<a xmlns:p="u"/><p:b/>`), "prefix is not declared"},
		{"prefix xmlns", in(`<xmlns:a/>`), "element xmlns:a"},
		{"prefix bound to nothing", in(`<a xmlns:p=""/>`), "bound to nothing"},
		{"prefix xml rebound", in(`<a xmlns:xml="u"/>`), `prefix "xml" must not be bound`},
		{"two colons", in(`<a:b:c/>`), "line 1"},
		{"17 levels", in(nest(17)), "nested deeper than 17"},
		{"201 elements", in(strings.Repeat("<a/>", 201)), "more than 200 elements"},
		{"too long", in("<a>" + strings.Repeat("x", jjm.MaxFragment) + "</a>"), "want at most 65536"},
		{"too long once escaped", in("<a>" + strings.Repeat(">", 40_000) + "</a>"), "once escaped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseFragment([]byte(tc.in))
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want kind invalid and %q", err, tc.want)
			}
		})
	}
}

func TestParseFragment_FindsRepeatedAttributesAmongMany(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<fragment job="1.1"><a`)
	for i := range 5000 {
		fmt.Fprintf(&b, ` a%d=""`, i)
	}
	good := b.String() + `/></fragment>`
	if _, err := ParseFragment([]byte(good)); err != nil {
		t.Error(err)
	}
	if _, err := ParseFragment([]byte(b.String() + ` a4999=""/></fragment>`)); err == nil {
		t.Error("a repeated attribute was not found")
	}
}

func addAll(t *testing.T, db *DB, frags ...string) {
	t.Helper()
	for _, s := range frags {
		f, err := ParseFragment([]byte(s))
		if err == nil {
			err = db.AddFragment(f.Grid, f.Local, []byte(s))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantQuery(t *testing.T, db *DB, grid jjm.GridID, path string, want ...string) {
	t.Helper()
	got, err := db.Query(grid, path)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestFragments_AreMergedByTheNextPublication(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 12, 1500)
	addAll(t, db,
		`<fragment job="12.3"><phase name="d0gstar" done="117" total="250"/><note>a</note></fragment>`,
		`<fragment job="12.3"><phase name="d0reco" done="1" total="250"/><note>b</note><host id="7" up="1"/></fragment>`,
		`<fragment job="12.1003"><phase name="d0gstar" done="5" total="250"/></fragment>`,
		`<fragment job="12"><request id="9"/></fragment>`,
		`<fragment job="12.3"><phase name="d0gstar" done="118" total="250"/><host id="7" up="2"/></fragment>`,
	)
	wantQuery(t, db, 12, "//phase")
	shards, own, err := db.Pending(12)
	if diff := cmp.Diff([]int{0, 1}, shards); diff != "" || !own || err != nil {
		t.Errorf("pending: own %v, %v (-want +got):\n%s", own, err, diff)
	}
	for range 3 { // publishing again changes nothing
		publish(t, db, 12, 1500)
		wantQuery(t, db, 12, "//localjob[@id='12.3']/phase",
			`<phase name="d0gstar" done="118" total="250"/>`, `<phase name="d0reco" done="1" total="250"/>`)
		wantQuery(t, db, 12, "//note/text()", "a", "b")
		wantQuery(t, db, 12, "//host/@up", "2")
		wantQuery(t, db, 12, "//localjob[@id='12.1003']/phase/@done", "5")
		wantQuery(t, db, 12, "/gridjob/request/@id", "9")
	}
	if shards, own, err := db.Pending(12); len(shards) > 0 || own || err != nil {
		t.Errorf("pending after the publication: %v, %v, %v", shards, own, err)
	}
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestFragments_SurviveARestart(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 12, 10)
	addAll(t, db, `<fragment job="12.3"><phase name="a"/></fragment>`)
	publish(t, db, 12, 10)
	addAll(t, db, `<fragment job="12.3"><phase name="b"/></fragment>`)

	db2, w := open(t, dir)
	publish(t, db2, 12, 10)
	wantQuery(t, db2, 12, "//phase/@name", "a", "b")
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestFragments_ATornOneIsDroppedAndTheNextIsKept(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 12, 10)
	addAll(t, db, `<fragment job="12.3"><phase name="a"/></fragment>`)
	path := dir + "/12/" + pendingFile(0)
	writeText(t, path, readText(t, path)+`<fragment job="12.3"><phase na`)
	addAll(t, db, `<fragment job="12.3"><phase name="b"/></fragment>`)
	publish(t, db, 12, 10)
	wantQuery(t, db, 12, "//phase/@name", "a", "b")
	if got := w.all(); len(got) != 1 || !strings.Contains(got[0], "dropped") {
		t.Errorf("warnings: %v, want one of a dropped fragment", got)
	}
}

func TestAddFragment_RefusesJobsThatDoNotExist(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	h := sampleHead(12, 10)
	h.Grid.Step.Expected = 20
	if err := db.Publish(t.Context(), h, shardsOf(12, 10)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		grid  jjm.GridID
		local int32
		job   string
		kind  jjm.Kind
	}{
		{"last", 12, 9, "12.9", jjm.Unclassified},
		{"grid job", 12, -1, "12", jjm.Unclassified},
		{"not yet made", 12, 10, "12.10", jjm.Busy},
		{"never", 12, 20, "12.20", jjm.Gone},
		{"absurd", 12, 2147483647, "12.2147483647", jjm.Gone},
		{"no such grid job", 13, 0, "13.0", jjm.Gone},
		{"of another job", 12, 3, "12.4", jjm.Invalid},
		{"of another grid job", 12, 3, "13.3", jjm.Invalid},
		{"grid job for local job", 12, 3, "12", jjm.Invalid},
		{"malformed", 12, 3, "x", jjm.Invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := db.AddFragment(tc.grid, tc.local, []byte(`<fragment job="`+tc.job+`"><a/></fragment>`))
			if jjm.KindOf(err) != tc.kind || (err == nil) != (tc.kind == jjm.Unclassified) {
				t.Errorf("error %v, want kind %q", err, tc.kind)
			}
		})
	}
	if err := db.Add(Fragment{Grid: 12}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("empty fragment: %v", err)
	}
}

func TestAddFragment_IsBusyWhenTooMuchWaits(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 12, 10)
	big := `<fragment job="12.3"><a>` + strings.Repeat("x", 60_000) + `</a></fragment>`
	var err error
	for range maxPending/60_000 + 2 {
		if err = db.AddFragment(12, 3, []byte(big)); err != nil {
			break
		}
	}
	if jjm.KindOf(err) != jjm.Busy {
		t.Fatalf("error %v, want kind busy", err)
	}
	publish(t, db, 12, 10) // the publication makes room
	if err := db.AddFragment(12, 3, []byte(big)); err != nil {
		t.Error(err)
	}
	wantQuery(t, db, 12, "//localjob[@truncated='true']/@id", "12.3")
}

func TestFragments_BoundsDropTheOldestFirst(t *testing.T) {
	db, _ := open(t, t.TempDir())
	publish(t, db, 12, 2)
	for i := range 5 {
		var b strings.Builder
		for j := range 100 {
			fmt.Fprintf(&b, `<p name="%d"/>`, i*100+j)
		}
		addAll(t, db, `<fragment job="12.1">`+b.String()+`</fragment>`)
	}
	publish(t, db, 12, 2)
	got, err := db.Query(12, "//p/@name")
	if err != nil || len(got) != MaxChildren || got[0] != "300" || got[199] != "499" {
		t.Errorf("%d kept, %.20v, %v; want the last 200", len(got), got, err)
	}
	wantQuery(t, db, 12, "//localjob[@truncated='true']/@id", "12.1")
}

// genFragment draws fragments in which several elements have the same key.
func genFragment(job string) *rapid.Generator[string] {
	elem := rapid.Custom(func(t *rapid.T) string {
		tag := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tag")
		attr := rapid.SampledFrom([]string{"", ` name="1"`, ` name="2"`, ` id="1"`}).Draw(t, "key")
		return fmt.Sprintf(`<%s%s v="%d"/>`, tag, attr, rapid.IntRange(0, 999).Draw(t, "v"))
	})
	return rapid.Custom(func(t *rapid.T) string {
		return `<fragment job="` + job + `">` + strings.Join(rapid.SliceOfN(elem, 1, 5).Draw(t, "elems"), "") + `</fragment>`
	})
}

// After any sequence of additions, publications and restarts, the record contains each element with a key once, with
// its last value, and all elements without a key.
func TestFragments_TheLastElementWithAKeyStays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		db, _ := open(t, dir)
		publish(t, db, 12, 1)
		last := map[string]string{}
		loose := 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "do") {
			case 0:
				publish(t, db, 12, 1)
			case 1:
				db, _ = open(t, dir)
			default:
				s := genFragment("12.0").Draw(rt, "fragment")
				f, err := ParseFragment([]byte(s))
				if err != nil {
					rt.Fatal(err)
				}
				if err := db.Add(f); err != nil {
					rt.Fatal(err)
				}
				for _, c := range f.elements {
					if c.key == "" {
						loose++
					} else {
						last[c.key] = c.xml
					}
				}
			}
		}
		publish(t, db, 12, 1)
		for _, want := range last {
			path := "//localjob/" + want[1:2] + "[@" +
				strings.Fields(want)[1][:strings.IndexByte(strings.Fields(want)[1], '=')] + "]"
			got, err := db.Query(12, path)
			n := 0
			for _, g := range got {
				if g == want {
					n++
				}
			}
			if err != nil || n != 1 {
				rt.Fatalf("%s: %v, %v; want %s once", path, got, err, want)
			}
		}
		if got, err := db.Query(12, "//localjob/*/@v"); err != nil || len(got) != len(last)+loose {
			rt.Fatalf("%d elements, %v; want %d with a key and %d without", len(got), err, len(last), loose)
		}
	})
}

// No text may cause a panic. An accepted text is parsed back to itself, and makes a shard
// that can be parsed.
func FuzzParseFragment(f *testing.F) {
	f.Add([]byte(`<fragment job="12.3"><phase name="d0gstar" done="117" total="250"/></fragment>`))
	f.Add([]byte(`<fragment job="12" xmlns:p="urn:p"><p:a p:b="&#10;"><![CDATA[]]>]]&gt;</p:a></fragment>`))
	f.Add([]byte(`<!DOCTYPE a><fragment/>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		frag, err := ParseFragment(b)
		if err != nil {
			return
		}
		again, err := ParseFragment(frag.XML())
		if err != nil || string(again.XML()) != string(frag.XML()) {
			t.Fatalf("%q -> %q -> %q, %v", b, frag.XML(), again.XML(), err)
		}
		x := &extras{}
		for _, c := range frag.elements {
			x.put("localjob:12.0", c)
		}
		doc := appendShard(nil, 12, Shard{Jobs: []jjm.LocalJob{sampleJob(12, 0)}}, 1, x)
		back, err := loadExtras(doc, "localjobs", shardLayout())
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if n := len(back.get("localjob:12.0").kids); n != len(x.get("localjob:12.0").kids) {
			t.Fatalf("%d elements read back from\n%s", n, doc)
		}
	})
}
