package server

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

func TestDefaultMode_AnOrdinaryAccountAdmitsNobodyElse(t *testing.T) {
	for _, c := range []struct {
		uid         int
		group, want string
	}{{0, "", "0666"}, {1000, "", "0600"}, {1000, "grid", "0660"}} {
		if got := defaultMode(c.uid, c.group); got != c.want {
			t.Errorf("uid %d, group %q: mode %s, want %s", c.uid, c.group, got, c.want)
		}
	}
}

func TestConnections_OneAccountCannotTakeThemAll(t *testing.T) {
	d := &connections{all: 4, perUser: 2, trusted: func(uid int) bool { return uid == 0 }, users: make(map[int]int)}
	for i, c := range []struct {
		uid int
		ok  bool
	}{{1000, true}, {1000, true}, {1000, false}, {0, true}, {1001, true}, {1002, true}, {1003, false}, {0, true},
		{0, true}, {0, true}, {0, false}} {
		err := d.add(c.uid)
		if (err == nil) != c.ok || err != nil && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("entry %d of %d: %v", i, c.uid, err)
		}
	}
	d.remove(1000)
	if err := d.add(1003); err != nil {
		t.Errorf("after one left: %v", err)
	}
	d.remove(1000)
	if len(d.users) != 3 {
		t.Errorf("accounts without connections are kept: %v", d.users)
	}
}

func TestMemory_IsReleasedCompletely(t *testing.T) {
	m := newMemory(800)
	for i, c := range []struct {
		uid   int
		admin bool
		n     int64
		ok    bool
	}{{1, false, 300, true}, {1, false, 1, false}, {2, false, 200, true}, {3, false, 101, false}, {3, false, 100, true},
		{4, false, 1, false}, {0, true, 200, true}, {0, true, 1, false}} {
		if err := m.reserve(Caller{UID: c.uid, Admin: c.admin}, c.n); (err == nil) != c.ok || err != nil &&
			jjm.KindOf(err) != jjm.Busy {
			t.Errorf("step %d: %v", i, err)
		}
	}
	for uid, n := range []int64{200, 300, 200, 100} {
		m.release(Caller{UID: uid, Admin: uid == 0}, n)
	}
	if m.used != 0 || len(m.users) != 0 {
		t.Errorf("%d bytes are lost, %v", m.used, m.users)
	}
}

func TestCallers_AdminsAreRootTheDaemonAndTheConfigured(t *testing.T) {
	names := map[int]string{0: "root", 500: "jjm", 1000: "alice", 1001: "bob"}
	asked := 0
	c := newCallers(Config{Admins: []string{"alice"}, UserName: func(uid int) string { asked++; return names[uid] }})
	c.own = 500
	now := time.Unix(1000, 0)
	c.now = func() time.Time { return now }
	for uid, want := range map[uint32]bool{0: true, 500: true, 1000: true, 1001: false} {
		if got := c.caller(&unix.Ucred{Uid: uid}); got.Admin != want || got.User != names[int(uid)] {
			t.Errorf("uid %d: %+v", uid, got)
		}
	}
	c.caller(&unix.Ucred{Uid: 1000})
	if asked != 4 {
		t.Errorf("the account database was asked %d times, want 4", asked)
	}
	now = now.Add(nameLifetime)
	c.caller(&unix.Ucred{Uid: 1000})
	if asked != 5 {
		t.Errorf("a name was kept for ever")
	}
	for uid := range maxNames + 10 {
		c.name(uid)
	}
	if len(c.names) > maxNames {
		t.Errorf("%d names are kept", len(c.names))
	}
	if userName(1<<30) != "1073741824" || userName(0) == "" || os.Geteuid() < 0 {
		t.Error("an account without a name is its number")
	}
}

func TestCallers_TheDaemonsAccountIsNoAdminIfOthersRunJobsAsIt(t *testing.T) {
	for _, c := range []struct {
		mode string
		uid  int
		want bool
	}{{"0600", 500, true}, {"0660", 500, false}, {"0666", 500, false}, {"0666", 0, true}, {"0606", 500, false},
		{"0640", 500, false}} {
		if got := (Config{Mode: c.mode}).ownAdmin(c.uid) == c.uid; got != c.want {
			t.Errorf("mode %s, uid %d: administrator %v, want %v", c.mode, c.uid, got, c.want)
		}
		if got := (Config{Mode: c.mode}).jobsRunAs(500, c.uid); got != (!c.want && c.uid != 0) {
			t.Errorf("mode %s, uid %d: gate.admins may not name the account: %v", c.mode, c.uid, got)
		}
	}
}
