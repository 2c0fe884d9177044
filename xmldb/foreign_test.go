package xmldb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// decorate writes foreign content into every known element of both files.
func decorate(t *testing.T, dir string) {
	t.Helper()
	headFile, shard := filepath.Join(dir, "17/record.xml"), filepath.Join(dir, "17/jobs-0000.xml")
	for _, e := range [][2]string{
		{`<gridjob schemaVersion`, `<gridjob xmlns:x="urn:x" x:seen="yes" colour="r&amp;d" schemaVersion`},
		{`<message/>`, `<message x:by="me"><b>bold</b></message>`},
		{`<reason/>`, `<reason lang="en"/>`},
		{`<counts `, `<counts lost="2" `},
		{`<clusterjob id`, `<clusterjob rack="4" id`},
		{`</clusterjobs>`, `<x:other/></clusterjobs>`},
		{`<why>`, `<why who="admin">`},
		{`</step>`, `<x:note>slow</x:note></step>`},
		{`<progress phase="simulate"`, `<progress eta="5m" phase="simulate"`},
		{`</phases>`, `<x:p/></phases>`},
		{`<output/>`, `<output url="http://h/17.tar"><mirror/></output>`},
		{`<shard n="0"`, `<shard md5="0" n="0"`},
		{`</shards>`, `<x:s/></shards>`},
		{`</gridjob>`, "<ticket n=\"1\">\n  <a/>text <![CDATA[<&]]><!-- gone --></ticket><ticket n=\"2\"/></gridjob>"},
	} {
		edit(t, headFile, e[0], e[1])
	}
	for _, e := range [][2]string{
		{`<localjobs `, `<localjobs xmlns:x="urn:x" origin="site" `},
		{`<localjob id="17.3"`, `<localjob x:flag="1" id="17.3"`},
		{`first="751"`, `first="751" lumi="12"`},
		{`serial="4"/><message/>`, `serial="4"><x:file name="f"/></part><message hint="disk"/>`},
		{`<progress phase="simulate" done="117" total="250"/></localjob>` + "\n" + `<localjob id="17.4"`,
			`<progress phase="simulate" done="117" total="250" rate="3"/><phase name="d0gstar"/><x:part/></localjob>` + "\n" +
				`<localjob id="17.4"`},
		{`</localjobs>`, `<x:sum n="1"/></localjobs>`},
	} {
		edit(t, shard, e[0], e[1])
	}
}

// wantDecorated checks that the record still has all the content that decorate wrote.
func wantDecorated(t *testing.T, db *DB) {
	t.Helper()
	for path, want := range map[string]string{
		"/gridjob/@x:seen":                      "yes",
		"/gridjob/@colour":                      "r&d",
		"/gridjob/message/@x:by":                "me",
		"/gridjob/message/b":                    "<b>bold</b>",
		"/gridjob/reason/@lang":                 "en",
		"/gridjob/counts/@lost":                 "2",
		"/gridjob/clusterjobs/clusterjob/@rack": "4",
		"/gridjob/clusterjobs/x:other":          "<x:other/>",
		"/gridjob/step/why/@who":                "admin",
		"/gridjob/step/x:note/text()":           "slow",
		"/gridjob/phases/progress/@eta":         "5m",
		"/gridjob/phases/x:p":                   "<x:p/>",
		"/gridjob/output/@url":                  "http://h/17.tar",
		"/gridjob/output/mirror":                "<mirror/>",
		"/gridjob/shards/shard/@md5":            "0",
		"/gridjob/shards/x:s":                   "<x:s/>",
		"/gridjob/ticket[@n='1']":               "<ticket n=\"1\">\n  <a/>text &lt;&amp;</ticket>",
		"/gridjob/ticket[@n='2']":               `<ticket n="2"/>`,
		"/localjobs/@origin":                    "site",
		"/localjobs/localjob/@x:flag":           "1",
		"//localjob[@id='17.3']/part/@lumi":     "12",
		"//localjob[@id='17.3']/part/x:file":    `<x:file name="f"/>`,
		"//localjob[@id='17.3']/message/@hint":  "disk",
		"//localjob[@id='17.3']/progress/@rate": "3",
		"//localjob[@id='17.3']/phase/@name":    "d0gstar",
		"//localjob[@id='17.3']/x:part":         "<x:part/>",
		"/localjobs/x:sum/@n":                   "1",
	} {
		got, err := db.Query(17, path)
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, %v; want %q once", path, got, err, want)
		}
	}
}

func TestForeign_ContentStaysInEveryElement(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 17, 10)
	decorate(t, dir)
	for range 3 {
		publish(t, db, 17, 10)
		wantDecorated(t, db)
	}
	first := readText(t, filepath.Join(dir, "17/jobs-0000.xml"))
	db2, w2 := open(t, dir) // after a restart
	publish(t, db2, 17, 10)
	wantDecorated(t, db2)
	if diff := cmp.Diff(first, readText(t, filepath.Join(dir, "17/jobs-0000.xml"))); diff != "" {
		t.Errorf("the shard changes at every publication:\n%s", diff)
	}
	if len(w.all())+len(w2.all()) > 0 {
		t.Errorf("warnings: %v %v", w.all(), w2.all())
	}
}

func TestForeign_OwnAttributesAndElementsWin(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 10)
	edit(t, head.Path(dir, 17), `status="running"`, `status="done"`)
	edit(t, filepath.Join(dir, "17/jobs-0000.xml"), `state="running"`, `state="failed" exit="9"`)
	publish(t, db, 17, 10)
	wantQuery(t, db, 17, "/gridjob/@status", "running")
	wantQuery(t, db, 17, "//localjob[@state='failed']")
	wantQuery(t, db, 17, "//localjob[@exit]")
}

func TestForeign_ElementsOfOursGivenTwiceAreDropped(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 17, 2)
	edit(t, filepath.Join(dir, "17/jobs-0000.xml"), "</localjobs>",
		`<localjob id="17.1" a="1"><message a="1"/><message a="2"/><x/></localjob><localjob a="2"/></localjobs>`)
	publish(t, db, 17, 2)
	wantQuery(t, db, 17, "//localjob/@id", "17.0", "17.1")
	wantQuery(t, db, 17, "//@a")
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestForeign_IsCutFirstWhenTheHeadIsFull(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 17, 10)
	for i := range 10 {
		name := string(rune('a' + i))
		addAll(t, db, `<fragment job="17"><`+name+`>`+strings.Repeat(name, 10_000)+`</`+name+`></fragment>`)
	}
	h := sampleHead(17, 10)
	h.Message = strings.Repeat("m", 8<<10)
	if err := db.Publish(t.Context(), h, shardsOf(17, 0)); err != nil {
		t.Fatal(err)
	}
	got, err := head.Read(dir, 17)
	if err != nil || got.Message != h.Message {
		t.Errorf("message of %d bytes, %v; want it whole", len(got.Message), err)
	}
	wantQuery(t, db, 17, "/gridjob/@truncated", "true")
	if got, err := db.Query(17, "/gridjob/j"); len(got) != 1 || err != nil {
		t.Errorf("the newest foreign element: %d, %v; want it kept", len(got), err)
	}
	if got, err := db.Query(17, "/gridjob/a"); len(got) != 0 || err != nil {
		t.Errorf("the oldest foreign element: %d, %v; want it cut", len(got), err)
	}
	publish(t, db, 17, 10)
	wantQuery(t, db, 17, "/gridjob/@truncated", "true") // the record still says that content was lost
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestForeign_AttributesGoWhenNothingElseHelps(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 10)
	edit(t, head.Path(dir, 17), `<counts `, `<counts a="`+strings.Repeat("x", 63<<10)+`" `)
	h := sampleHead(17, 10)
	h.Message = strings.Repeat("m", 8<<10)
	if err := db.Publish(t.Context(), h, shardsOf(17, 0)); err != nil {
		t.Fatal(err)
	}
	if got, err := head.Read(dir, 17); err != nil || got.Message != h.Message {
		t.Errorf("message of %d bytes, %v; want it whole", len(got.Message), err)
	}
}

func TestForeign_AShardKeepsLessOfEachJobWhenFull(t *testing.T) {
	x := &extras{}
	big := strings.Repeat("x", 60<<10)
	for i := range 1000 {
		x.put(kidPath("", "localjob", jjm.LocalID{Grid: 1, N: int32(i)}.String()), child{xml: big})
		x.put(kidPath("", "localjob", jjm.LocalID{Grid: 1, N: int32(i)}.String()), child{xml: "<small/>"})
	}
	sum, small := 0, 0
	for _, f := range x.at {
		sum += f.size()
		if n := len(f.kids); n > 0 && f.kids[n-1].xml == "<small/>" {
			small++
		}
	}
	if sum != x.bytes || sum > maxShardForeign+1000*jobFloor || small != 1000 {
		t.Errorf("%d bytes kept, counted %d; %d of 1000 newest elements", sum, x.bytes, small)
	}
}

func TestLoad_ReadsAFileOnlyIfItChanged(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	counting := &countingDisk{disk: db.fs}
	db.fs = counting
	publish(t, db, 17, 2000)
	publish(t, db, 17, 2000)
	// Publish opens the folder of the grid job to set its access list.
	if files := slices.DeleteFunc(counting.read, func(name string) bool { return name == "17" }); len(files) > 0 {
		t.Errorf("files of its own that it read: %v", files)
	}
	addAll(t, db, `<fragment job="17.1500"><phase name="a"/></fragment>`)
	counting.read = nil
	publish(t, db, 17, 2000)
	publish(t, db, 17, 2000)
	if diff := cmp.Diff([]string{"17/fragments-0001.pending"}, counting.read); diff != "" {
		t.Errorf("files read (-want +got):\n%s", diff)
	}
	edit(t, filepath.Join(dir, "17/jobs-0000.xml"), `<localjobs`, `<localjobs a="1"`)
	counting.read = nil
	publish(t, db, 17, 2000)
	if diff := cmp.Diff([]string{"17/jobs-0000.xml"}, counting.read); diff != "" {
		t.Errorf("files read after an edit (-want +got):\n%s", diff)
	}
	wantQuery(t, db, 17, "//phase/@name", "a")
	wantQuery(t, db, 17, "/localjobs/@a", "1")
}

// countingDisk notes the names of the files that are opened for reading.
type countingDisk struct {
	disk
	read []string
}

func (d *countingDisk) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := d.disk.OpenFile(name, flag, perm)
	if err == nil && flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		d.read = append(d.read, name)
	}
	return f, err
}

// racingDisk calls the function before as soon as a new temporary file has been opened. So a test can change a file of
// the record after Publish has read the file and before Publish replaces it.
type racingDisk struct {
	disk
	before func()
}

func (d *racingDisk) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := d.disk.OpenFile(name, flag, perm)
	if flag&os.O_EXCL != 0 && d.before != nil {
		d.before()
	}
	return f, err
}

func TestPublish_KeepsAnEditThatCameInBetween(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 2)
	racing := &racingDisk{disk: db.fs}
	racing.before = func() {
		racing.before = nil
		edit(t, filepath.Join(dir, "17/jobs-0000.xml"), `</localjob>`, `<late/></localjob>`)
	}
	db.fs = racing
	publish(t, db, 17, 2)
	wantQuery(t, db, 17, "//localjob/late", "<late/>")
	wantNames(t, filepath.Join(dir, "17"), "jobs-0000.xml", "record.xml")
}

func TestPublish_DoesNotWaitForAnEditorThatNeverRests(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 2)
	edits := 0
	db.fs = &racingDisk{disk: db.fs, before: func() {
		edits++
		edit(t, filepath.Join(dir, "17/jobs-0000.xml"), `<localjobs`, `<localjobs `)
	}}
	head := sampleHead(17, 2)
	head.Message = "at last"
	if err := db.Publish(context.Background(), head, shardsOf(17, 2)); err != nil {
		t.Fatal(err)
	}
	// The shard was edited during each attempt to write it. The head was written once.
	if edits != maxTries+1 {
		t.Errorf("files were begun %d times: want %d tries for the shard and one for the head", edits, maxTries)
	}
	wantQuery(t, db, 17, "/gridjob/message/text()", "at last")
}

func TestCorrupt_FilesAreSetAsideAndReplaced(t *testing.T) {
	const shard = "17/jobs-0000.xml"
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, path string)
	}{
		{"empty", func(t *testing.T, path string) { writeText(t, path, "") }},
		{"truncated", func(t *testing.T, path string) {
			text := readText(t, path)
			writeText(t, path, text[:len(text)/2])
		}},
		{"not XML", func(t *testing.T, path string) { writeText(t, path, "\x00\x01garbage") }},
		{"another document", func(t *testing.T, path string) { writeText(t, path, "<html/>") }},
		{"of another namespace", func(t *testing.T, path string) { writeText(t, path, `<localjobs xmlns="urn:x"/>`) }},
		{"attribute twice", func(t *testing.T, path string) { writeText(t, path, `<localjobs a="1" a="2"/>`) }},
		{"document type", func(t *testing.T, path string) { writeText(t, path, `<!DOCTYPE localjobs><localjobs/>`) }},
		{"very deep", func(t *testing.T, path string) {
			writeText(t, path, "<localjobs>"+nest(100_000)+"</localjobs>")
		}},
		{"two documents", func(t *testing.T, path string) { writeText(t, path, "<localjobs/><localjobs/>") }},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(path, "in/it"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"a fifo", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link out of the folder", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/etc/passwd", path); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			db, w := open(t, dir)
			publish(t, db, 17, 10)
			want := readText(t, filepath.Join(dir, shard))
			for range 2 { // the second copy replaces the first
				tc.do(t, filepath.Join(dir, shard))
				publish(t, db, 17, 10)
				if got := readText(t, filepath.Join(dir, shard)); got != want {
					t.Errorf("the shard was not replaced:\n%s", got)
				}
				if _, err := os.Lstat(filepath.Join(dir, shard+".bad")); err != nil {
					t.Errorf("the copy: %v", err)
				}
			}
			wantNames(t, filepath.Join(dir, "17"), "jobs-0000.xml", "jobs-0000.xml.bad", "record.xml")
			if got := w.all(); len(got) != 2 || !strings.Contains(got[0], shard) {
				t.Errorf("warnings %v, want two that name the file", got)
			}
		})
	}
}

func TestCorrupt_HeadIsReplacedToo(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 17, 10)
	writeText(t, head.Path(dir, 17), `<gridjob id="17"`)
	if _, err := head.Read(dir, 17); jjm.KindOf(err) != jjm.Internal {
		t.Errorf("reading a corrupt head: %v, want kind internal", err)
	}
	publish(t, db, 17, 10)
	if _, err := head.Read(dir, 17); err != nil {
		t.Error(err)
	}
	if len(w.all()) != 1 {
		t.Errorf("warnings: %v, want one", w.all())
	}
}

// For any content of a head, the written head is read back equal.
func TestHead_RoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[a-zA-Z0-9 <>&"'\t\n\ré€𝄞.,/=-]{0,30}`)
	count := rapid.IntRange(0, 1_000_000)
	at := rapid.Custom(func(t *rapid.T) jjm.Time { return jjm.Time(rapid.Int64Range(0, int64(4e12)).Draw(t, "time")) })
	rapid.Check(t, func(t *rapid.T) {
		var h Head
		g := &h.Grid
		g.ID = jjm.GridID(rapid.Int64Range(1, 1<<62).Draw(t, "id"))
		g.Owner = jjm.Owner{UID: count.Draw(t, "uid"), GID: count.Draw(t, "gid"), User: text.Draw(t, "user")}
		g.Spec = jjm.Spec{Type: text.Draw(t, "type"), Name: text.Draw(t, "name"), Key: text.Draw(t, "key"),
			Mode: text.Draw(t, "mode"), Result: text.Draw(t, "result")}
		g.Status = jjm.GridStatus(rapid.IntRange(0, jjm.NumGridStatuses-1).Draw(t, "status"))
		g.Generation = rapid.IntRange(1, 3).Draw(t, "generation")
		for n := 1; n < g.Generation; n++ {
			e := head.Ending{GRAM: jjm.GRAMFailed, GRAMCode: count.Draw(t, "code"), Message: text.Draw(t, "told"),
				Master: text.Draw(t, "word"), Jobs: count.Draw(t, "made"), TarPath: text.Draw(t, "at"),
				Ending: jjm.Ending{Generation: n, Status: jjm.Finished, Kill: rapid.Bool().Draw(t, "killed"),
					KillBy: text.Draw(t, "killer"), Exit: count.Draw(t, "ended with"), Expected: count.Draw(t, "of"),
					Tar: text.Draw(t, "name of tar"), TarBytes: rapid.Int64().Draw(t, "size"), TarSHA256: text.Draw(t, "sum"),
					Ended: at.Draw(t, "over"), Reopened: at.Draw(t, "reopened"), By: text.Draw(t, "who"), Why: text.Draw(t, "why")}}
			e.Counts[jjm.Completed], e.Counts[jjm.Killed] = count.Draw(t, "completed"), count.Draw(t, "killed")
			if rapid.Bool().Draw(t, "used") {
				e.Usage = &jjm.Usage{Batch: text.Draw(t, "batch"), WallMS: 3, Processors: 1, Ended: at.Draw(t, "until")}
			}
			h.Endings = append(h.Endings, e)
		}
		g.Kill, g.KillBy, g.Reason = rapid.Bool().Draw(t, "kill"), text.Draw(t, "by"), text.Draw(t, "reason")
		g.Accepted, g.Changed, g.Ended = at.Draw(t, "accepted"), at.Draw(t, "changed"), at.Draw(t, "ended")
		g.Step = jjm.Step{Prepared: rapid.Bool().Draw(t, "prepared"), Cluster: text.Draw(t, "cluster"),
			Splitter: text.Draw(t, "splitter"), Expected: count.Draw(t, "expected"), Made: count.Draw(t, "made"),
			Closed: rapid.Bool().Draw(t, "closed")}
		g.Step.Why = append(g.Step.Why, rapid.SliceOfN(text, 0, 5).Draw(t, "why")...)
		g.Tar, g.TarBytes, g.TarSHA256 = text.Draw(t, "tar"), rapid.Int64().Draw(t, "bytes"), text.Draw(t, "sha")
		for s := range h.Counts {
			h.Counts[s] = count.Draw(t, "count")
		}
		h.GRAM = rapid.SampledFrom([]jjm.GRAM{1, 2, 4, 8, 16, 32}).Draw(t, "gram")
		h.GRAMCode, h.Message, h.Master = count.Draw(t, "code"), text.Draw(t, "message"), text.Draw(t, "master")
		h.Exit, h.Tar, h.Jobs, h.Written = rapid.IntRange(-1, 255).Draw(t, "exit"), text.Draw(t, "path"),
			count.Draw(t, "jobs"), at.Draw(t, "written")
		for _, p := range rapid.SliceOfN(text, 0, 3).Draw(t, "phases") {
			h.Phases = append(h.Phases, jjm.Progress{Phase: p, Done: rapid.Int64().Draw(t, "done"),
				Total: rapid.Int64().Draw(t, "total")})
		}
		b, err := encodeHead(nil, &h, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := head.Parse(b)
		if diff := cmp.Diff(h, got); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s\n%s", err, diff, b)
		}
		if x, err := loadExtras(b, "gridjob", headLayout()); x != nil || err != nil {
			t.Fatalf("the head has foreign content in jjm's own eyes: %+v, %v", x, err)
		}
	})
}

// No text of a shard causes a panic, and the elements that are kept can be parsed again unchanged.
func FuzzLoad(f *testing.F) {
	clean := appendShard(nil, 12, Shard{Jobs: []jjm.LocalJob{sampleJob(12, 0)}}, 1, nil)
	f.Add(clean)
	f.Add([]byte(strings.Replace(string(clean), `attempt="1"`, `attempt="1" xmlns:x="urn:x" x:a="&#9;"`, 1)))
	f.Add([]byte(
		`<localjobs><localjob id="12.0" a="1"><part><arg q=""/></part><phase name="x"/><phase name="x"/></localjob><y/></localjobs>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := loadExtras(b, "localjobs", shardLayout())
		if err != nil {
			return
		}
		doc := appendShard(nil, 12, Shard{Jobs: []jjm.LocalJob{sampleJob(12, 0)}}, 1, x)
		y, err := loadExtras(doc, "localjobs", shardLayout())
		if err != nil {
			t.Fatalf("%v in\n%s\nmade from\n%s", err, doc, b)
		}
		again := appendShard(nil, 12, Shard{Jobs: []jjm.LocalJob{sampleJob(12, 0)}}, 1, y)
		if diff := cmp.Diff(string(doc), string(again)); diff != "" {
			t.Fatalf("rewriting changes it:\n%s", diff)
		}
	})
}
