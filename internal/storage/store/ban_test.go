package store

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestBans_AreStoredReplacedAndDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	number := 1003
	user := jjm.Ban{Kind: jjm.BanUser, Name: "O'Brien; --", Account: &number, Reason: "y\n", By: "alice", UID: 1001,
		Since: 7}
	dn := jjm.Ban{Kind: jjm.BanDN, Name: "/CN=Ünal", Reason: "x", By: "root", Since: 5}
	same := dn
	same.Name = `CN=\C3\9CNAL`
	update(t, s, func(tx *Tx) error {
		for _, b := range []jjm.Ban{user, dn} {
			if err := tx.PutBan(b); err != nil {
				return err
			}
		}
		user.Name, user.Reason, user.UID = "another name of the account", "again", 0
		return tx.PutBan(user)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	check := func(want ...jjm.Ban) {
		t.Helper()
		got, err := s.Bans(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	check(dn, user)
	for range 2 {
		update(t, s, func(tx *Tx) error { return tx.DropBan(same) })
	}
	check(user)
	for _, bad := range []jjm.Ban{{}, {Kind: "host", Name: "a", Reason: "b"}, {Kind: "user", Name: "a"},
		{Kind: "dn", Reason: "b"}} {
		err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutBan(bad) })
		wantKind(t, err, jjm.Internal)
	}
}
