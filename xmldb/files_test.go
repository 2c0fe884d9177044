package xmldb

import (
	"jjm/xmldb/head"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestFiles_ReturnsTheGivenHeadAndThePublishedShards(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 2500)
	decorate(t, dir)
	before := readText(t, head.Path(dir, 17))
	h := sampleHead(17, 2500)
	h.Grid.Status, h.GRAM = jjm.Done, jjm.GRAMDone
	h.Message = strings.Repeat("m", 8<<10)
	var names []string
	for f, err := range db.Files(h) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		switch text := string(f.Content); f.Name {
		case "record.xml":
			if !strings.Contains(text, `status="done"`) || !strings.Contains(text, `colour="r&amp;d"`) {
				t.Errorf("the head:\n%.2000s", text)
			}
		default:
			if text != readText(t, dir+"/17/"+f.Name) {
				t.Errorf("%s differs from what is published", f.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"record.xml", "jobs-0000.xml", "jobs-0001.xml", "jobs-0002.xml"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if readText(t, head.Path(dir, 17)) != before {
		t.Error("the published head was touched")
	}
	publish(t, db, 17, 10)
	wantDecorated(t, db)
}

func TestFiles_EndsWithTheFirstError(t *testing.T) {
	db, _ := open(t, t.TempDir())
	var errs []error
	for _, err := range db.Files(sampleHead(17, 1)) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || jjm.KindOf(errs[1]) != jjm.Gone {
		t.Errorf("errors %v; want a head, then kind gone for the folder", errs)
	}
}
