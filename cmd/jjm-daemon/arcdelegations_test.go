package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// control creates a control folder with A-REX's list of delegations (credentials that users hand to A-REX), and returns
// its path. The tables of the list are those of A-REX 6.17. rows are the values of rows of the list.
func control(t *testing.T, rows ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "delegations"), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "delegations", "list"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range append([]string{
		"CREATE TABLE rec(id, owner, uid, meta, UNIQUE(id, owner), UNIQUE(uid))", "CREATE TABLE lock(lockid, uid)"},
		rows...) {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestARCDelegations_AreThoseThatARexLockedForTheJob(t *testing.T) {
	dir := control(t, "INSERT INTO rec VALUES ('a1', '/CN=Ann', 'u1', ''), ('b1', '/CN=Bob', 'u2', '')",
		"INSERT INTO lock VALUES ('job7', 'u1'), ('job8', 'u2'), ('job9', 'u1'), ('job9', 'gone')")
	var out, complaint bytes.Buffer
	if code := run([]string{"arc", "delegations", dir}, &out, &complaint); code != 0 ||
		out.String() != "\"job7\" \"u1\"\n\"job8\" \"u2\"\n\"job9\" \"u1\"\n" {
		t.Errorf("exit code %d\n%s%s", code, &out, &complaint)
	}
}

func TestARCDelegations_AnotherDatabaseIsSaid(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "delegations", "list")
	if err := os.MkdirAll(filepath.Dir(list), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte(strings.Repeat("Berkeley", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, complaint bytes.Buffer
	if code := run([]string{"arc", "delegations", dir}, &out, &complaint); code != exitInvalid ||
		!strings.Contains(complaint.String(), "delegationdb = sqlite") {
		t.Errorf("exit code %d\n%s%s", code, &out, &complaint)
	}
}
