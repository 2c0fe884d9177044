package condor_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/adapters/condor"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// foreign makes HTCondor run jobs as nobody, who cannot read the owner's files. Jobs therefore see only transferred
// files.
func foreign(c *condor.Config) {
	c.SharedFS = false
	c.Directives = []string{"+RunAsOwner = false"}
}

func TestCarry(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.Start(t, "condor")
	for name, do := range map[string]func(s *site){
		"parcels come back":                            parcels,
		"each gets a folder of its own":                folders,
		"what cannot be sent is held, and runs later":  notSent,
		"what cannot come back is held, and runs once": notBack,
		"a bulk without files runs":                    nothingCarried,
		"a newer proxy reaches a job that runs":        renews,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(newSite(t, bed, foreign))
		})
	}
}

// area makes a folder that only the owner can read, with the files that a job needs, and a world-writable folder, whose
// path is in the environment variable seen.
func (s *site) area(script string) adapters.Bulk {
	s.Helper()
	area := filepath.Join(s.dir, "area")
	b := s.bulk(3, "")
	b.Argv, b.Dir = []string{"./wrapper", s.dir}, "/nonexistent"
	b.Transfer = &adapters.Transfer{
		In:  []string{filepath.Join(area, "bin", "wrapper"), filepath.Join(area, "box.tar"), filepath.Join(area, "0a1b")},
		Out: "parcel.tar", Back: filepath.Join(area, "back"),
	}
	for name, text := range map[string]string{
		"bin/wrapper": "#!/bin/sh\nset -e\n" + script, "box.tar": "a box\n",
		"0a1b/sub/some name, with;odd 'signs' é": "an input\n", "back/x": "",
	} {
		path := filepath.Join(area, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			s.Fatal(err)
		}
	}
	err := filepath.WalkDir(area, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, s.bed.Owner.UID, s.bed.Owner.GID)
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := os.Chmod(area, 0o700); err != nil {
		s.Fatal(err)
	}
	return b
}

// filler is the number of bytes added to each parcel, which makes the transfer slow.
const filler = 4 << 20

func parcels(s *site) {
	b := s.area(`! ls "$1/area" 2>/dev/null || exit 90
[ "$(ls)" = "0a1b
box.tar
wrapper" ] || exit 91
id -u >tmp
cat box.tar 0a1b/sub/* >>tmp
echo "$JJM_INDEX $JJM_BATCH_ID" >>tmp
head -c ` + strconv.Itoa(filler) + ` /dev/zero >>tmp
echo more >other
mv tmp parcel.tar
exit $((JJM_INDEX + 3))
`)
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	for i := range 3 {
		r := s.untilOf(i, "over", b, over)
		if r.State != jjm.BatchEndedFailed || r.Exit != i+3 {
			s.Errorf("job %d: %+v", i, r)
		}
		// The first listing that shows the end must find the whole parcel.
		got, err := os.ReadFile(filepath.Join(b.Transfer.Back, strconv.Itoa(i)))
		want := "65534\na box\nan input\n" + strconv.Itoa(i) + " " + id + "." + strconv.Itoa(i) + "\n"
		if err != nil || !bytes.HasPrefix(got, []byte(want)) || len(got) != len(want)+filler {
			s.Errorf("job %d: parcel of %d bytes, %.80q, error %v", i, len(got), got, err)
		}
	}
	left, err := os.ReadDir(b.Transfer.Back)
	if err != nil || len(left) != 4 { // 4 includes the file that was in the folder before
		s.Errorf("came back: %v, error %v", left, err)
	}
}

// In the transferred folders, links to files elsewhere arrive as files, and an empty folder arrives as an empty folder.
func folders(s *site) {
	b := s.area(`cd "$JJM_INDEX" && { ls; cat -- * 2>/dev/null || :; } >../parcel.tar`)
	area := filepath.Dir(filepath.Dir(b.Transfer.In[0]))
	b.Transfer.Each = filepath.Join(area, "in")
	made := filepath.Join(area, "box.tar")
	for i := range b.N {
		dir := filepath.Join(b.Transfer.Each, strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.Fatal(err)
		}
		for n := range i {
			if err := os.Link(made, filepath.Join(dir, strconv.Itoa(n))); err != nil {
				s.Fatal(err)
			}
		}
	}
	if out, err := exec.Command("chown", "-R", strconv.Itoa(s.bed.Owner.UID),
		b.Transfer.Each).CombinedOutput(); err != nil {
		s.Fatal(string(out))
	}
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	for i, want := range []string{"", "0\na box\n", "0\n1\na box\na box\n"} {
		if r := s.untilOf(i, "over", b, over); r.State != jjm.BatchEndedOK {
			s.Errorf("job %d: %+v", i, r)
		}
		if got, err := os.ReadFile(filepath.Join(b.Transfer.Back, strconv.Itoa(i))); err != nil || string(got) != want {
			s.Errorf("job %d: %q, error %v, want %q", i, got, err, want)
		}
	}
}

// The transfer of the input failed, so the job did not start. A release may let it run.
func notSent(s *site) {
	b := s.area("echo x >>\"$1/ran\"; chmod a+rw \"$1/ran\"; echo >parcel.tar")
	b.N = 1
	box := b.Transfer.In[1]
	if err := os.Rename(box, box+".away"); err != nil {
		s.Fatal(err)
	}
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	r := s.until("held", b, func(r jjm.Report) bool { return r.State == jjm.BatchHold && r.Hold != "15/0" })
	if r.Hold != "13/2" || !strings.Contains(r.Reason, box) {
		s.Errorf("%+v", r)
	}
	if err := os.Rename(box+".away", box); err != nil {
		s.Fatal(err)
	}
	s.control(adapters.Release, refs(b, id)...)
	if r := s.until("over", b, over); r.State != jjm.BatchEndedOK || s.lines("ran") != 1 {
		s.Errorf("%+v, %d runs", r, s.lines("ran"))
	}
}

// The job ran, but its parcel, the file with its results, did not arrive. The job does not count as ended before the
// parcel has arrived, and a release must not run the job again.
func notBack(s *site) {
	b := s.area("echo x >>\"$1/ran\"")
	b.N = 1
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	r := s.until("held", b, func(r jjm.Report) bool {
		if r.State.Ended() {
			s.Fatalf("%+v", r)
		}
		return r.State == jjm.BatchHold && r.Hold != "15/0"
	})
	if r.Hold != "12/2" || !strings.Contains(r.Reason, "parcel.tar") {
		s.Errorf("%+v", r)
	}
	s.control(adapters.Release, refs(b, id)...)
	if r := s.until("over", b, over); r.State != jjm.BatchAborted || s.lines("ran") != 1 {
		s.Errorf("%+v, %d runs", r, s.lines("ran"))
	}
}

// A job without a transfer gets no files back: they would be written to the root folder, and the job would be held.
func nothingCarried(s *site) {
	b := s.bulk(1, "pwd >"+s.dir+"/where; touch litter; exit 5")
	b.Dir = "/nonexistent"
	s.control(adapters.Release, refs(b, s.submit(b))...)
	if r := s.until("over", b, over); r.Exit != 5 {
		s.Errorf("%+v", r)
	}
}
