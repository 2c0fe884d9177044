package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

const hush = "not to be told"

func secretFile(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(hush), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadCredential_AcceptsOnlyAPrivateFileOfItsOwner(t *testing.T) {
	good := secretFile(t, "good")
	c, err := ReadCredential(jjm.ProxyKind, good, nil)
	if err != nil || c.Kind != jjm.ProxyKind || string(c.Secret) != hush {
		t.Fatalf("%v, %v", c, err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	twice, open, empty, long := secretFile(t, "twice"), secretFile(t, "open"), secretFile(t, "empty"),
		secretFile(t, "long")
	err = errors.Join(os.Symlink(good, at("link")), os.Link(twice, at("second")), os.Chmod(open, 0o640),
		os.Truncate(empty, 0),
		os.Truncate(long, maxCredential+1), syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{at("link"): "not a link", twice: "2 names", open: "mode 0640",
		at("pipe"):   "not a file",
		at("folder"): "not a file", at("none"): "no such file", empty: "0 bytes",
		long: fmt.Sprint(maxCredential+1) + " bytes"} {
		c, err := ReadCredential(jjm.ProxyKind, file, nil)
		if err == nil || c.Secret != "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hush) {
			t.Errorf("%s: %v; want %q", file, err, want)
		}
		if kind := jjm.KindOf(err); kind != jjm.Denied && kind != jjm.Invalid {
			t.Errorf("%s: kind %v", file, kind)
		}
	}
}

// Root reads a credential file with the account's rights: root can read the files that the account can read, but no
// file of root or of another account.
func TestReadCredential_HasTheRightsOfTheOwner(t *testing.T) {
	needs.Root(t, "to act for others")
	dir, err := os.MkdirTemp("", "jjm-cred-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	nobody := &jjm.Owner{UID: 65534, GID: 65534}
	for name, uid := range map[string]int{"mine": nobody.UID, "root": 0, "other": 12345} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, []byte(hush), 0o600), os.Chown(file, uid, uid),
			os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		_, err := ReadCredential(jjm.TokenKind, file, nobody)
		if (err == nil) != (name == "mine") {
			t.Errorf("%s: %v", name, err)
		}
		if name != "mine" && jjm.KindOf(err) != jjm.Denied {
			t.Errorf("%s: kind %v", name, jjm.KindOf(err))
		}
	}
}

// While the file does not change, Refresh must not call the daemon. After an error that may pass, Refresh must return
// the old stamp of the file, so that the next call sends the file again.
func TestRefresh_SendsAFileThatChanged(t *testing.T) {
	s := open(t)
	r, err := s.Submit(t.Context(), job("k"))
	if err != nil {
		t.Fatal(err)
	}
	file := secretFile(t, "proxy")
	asked := 0
	s.fake.Hook = func(_ context.Context, verb string) error {
		if verb == wire.VerbRenew().Name {
			asked++
		}
		return nil
	}
	refresh := func(seen Stamp, calls int) Stamp {
		t.Helper()
		got, err := s.Refresh(t.Context(), string(r.Handle), jjm.ProxyKind, file, nil, seen)
		if err != nil || asked != calls {
			t.Errorf("stamp %s, %v; the daemon was asked %d times, want %d", got, err, asked, calls)
		}
		return got
	}
	first := refresh("", 1)
	if again := refresh(first, 1); again != first {
		t.Errorf("the stamp of what did not change is %s, was %s", again, first)
	}
	if err := errors.Join(os.WriteFile(file, []byte("newer"), 0o600),
		os.Chtimes(file, time.Now(), time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	second := refresh(first, 2)
	s.fake.Hook = func(context.Context, string) error { return jjm.Errorf(jjm.Conflict, "did not ask") }
	if got, err := s.Refresh(t.Context(), string(r.Handle), jjm.ProxyKind, file, nil, first); err != nil || got != second {
		t.Errorf("no use for it: %s, %v", got, err)
	}
	s.server.Stop()
	if got, err := s.Refresh(t.Context(), string(r.Handle), jjm.ProxyKind, file, nil, first); err == nil || got != first {
		t.Errorf("nobody there: %s, %v", got, err)
	}
}

// An entry of the spool contains only the credentials that the job file requests. If a group can read the spool, no
// entry contains a credential.
func TestDoor_CredentialsInTheSpool(t *testing.T) {
	s := open(t)
	s.server.Stop()
	asking := job("asks")
	asking.Text = "type = \"script\"\ncredentials = [\"proxy\"]\n"
	other := job("does not")
	given := []jjm.Credential{{Kind: jjm.ProxyKind, Secret: hush}, {Kind: jjm.TokenKind, Secret: hush}}
	asking.Credentials, other.Credentials = given, given
	for _, j := range []Job{asking, other} {
		if _, err := s.Submit(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	box := s.box(t)
	names, _, _, err := box.List(10)
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		note, _, err := box.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if note.Submit.Key == "asks" {
			want = 1
		}
		info, err := os.Stat(filepath.Join(box.Path(), name.String()))
		if len(note.Submit.Credentials) != want || err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d credentials, want %d; %v", note.Submit.Key, len(note.Submit.Credentials), want, err)
		}
	}
	if err := os.Chmod(filepath.Join(s.Spool, "in"), 0o770|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	asking.Key = "again"
	if _, err := s.Submit(t.Context(), asking); jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("into a spool that others read: %v", err)
	}
	other.Key = "other"
	if _, err := s.Submit(t.Context(), other); err != nil {
		t.Errorf("what nobody asks for keeps nothing out: %v", err)
	}
}
