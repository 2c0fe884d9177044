package jjm

import "testing"

func TestBan_Concerns(t *testing.T) {
	const mallory = "/DC=org/DC=site/CN=Mallory"
	for _, c := range []struct {
		ban  string
		whom Whom
		want bool
	}{
		{"mallory", Whom{User: "mallory"}, true},
		{"mallory", Whom{User: "mallory2"}, false},
		{"mallory", Whom{User: "alice", DN: "mallory"}, false},
		{mallory, Whom{User: "pool1", DN: mallory}, true},
		{mallory, Whom{User: "pool1", DN: mallory + "/CN=1234567/CN=limited proxy"}, true},
		{mallory, Whom{User: "pool1", DN: mallory + " Smith"}, false},
		{mallory, Whom{User: "pool1", DN: mallory + "/OU=x"}, false},
		{mallory, Whom{User: "pool1", DN: "/dc=org/dc=site/cn=mallory"}, true},
		{mallory, Whom{User: "pool1"}, false},
		{"CN=Mallory,DC=site,DC=org", Whom{DN: "CN=Mallory,DC=site,DC=org"}, true},
		{"CN=Mallory,DC=site,DC=org", Whom{User: "CN=Mallory,DC=site,DC=org"}, false},
	} {
		b := Ban{Kind: BanKind(c.ban), Name: c.ban}
		if got := b.Concerns(c.whom); got != c.want {
			t.Errorf("%s %s, %+v: %v", b.Kind, c.ban, c.whom, got)
		}
	}
}
