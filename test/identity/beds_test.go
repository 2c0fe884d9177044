package identity_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"jjm/adapters/testbed"
)

// cluster is the section of a batch system of scripts/testbed.
func cluster(b *testbed.Bed, kind string) string {
	env := []string{}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		env = append(env, fmt.Sprintf("%s = %q", name, b.Env[name]))
	}
	return fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n", kind, kind, b.Bin, strings.Join(env, ", "))
}

// TestBeds_OwnersRunAsThemselves submits and kills through each real batch system
// as two owners of one root daemon, where the system knows two.
func TestBeds_OwnersRunAsThemselves(t *testing.T) {
	for _, kind := range []string{"slurm", "condor", "sge"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := testbed.Start(t, kind)
			owners := []person{known(t, b.Owner.User)}
			if kind != "condor" { // its workers see accounts of their own
				owners = append(owners, account(t))
			}
			s := newSite(t, asOwner, cluster(b, kind))
			ids := make([]string, len(owners))
			for i, p := range owners {
				ids[i] = s.submit(p, job(s, p))
			}
			long := s.submit(owners[0], script("sleep 600"))
			for i, p := range owners {
				st := s.final(ids[i], "done")
				if got := s.stdout(p, ids[i]); got != p.name+"\nthis is "+p.name+"'s\n" {
					t.Errorf("the job of %s printed %q", p.name, got)
				}
				s.owned(p)
				s.reads(map[string]string{"tar": st.Lookup.Tar}, map[person]bool{p: true, known(t, "nobody"): false})
			}
			s.until("the long one runs", func() bool { return s.status(long).Lookup.Counts.Running == 1 })
			if _, err := s.jjm(owners[0], "kill", long); err != nil {
				t.Error(err)
			}
			s.final(long, "aborted")
		})
	}
}

// job is a job file with an input that nobody but its owner can read.
func job(s *site, p person) string {
	s.t.Helper()
	home := s.home(p)
	s.must(os.WriteFile(home+"/mine", []byte("this is "+p.name+"'s\n"), 0o600))
	s.must(os.Chown(home+"/mine", p.uid, p.gid))
	return script("id -un; cat mine; echo out >out.dat", `outputs = ["out.dat"]`, "[[inputs]]", `path = "mine"`)
}
