package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestClaim_OneWinsAndAllKnowTheWinner(t *testing.T) {
	const n = 50
	a := newBulk(t, 1)
	var all sync.WaitGroup
	var winners atomic.Int32
	holders := make([]jjm.Claim, n)
	claims := make([]jjm.Claim, n)
	for i := range n {
		claims[i] = jjm.Claim{Holder: jjm.HolderWrapper, Batch: fmt.Sprint(i), Host: "wn1", PID: i, Nonce: fmt.Sprint("n", i),
			Time: 5}
		all.Go(func() {
			holder, won, err := a.Claim(tag, 0, claims[i])
			if err != nil {
				t.Error(err)
			}
			if won {
				winners.Add(1)
			}
			holders[i] = holder
		})
	}
	all.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d winners", winners.Load())
	}
	got, err := a.ReadClaim(tag, 0)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	for _, h := range holders {
		if diff := cmp.Diff(*got, h); diff != "" {
			t.Fatalf("holder (-file +told):\n%s", diff)
		}
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
}

func TestClaim_MayBeRepeatedByItsWinner(t *testing.T) {
	a := newBulk(t, 1)
	c := jjm.Claim{Holder: jjm.HolderDaemon, Nonce: "mine"}
	for range 2 {
		if _, won, err := a.Claim(tag, 0, c); !won || err != nil {
			t.Errorf("won %t, %v", won, err)
		}
	}
	holder, won, err := a.Claim(tag, 0, jjm.Claim{Nonce: "other"})
	if won || err != nil || holder.Nonce != "mine" {
		t.Errorf("won %t, holder %+v, %v", won, holder, err)
	}
}

// forgetful is a file system whose Link always returns an error, like a network file system that loses the server's
// answer.
type forgetful struct {
	FS
	linked bool // whether Link creates the link before it returns the error
}

func (f forgetful) Link(oldname, newname string) error {
	if f.linked {
		if err := f.FS.Link(oldname, newname); err != nil {
			return err
		}
	}
	return syscall.EIO
}

func TestClaim_RecognisesItselfAfterALostAnswer(t *testing.T) {
	a := newBulk(t, 2)
	lossy := NewArea(a.Root(), forgetful{a.fs, true})
	if _, won, err := lossy.Claim(tag, 0, jjm.Claim{Nonce: "mine"}); !won || err != nil {
		t.Errorf("won %t, %v", won, err)
	}
	broken := NewArea(a.Root(), forgetful{a.fs, false})
	_, won, err := broken.Claim(tag, 1, jjm.Claim{Nonce: "mine"})
	if won || jjm.KindOf(err) != jjm.Busy || !errors.Is(err, syscall.EIO) {
		t.Errorf("won %t, %v", won, err)
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
}

func TestClaim_ACorruptOneCountsAsHeld(t *testing.T) {
	a := newBulk(t, 3)
	for pos, content := range []string{"", "{", "\x00\x00"} {
		put(t, a, posFile(tag, "claims", int32(pos), ""), content)
		holder, won, err := a.Claim(tag, int32(pos), jjm.Claim{Nonce: "x"})
		if won || err != nil || holder.Holder != jjm.HolderWrapper {
			t.Errorf("%q: won %t, holder %+v, %v", content, won, holder, err)
		}
	}
}

func TestClaim_NeedsANonceAndABulk(t *testing.T) {
	a := newArea(t)
	_, _, err := a.Claim(tag, 0, jjm.Claim{})
	mustNot(t, "no nonce", err, jjm.Invalid)
	_, _, err = a.Claim(tag, 0, jjm.Claim{Nonce: "x"})
	mustNot(t, "no bulk", err, jjm.Gone)
	if c, err := a.ReadClaim(tag, 0); c != nil || err != nil {
		t.Errorf("%v %v", c, err)
	}
}

// A job can replace a claim by any other file. The position then counts as claimed by its wrapper: no other wrapper
// starts the attempt, and a caller that wants to end the attempt learns that the attempt may run, instead of getting an
// error forever.
func TestReadClaim_HostileFilesCountAsHeld(t *testing.T) {
	a := newBulk(t, 5)
	dir := filepath.Join(a.Root(), BulkDir(tag), "claims")
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(syscall.Mkfifo(file("0"), 0o600), os.Mkdir(file("1"), 0o700),
		os.WriteFile(file("2"), make([]byte, maxClaim+1), 0o600), os.Symlink("/etc/passwd", file("3"))); err != nil {
		t.Fatal(err)
	}
	held := func(pos int32) {
		t.Helper()
		if c, err := a.ReadClaim(tag, pos); err != nil || c == nil || c.Holder != jjm.HolderWrapper {
			t.Errorf("%d: %v, %v", pos, c, err)
		}
		if c, won, err := a.Claim(tag, pos, jjm.Claim{Holder: jjm.HolderDaemon, Nonce: "n"}); err != nil || won ||
			c.Holder != jjm.HolderWrapper {
			t.Errorf("%d: claimed %v, %v, %v", pos, c, won, err)
		}
	}
	for pos := range int32(4) {
		held(pos)
	}
	if err := errors.Join(os.RemoveAll(dir), syscall.Mkfifo(dir, 0o600)); err != nil {
		t.Fatal(err)
	}
	held(4)
}
