package hostile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// asService returns the settings of a daemon of an ordinary account that accepts the grid jobs of others.
func asService(t *testing.T) site.Settings {
	return site.Settings{RunAs: "service", As: site.Account(t), Gate: "mode = \"0666\"\n"}
}

// Many local jobs have some megabytes of arguments each, and the daemon holds the arguments of a whole bulk in memory.
// Its use of memory nevertheless stays within a limit.
func TestSizes_WhatABulkIsToldHasABound(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, asService(t))
	var id string
	s.withstands(attack{
		name: "hundreds of local jobs with an argument of 3 MiB each",
		begin: func() {
			id = s.Submit(s.mallory, fmt.Sprintf("type = \"script\"\n[params]\ncount = %d\ncommand = [\"/bin/true\", %q]\n",
				full(300, 100), strings.Repeat("x", 3<<20)))
			s.Until("some are submitted", func() bool { c := s.Status(id).Lookup.Counts; return c.New < c.Total })
		},
		inForce: func() error {
			if s.Status(id).Lookup.Counts.Total == 0 {
				return errors.New("no local jobs were made")
			}
			return nil
		},
	})
}

// A job forges results with long lists of outputs that do not exist. The daemon's use of memory stays within a limit.
func TestSizes_ForgedListsOfOutputsHaveABound(t *testing.T) {
	s := besiege(t, asService(t))
	jobs := full(200, 6)
	forge := strings.Replace(site.Script(`cd $JJM_AREA/bulks/$JJM_TAG || exit 1
c=$(cat claims/$JJM_INDEX)
{{ printf '%s' '{{"v":1,"tag":"'$JJM_TAG'","pos":'$JJM_INDEX',"grid":'$JJM_TASKID',"local":'$JJM_INDEX',"attempt":0,"claim":'"$c"',"exit":0,"outputs":['
seq 1 19999 | sed 's/.*/{{"name":"work\/&"},/' | tr -d '\n'; printf '%s' '{{"name":"work\/z"}]}'; } >done/.tmp-z$JJM_INDEX
mv done/.tmp-z$JJM_INDEX done/$JJM_INDEX.json; kill -9 $PPID`, ""), "[params]", fmt.Sprintf("[params]\ncount = %d", jobs), 1)
	s.withstands(attack{
		name: "lists of 20 000 outputs that are not there, of each local job",
		begin: func() {
			id := s.Submit(s.mallory, forge)
			s.UntilNone("local jobs run", func() int {
				c := s.Status(id).Lookup.Counts
				return jobs - c.Completed - c.Failed - c.Killed
			})
			s.Until("it is over", func() bool {
				switch s.Status(id).Lookup.Status {
				case "done", "finished", "failed", "broken":
					return true
				}
				return false
			})
		},
	})
}
