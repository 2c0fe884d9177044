package jjm

import "testing"

func TestBan_Concerns(t *testing.T) {
	const mallory = "/DC=org/DC=site/CN=Mallory"
	for _, c := range []struct {
		ban  string
		whom Whom
		want bool
	}{
		{"mallory", Whom{User: "alice", DNs: []string{"mallory"}}, false},
		{mallory, Whom{User: "pool1", DNs: []string{mallory}}, true},
		{mallory, Whom{User: "pool1", DNs: []string{mallory + "/CN=1234567/CN=limited proxy"}}, true},
		{mallory, Whom{User: "pool1", DNs: []string{mallory + " Smith"}}, false},
		{mallory, Whom{User: "pool1", DNs: []string{mallory + "/OU=x"}}, false},
		{mallory, Whom{User: "pool1", DNs: []string{"/dc=org/dc=site/cn=mallory"}}, true},
		{mallory, Whom{User: "pool1"}, false},
		{"CN=Mallory,DC=site,DC=org", Whom{DNs: []string{"CN=Mallory,DC=site,DC=org"}}, true},
		{"CN=Mallory,DC=site,DC=org", Whom{User: "CN=Mallory,DC=site,DC=org"}, false},
	} {
		b := Ban{Kind: BanKind(c.ban), Name: c.ban}
		if got := b.Concerns(c.whom); got != c.want {
			t.Errorf("%s %s, %+v: %v", b.Kind, c.ban, c.whom, got)
		}
	}
}

func TestBan_OfAUserComparesUIDs(t *testing.T) {
	type account struct {
		name string
		uid  int
	}
	uid := 1003
	b := Ban{Kind: BanUser, Name: "mallory", Account: &uid, By: "root", Reason: "x"}
	for who, want := range map[account]bool{{"mallory", 1003}: true, {"alias", 1003}: true, {"mallory", 1004}: false} {
		if got := b.Concerns(Whom{User: who.name, UID: who.uid}); got != want {
			t.Errorf("%+v: %v", who, got)
		}
	}
	other := uid
	if !b.Same(Ban{Kind: BanUser, Name: "alias", Account: &other}) || !b.Same(Ban{Kind: BanUser, Name: "mallory"}) ||
		b.Same(Ban{Kind: BanDN, Name: "mallory"}) || b.Whom() != "user mallory (uid 1003)" {
		t.Errorf("%s is taken for others", b.Whom())
	}
}
