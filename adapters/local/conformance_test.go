package local_test

import (
	"maps"
	"os"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/needs"
)

func TestConformance(t *testing.T) {
	needs.EndToEnd(t)
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		a := open(t, t.TempDir(), config(4))
		s := adaptertest.System{Adapter: a, Owner: self(), Dir: t.TempDir(), Walltime: time.Second, AllExits: true}
		s.NotHere = adaptertest.WithoutCommands("the embedded batch system runs no commands")
		maps.Copy(s.NotHere, map[string]string{
			"looking opens few connections":             "it runs no commands, so there are no connections",
			"the probe answers":                         "it is this process: there is nobody to ask",
			"the memory limit is enforced":              "it sets no memory limit",
			"a held bulk never runs before its release": "bulks are not held: its spool cannot lose an answer",
			"a hold by the batch system is reported":    "nobody but jjm holds its jobs",
			"a rerun is counted":                        "it runs no job twice",
			"a lost node is reported":                   "its node is this machine",
			"a job that history forgot is left out":     "what it forgets is an hour old: TestPurge",
		})
		if os.Getuid() == 0 {
			s.Other = &jjm.Owner{UID: 65534, GID: 65534, User: "nobody"}
		} else {
			s.NotHere["the jobs of two owners are kept apart"] = "only root runs the jobs of others"
		}
		return s
	})
}
