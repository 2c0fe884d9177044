package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/site"
)

// Mallory's jobs wait in several grid jobs. After a ban is answered, none of these jobs begins, and bob's waiting jobs
// take the slots.
func TestBan_NothingOfTheBannedBeginsAfterTheAnswer(t *testing.T) {
	s := besiege(t, site.Settings{RunAs: "owner", Clusters: "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 2\n"})
	begun := filepath.Join(s.Home(s.mallory), "begun")
	count := func() int {
		text, err := os.ReadFile(begun)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	var ids []string
	for range full(20, 3) {
		ids = append(ids, s.Submit(s.mallory, fmt.Sprintf("type = \"script\"\nresult = \"exit\"\n[params]\n"+
			"command = [\"/bin/sh\", \"-c\", \"echo x >>%s; exec sleep 3600\"]\ncount = %d\n", begun, full(500, 30))))
	}
	s.Until("her jobs take both slots", func() bool { return count() == 2 })
	bobs := s.Submit(s.bob, site.Script("true"))
	_, err := s.JJM(site.Root(), "ban", s.mallory.Name, "--reason", "a siege")
	s.Must(err)
	answered := count()
	s.Final(bobs, "done")
	for _, id := range ids {
		s.Final(id, "aborted")
	}
	if now := count(); now != answered {
		t.Errorf("%d of her applications began after the ban was answered", now-answered)
	}
}
