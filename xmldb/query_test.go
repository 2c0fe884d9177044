package xmldb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestQuery_Paths(t *testing.T) {
	db, _ := open(t, t.TempDir())
	s := everyState(17)
	h := sampleHead(17, 1002)
	shards := func(yield func(Shard) bool) {
		_ = yield(s) && yield(Shard{N: 1, Jobs: []jjm.LocalJob{sampleJob(17, 1000), sampleJob(17, 1001)}})
	}
	if err := db.Publish(t.Context(), h, shards); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path string
		want []string
	}{
		{"//localjob[@state='failed']/@id", []string{"17.6"}},
		{"//localjob[@state='running']/@id", []string{"17.3", "17.11", "17.1000", "17.1001"}},
		{"/gridjob/@status", []string{"running"}},
		{"/gridjob/counts/@running", []string{"1002"}},
		{"//why/text()", []string{"250 events a job: the rule of the type"}},
		{"/gridjob/phases/progress", []string{`<progress phase="simulate" done="117" total="250"/>`}},
		{"//localjob[@id='17.1000']/part/@*", []string{"event", "250001", "250", "1001"}},
		{"//localjob[@id='17.11']/message/text()", []string{"exit <139> & \a \uFFFD \uFFFD"}},
		{"//part[@first='250001']/../@id", []string{"17.1000"}},
		{"/localjobs/@shard", []string{"0", "1"}},
		{"//@schemaVersion", []string{"1.1", "1.1", "1.1"}},
		{"//localjob[1]/@id", []string{"17.0", "17.1000"}},
		{"//arg", []string{"<arg>a b</arg>", "<arg/>", "<arg>&lt;&#xD;\n&gt;</arg>"}},
		{"//arg[text()='a/b']", nil},
		{"/nothing", nil},
		{"nothing", nil},
		{"//localjob/@nothing", nil},
	} {
		t.Run(tc.path, func(t *testing.T) {
			want := tc.want
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "\a", "\uFFFD")
			}
			wantQuery(t, db, 17, tc.path, want...)
		})
	}
	whole, err := db.Query(17, "")
	if err != nil || len(whole) != 3 || !strings.Contains(whole[0], "<gridjob") ||
		!strings.Contains(whole[2], `id="17.1001"`) {
		t.Errorf("the whole record: %d files, %v", len(whole), err)
	}
}

func TestQuery_RefusesBadPaths(t *testing.T) {
	db, _ := open(t, t.TempDir())
	publish(t, db, 17, 1)
	for _, tc := range []struct{ path, want string }{
		{"//localjob[", "brackets"},
		{"//localjob[]", "empty filter"},
		{"//localjob[@state='failed]", "quotes"},
		{"//localjob[count()>1]", ""},
		{"//localjob[last()]", "unknown function"},
		{"//localjob[@='x']", "no key"},
		{"//localjob/@", "name of an attribute"},
		{"//localjob/@id='x'", "name of an attribute"},
		{"//localjob[part/@first='1']", "name of an attribute"}, // XPath, but not a condition of etree
		{"//localjob/", "no slash at the end"},
		{"/", "no slash at the end"},
		{"//", "no slash at the end"},
		{"@id", "want an element"},
		{"/@id", "want an element"},
		{"text()", "want an element"},
		{"//../*/../*/../*/../*", "a step down after .."},
		{"//localjob/../localjob", "a step down after .."},
		{"//localjob/..//part", "a step down after .."},
		{"//*//*//*//*//*", "more than three"},
		{strings.Repeat("/a", 1000), "longer than"},
		{"//localjob[@id='\x00", ""},
	} {
		t.Run(tc.path[:min(len(tc.path), 30)], func(t *testing.T) {
			got, err := db.Query(17, tc.path)
			if tc.want == "" && err == nil && len(got) == 0 {
				return // etree accepts the path, and the path matches nothing
			}
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q, %v; want an error of kind invalid with %q", got, err, tc.want)
			}
		})
	}
}

func TestQuery_IsBounded(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	shard := filepath.Join(dir, "17/jobs-0000.xml")
	big := `<a b="` + strings.Repeat("x", 1<<20) + `">`
	writeText(t, shard, "<localjobs>"+strings.Repeat(big, 40)+strings.Repeat("</a>", 40)+"</localjobs>")
	for _, path := range []string{"//a/@b", "//a", ""} {
		if got, err := db.Query(17, path); jjm.KindOf(err) != jjm.Invalid || len(got) != 0 ||
			!strings.Contains(err.Error(), "exceeds 32 MiB") {
			t.Errorf("%q: %d results, %v; want kind invalid", path, len(got), err)
		}
	}
	writeText(t, shard, "<localjobs>"+strings.Repeat("<a/>", 2<<20)+"</localjobs>")
	if _, err := db.Query(17, "//a"); jjm.KindOf(err) != jjm.Invalid ||
		!strings.Contains(err.Error(), "too many elements") {
		t.Errorf("a shard of two million elements: %v", err)
	}
}

func TestQuery_NamesAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	writeText(t, filepath.Join(dir, "17/jobs-0000.xml"), "<localjobs>")
	if _, err := db.Query(17, "//localjob"); err == nil || !strings.Contains(err.Error(), "17/jobs-0000.xml") {
		t.Errorf("error %v, want one that names the file", err)
	}
	if _, err := db.Query(17, "/gridjob/@id"); err != nil { // needs only the head
		t.Errorf("a query of the head: %v", err)
	}
	if _, err := db.Query(18, "//localjob"); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("no record: %v, want kind gone", err)
	}
}

func TestQuery_ReadsOnlyFilesOfTheRecord(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	for _, name := range []string{"jobs-1.xml", "jobs-0001.xml.bad", "jobs-+001.xml", ".jobs-0001.xml.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, "17", name), []byte("not XML"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantQuery(t, db, 17, "//localjob/@id", "17.0")
}

// FuzzQuery checks that no path causes a panic.
func FuzzQuery(f *testing.F) {
	db, _ := open(f, f.TempDir())
	publish(f, db, 17, 3)
	for _, s := range []string{"//localjob[@state='failed']/@id", "/gridjob/@status", "//*[-1]/..", "//a[@]",
		"..//[text()='\"']", "//@*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if _, err := db.Query(17, path); err != nil && jjm.KindOf(err) != jjm.Invalid {
			t.Fatalf("%q: %v", path, err)
		}
	})
}
