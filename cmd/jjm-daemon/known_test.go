package main

import (
	"testing"

	"jjm/internal/jjm"
)

// lying replaces the LFNs of files that local jobs of this site made by the paths of these files. The master dataset
// and a secondary dataset may have files with the same LFN and different paths.
func TestKnown_FilesAreNamedByWhereTheyLie(t *testing.T) {
	k := known{lies: map[fileOf]string{{jjm.OwnFiles, "a"}: "/work/a", {"cards", "a"}: "/work/cards/a"}}
	part := &jjm.Part{Input: &jjm.PartInput{Files: []string{"a", "b"},
		More: &jjm.PartMore{Secondary: []jjm.StreamFiles{{Dataset: "cards", Files: []string{"a"}}}}}}
	got := k.lying(part).Input
	if got.Files[0] != "/work/a" || got.Files[1] != "b" || got.More.Secondary[0].Files[0] != "/work/cards/a" {
		t.Errorf("%+v, %+v", got, got.More)
	}
	if part.Input.Files[0] != "a" {
		t.Error("the part itself is changed")
	}
	plain := &jjm.Part{}
	if k.lying(plain) != plain || (&known{}).lying(part) != part {
		t.Error("a part without such files is changed")
	}
}
