package gateclient_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/internal/gatekeeper"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// A grid job left hundreds of megabytes, which jjm delivers to two places. Meanwhile the daemon itself answers all
// other lookups within their deadline, and the job counts as running until the delivery is complete.
func TestBlahpd_LargeTarsHoldUpNobody(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.Start(t, "condor")
	s := newSite(t, local, "")
	s.start()
	b := s.blahpd(bed)
	const size = 300 << 20
	other, err := s.client(ample).Submit(context.Background(), s.job("other", "true"))
	s.must(err)
	s.final(other.Handle)
	a := s.attrs("large", fmt.Sprintf("truncate -s %d big; echo out", size))
	tar := filepath.Join(a["Iwd"], "second.tar")
	a["TransferOutput"], a["TransferOutputRemaps"] = "big,jjm-output.tar,again/jjm-output.tar", "again/jjm-output.tar="+tar
	id := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(a))))
	first := filepath.Join(a["Iwd"], "jjm-output.tar")
	begun := func() bool {
		left, _ := filepath.Glob(a["Iwd"] + "/.jjm-*")
		return len(left) > 0
	}
	over := make(chan struct{})
	asked := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-over:
				asked <- n
				return
			case <-time.After(time.Millisecond): // pause: between two looks
			}
			if !begun() {
				continue
			}
			l := s.client(gatekeeper.DefaultDeadline).Lookup(context.Background(), string(other.Handle))[0]
			if l.Error != nil || !gatekeeper.Final(l) {
				t.Errorf("meanwhile another job is %+v", l)
			}
			n++
		}
	}()
	b.over(id)
	close(over)
	if <-asked == 0 {
		t.Error("nothing was asked while the files were brought")
	}
	for _, file := range []string{first, tar} {
		if info, err := os.Stat(file); err != nil || info.Size() < size {
			t.Errorf("%s: %v", file, err)
		}
	}
	if info, err := os.Stat(filepath.Join(a["Iwd"], "big")); err != nil || info.Size() != size {
		t.Errorf("big: %v", err)
	}
	// Another status call finds the files there and copies nothing.
	before, err := os.Stat(tar)
	s.must(err)
	b.over(id)
	if after, err := os.Stat(tar); err != nil || !os.SameFile(before, after) {
		t.Errorf("the tar was brought again: %v", err)
	}
}
