package credential

import (
	"testing"

	"jjm/internal/jjm"
)

func TestExcludes_ComparesDNsInEachNotation(t *testing.T) {
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
		b := jjm.Ban{Kind: jjm.BanKind(c.ban), Name: c.ban}
		if got := Excludes(b, c.whom); got != c.want {
			t.Errorf("%s %s, %+v: %v", b.Kind, c.ban, c.whom, got)
		}
	}
}

func TestExcludes_ComparesUIDs(t *testing.T) {
	type account struct {
		name string
		uid  int
	}
	uid := 1003
	b := jjm.Ban{Kind: jjm.BanUser, Name: "mallory", Account: &uid, By: "root", Reason: "x"}
	for who, want := range map[account]bool{{"mallory", 1003}: true, {"alias", 1003}: true, {"mallory", 1004}: false} {
		if got := Excludes(b, Whom{User: who.name, UID: who.uid}); got != want {
			t.Errorf("%+v: %v", who, got)
		}
	}
	other := uid
	if !SameBan(b, jjm.Ban{Kind: jjm.BanUser, Name: "alias", Account: &other}) ||
		!SameBan(b, jjm.Ban{Kind: jjm.BanUser, Name: "mallory"}) ||
		SameBan(b, jjm.Ban{Kind: jjm.BanDN, Name: "mallory"}) || b.Whom() != "user mallory (uid 1003)" {
		t.Errorf("%s is taken for others", b.Whom())
	}
}
