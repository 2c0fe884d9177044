package hostile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
	"jjm/internal/testkit/site"
)

// swellSpool writes entries to the account's box that are longer in total than an account may leave: sparse files of
// the greatest length of an entry, a file of 1 TiB, and a short file that takes much of the disk.
func swellSpool(folder string) {
	var w wave
	text, err := os.ReadFile(filepath.Join(folder, "wave"))
	if err != nil || json.Unmarshal(text, &w) != nil {
		os.Exit(1)
	}
	box := filepath.Join(w.Spool, "in", "u"+strconv.Itoa(w.Own))
	_ = os.Mkdir(box, 0o700)
	entry := func(n int, size int64) *os.File {
		name := spool.Name{Seq: int64(n + 1), Handle: jjm.Handle(w.Handle), Verb: spool.VerbSubmit}
		f, err := os.OpenFile(filepath.Join(box, name.String()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil || f.Truncate(size) != nil {
			os.Exit(1)
		}
		return f
	}
	_ = entry(0, 1<<40).Close()
	short := entry(1, 1)
	if err := unix.Fallocate(int(short.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 64<<20); err != nil {
		os.Exit(1)
	}
	_ = short.Close()
	for n := range w.Many {
		_ = entry(n+2, spool.MaxEntry).Close()
	}
}

// Mallory leaves more bytes than her client would allow. The daemon removes entries, latest first, and logs their
// owner. It never reads an entry that is too long.
func TestSpool_ABoxBeyondItsBytesIsCut(t *testing.T) {
	s := besiege(t, site.Settings{RunAs: "owner", Gate: "mode = \"0666\"\n"})
	in := filepath.Join(s.Dir, "s", "spool")
	many := 2 * spool.MaxBytes / spool.MaxEntry
	w := wave{Spool: in, Own: s.mallory.UID, Handle: string(jjm.HandleOf(s.mallory.UID, "swollen")), Many: many}
	box := filepath.Join(in, "in", "u"+strconv.Itoa(s.mallory.UID))
	s.withstands(attack{
		name: "entries of 2 GB, and one of 1 TB, in the spool",
		begin: func() {
			s.Must(s.Daemon.Process.Kill())
			<-s.Ended()
			text, err := json.Marshal(w)
			s.Must(err)
			s.Must(os.WriteFile(filepath.Join(s.Home(s.mallory), "wave"), text, 0o644))
			if out, err := s.program("attack-swell-spool").CombinedOutput(); err != nil {
				s.t.Fatalf("swell: %v %s", err, out)
			}
			if left, err := os.ReadDir(box); err != nil || len(left) != many+2 {
				t.Fatalf("%d entries lie there, %v: want %d", len(left), err, many+2)
			}
			s.Start()
			s.Until("her box is empty", func() bool {
				left, err := os.ReadDir(box)
				return err == nil && len(left) == 0
			})
		},
	})
	log, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	s.Must(err)
	for _, want := range []string{
		fmt.Sprintf("an account left too many entries: the latest are removed\" box=u%d account=%[1]d", s.mallory.UID),
		fmt.Sprintf("is longer than %d bytes", spool.MaxEntry), "bytes of the disk: at most",
	} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}
