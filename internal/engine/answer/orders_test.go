package answer

import (
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// An account sees the journal entries about the site, about itself and about its own jobs. An entry ends with a reason,
// which is free text of another person. A reason that imitates an entry about the account does not make the entry
// visible to the account.
func TestShows_WhatIsTheSitesAndTheAccountsOwn(t *testing.T) {
	t.Parallel()
	bob := wire.Caller{UID: 7, User: "bob"}
	mine := func(id jjm.GridID) bool { return id == 5 }
	for _, test := range []struct {
		source, cause string
		want          bool
	}{
		{"order", "cluster sim: it moves", true},
		{"order", "queue sim/long", true},
		{"order", "type script: broken", true},
		{"order", "user bob: too many (until 2026-01-01)", true},
		{"order", "user bob", true},
		{"order", "user bobby: bob", false},
		{"order", "user alice: user bob: x", false},
		{"order", "job 5", true},
		{"order", "job 5: slowly", true},
		{"order", "job 5 (until 2026-01-01)", true},
		{"order", "job 6: job 5: x", false},
		{"order", "job five", false},
		{"ban", "user bob (uid 7): mines", true},
		{"ban", "user bob (uid 8): mines", false},
		{"ban", "user alice (uid 6): user bob (uid 7): x", false},
		{"ban", "dn /CN=bob: bob", false},
		{"dataset-mark", "1 file of dataset d now lost: r (uid 7)", true},
		{"dataset-mark", "1 file of dataset d now lost: r (uid 0, dataset of uid 7)", true},
		{"dataset-mark", "1 file of dataset d now lost: (uid 7) (uid 6)", false},
		{"dataset-mark", "1 file of dataset d now lost: r (uid 0, dataset of uid 77)", false},
		{"dataset-remove", "dataset d removed, 1 file (uid 7)", true},
		{"dataset-remove", "dataset d removed, 1 file (uid 8)", false},
		{jjm.SourceDaemon, "the daemon", true},
		{"something new", "user bob", false},
	} {
		if got := shows(jjm.JournalEntry{Source: test.source, Cause: test.cause}, bob, mine); got != test.want {
			t.Errorf("%s %q: %v", test.source, test.cause, got)
		}
	}
}
