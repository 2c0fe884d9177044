package catalogue_test

import (
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/work/catalogue"
)

func TestLook_JudgesOnlyFilesOfItsSource(t *testing.T) {
	folder := catalogue.LookInto("/d", "*.root", []catalogue.Entry{
		{Name: "same.root", Size: 5}, {Name: "grew.root", Size: 9}, {Name: "emptied.root", Size: 0},
		{Name: "growing.root", Size: 7, Modified: 200},
	}, 100)
	program := catalogue.Look{Covers: func(lfn string) bool { return lfn != "/d/hand" }, Files: map[string]jjm.File{
		"/d/same": {Checksum: "AD:1"}, "/d/other": {Checksum: "ad:2"}, "/d/unknown": {}, "/d/size": {Size: 3}}}
	for _, test := range []struct {
		look  catalogue.Look
		file  jjm.File
		state jjm.FileState
		ok    bool
	}{
		{folder, jjm.File{LFN: "/d/same.root", Size: 5}, jjm.FileReady, true},
		{folder, jjm.File{LFN: "/d/same.root"}, jjm.FileReady, true},
		{folder, jjm.File{LFN: "/d/grew.root", Size: 5}, jjm.FileBroken, true},
		{folder, jjm.File{LFN: "/d/emptied.root", Size: 5}, jjm.FileBroken, true},
		{folder, jjm.File{LFN: "/d/growing.root", Size: 5}, jjm.FileReady, false},
		{folder, jjm.File{LFN: "/d/gone.root", Size: 5}, jjm.FileLost, true},
		{folder, jjm.File{LFN: "/d/gone.txt", Size: 5}, jjm.FileReady, false},
		{folder, jjm.File{LFN: "/e/gone.root", Size: 5}, jjm.FileReady, false},
		{folder, jjm.File{LFN: "/d/sub/gone.root", Size: 5}, jjm.FileReady, false},
		{program, jjm.File{LFN: "/d/same", Checksum: "ad:1", Size: 5}, jjm.FileReady, true},
		{program, jjm.File{LFN: "/d/other", Checksum: "ad:1"}, jjm.FileBroken, true},
		{program, jjm.File{LFN: "/d/unknown", Checksum: "ad:1", Size: 5}, jjm.FileReady, true},
		{program, jjm.File{LFN: "/d/size", Size: 5}, jjm.FileBroken, true},
		{program, jjm.File{LFN: "/d/gone"}, jjm.FileLost, true},
		{program, jjm.File{LFN: "/d/hand"}, jjm.FileReady, false},
	} {
		state, why, ok := test.look.Judge(&test.file)
		if state != test.state || ok != test.ok || (state == jjm.FileReady) != (why == "") {
			t.Errorf("%s: %v, %t, because %q", test.file.LFN, state, ok, why)
		}
	}
}
