package identity_test

import (
	"os"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
	"jjm/internal/testkit/testbed"
)

// TestBeds_OwnersRunAsThemselves submits and kills jobs of two owners on each real batch system, through one daemon of
// root. It uses a single owner if the system can run jobs of only one account.
func TestBeds_OwnersRunAsThemselves(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	for _, kind := range []string{"slurm", "condor", "sge"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := testbed.Start(t, kind)
			owners := []site.Person{site.Known(t, b.Owner.User)}
			if kind != "condor" { // the workers of HTCondor's bed have separate accounts
				owners = append(owners, site.Account(t))
			}
			if kind == "slurm" {
				site.KnownToSlurm(t, b, owners[1])
			}
			s := newHouse(t, asOwner, site.OnBed(b, kind))
			ids := make([]string, len(owners))
			for i, p := range owners {
				ids[i] = s.Submit(p, job(s, p))
			}
			long := s.Submit(owners[0], site.Script("sleep 600"))
			for i, p := range owners {
				st := s.Final(ids[i], "done")
				if got := s.Stdout(p, ids[i]); got != p.Name+"\nthis is "+p.Name+"'s\n" {
					t.Errorf("the job of %s printed %q", p.Name, got)
				}
				s.owned(p)
				s.reads(map[string]string{"tar": st.Lookup.Tar}, map[site.Person]bool{p: true, site.Known(t, "nobody"): false})
			}
			s.Until("the long one runs", func() bool { return s.Status(long).Lookup.Counts.Running == 1 })
			if _, err := s.JJM(owners[0], "kill", long); err != nil {
				t.Error(err)
			}
			s.Final(long, "aborted")
		})
	}
}

// job returns a job file with an input that only its owner can read.
func job(s house, p site.Person) string {
	s.T.Helper()
	home := s.Home(p)
	s.Must(os.WriteFile(home+"/mine", []byte("this is "+p.Name+"'s\n"), 0o600))
	s.Must(os.Chown(home+"/mine", p.UID, p.GID))
	return site.Script("id -un; cat mine; echo out >out.dat", `outputs = ["out.dat"]`, "[[inputs]]", `path = "mine"`)
}
