package acl

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/testkit/needs"
)

// readable reports whether an account can open a file.
func readable(t testingT, path string, uid int) bool {
	t.Helper()
	err := needs.As(uid, func() error {
		f, err := os.Open(path)
		if err == nil {
			f.Close()
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
	return err == nil
}

func TestGrant_PermitsTheseAccountsAndNobodyElse(t *testing.T) {
	needs.Root(t, "to look as others do")
	dir := needs.PublicDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	give := func(path string, p Perm, uids ...int) {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := Grant(f, p, uids...); errors.Is(err, ErrUnsupported) {
			needs.Missing(t, "access lists: "+err.Error(), "run the tests where "+path+" can have them")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	give(dir, Read|Search, 70001)
	give(path, Read, 70001, 70003)
	give(path, Read, 70001) // granting a permission again is no error
	give(path, 0, 70003)    // removes the permission of 70003
	give(dir, Search, 70004)
	for uid, want := range map[int]bool{70001: true, 70002: false, 70003: false, 70004: false} {
		if got := readable(t, path, uid); got != want {
			t.Errorf("uid %d reads: %v, want %v", uid, got, want)
		}
	}
	if readable(t, dir, 70004) || !readable(t, dir, 70001) {
		t.Error("who may search may list too, or who may list may not")
	}
}

func TestGrant_FailsIfTheFileSystemHasNoLists(t *testing.T) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Grant(f, Read, 70001); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	if err := Grant(f, Read); err != nil {
		t.Errorf("nobody to let in: %v", err)
	}
	if err := Grant(f, Read, -1); err == nil {
		t.Error("uid -1 passed")
	}
}

// For a file of mode 0640, Grant writes the same access list as "setfacl -m u:1000:r" (recorded with getfattr -e hex).
func TestGrant_WritesWhatSetfaclWrites(t *testing.T) {
	want := []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\xe8\x03\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
	if got := encode(grant(ofMode(0o640), Read, 1000)); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(grant(ofMode(0o755), Read|Search, 5)))
	f.Add([]byte("\x02\x00\x00\x00\x01"))
	f.Add([]byte("\x03\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decode(b)
		if err == nil && !slices.Equal(encode(list), b) {
			t.Errorf("%x became %x", b, encode(list))
		}
	})
}

// For any access list, Allows returns whether the kernel lets the account open the file.
func TestAllows_AgreesWithTheKernel(t *testing.T) {
	needs.Root(t, "to look as others do")
	dir := needs.PublicDir(t)
	path := filepath.Join(dir, "f")
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		_ = os.Remove(path)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ids := rapid.SampledFrom([]int{70001, 70002, 70003})
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		perm := rapid.Uint16Range(0, 7)
		list := ofMode(os.FileMode(rapid.Uint32Range(0, 0o777).Draw(t, "mode")))
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			e := entry{rapid.SampledFrom([]uint16{user, group}).Draw(t, "tag"), Perm(perm.Draw(t, "perm")),
				uint32(ids.Draw(t, "id"))}
			if !slices.ContainsFunc(list, func(o entry) bool { return o.tag == e.tag && o.id == e.id }) {
				list = append(list, e)
			}
		}
		if len(list) > 3 {
			list = append(list, entry{mask, Perm(perm.Draw(t, "mask")), none})
		}
		slices.SortStableFunc(list, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id))
		})
		if err := write(f, encode(list)); errors.Is(err, ErrUnsupported) {
			needs.Missing(whole, "access lists: "+err.Error(), "run the tests on a file system that has them")
		} else if err != nil {
			t.Fatal(err)
		}
		if err := f.Chown(ids.Draw(t, "owner"), ids.Draw(t, "group")); err != nil {
			t.Fatal(err)
		}
		uid := ids.Draw(t, "who")
		got, err := Allows(f, Read, uid, []int{uid})
		if err != nil {
			t.Fatal(err)
		}
		if want := readable(t, path, uid); got != want {
			t.Errorf("list %v: uid %d reads: %v, the kernel says %v", list, uid, got, want)
		}
	})
}

// testingT is the part of the methods that *testing.T and *rapid.T have in common.
type testingT interface {
	Helper()
	Fatal(args ...any)
}
