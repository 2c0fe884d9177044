package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// own is the configuration of a second batch system that runs only the jobs of the hostile account. A job that waits
// there waits only for other jobs of that account.
const own = site.Local + "[[cluster]]\nname = \"own\"\nkind = \"local\"\nslots = %d\n"

// modes runs a test in both modes: jobs run as their owners, or all jobs run as the daemon's account. runner is the
// account that runs the hostile account's jobs.
func modes(t *testing.T, play func(s *siege, runner site.Person)) {
	clusters := fmt.Sprintf(own, 1)
	t.Run("owner", func(t *testing.T) {
		s := besiege(t, site.Settings{RunAs: "owner", Clusters: clusters})
		play(s, s.mallory)
	})
	t.Run("service", func(t *testing.T) {
		service := site.Account(t)
		play(besiege(t, site.Settings{As: service, Gate: `mode = "0666"`, Clusters: clusters}), service)
	})
}

// bulks returns the folders of mallory's bulks.
func (s *siege) bulks() []string {
	found, _ := filepath.Glob(filepath.Join(s.Dir, "s", "work", s.mallory.Name, "bulks", "*"))
	return found
}

// flooded returns the folders of the full bulks. Many jobs make several bulks, and the first job of the first bulk runs
// forever.
func (s *siege) flooded() []string {
	return slices.DeleteFunc(s.bulks(), func(b string) bool {
		_, err := os.Stat(filepath.Join(b, "flooded"))
		return err != nil
	})
}

// flood carries out an attack by the first of some jobs: that job writes files into the folders of its bulk, again and
// again. written returns an error until the files are there.
func (s *siege) flood(name string, runner site.Person, jobs int, script string, written func(bulk string) error) {
	s.t.Helper()
	s.withstands(attack{
		name: name,
		begin: func() {
			s.Submit(s.mallory, site.Script(`cd $JJM_AREA/bulks/$JJM_TAG || exit 1
`+braces.Replace(script)+`
>flooded; while :; do >progress/again; >done/again; rm progress/again done/again; sleep 0.5; done`, `cluster = "own"`)+
				fmt.Sprintf("count = %d\n", jobs))
			s.Until("the flood is there", func() bool { return len(s.flooded()) > 0 })
		},
		inForce: func() error {
			if len(runner.Processes("sleep")) == 0 && len(runner.Processes("rm")) == 0 && len(runner.Processes("sh")) == 0 {
				return errors.New("the job does not run")
			}
			for _, b := range s.flooded() {
				if err := written(b); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// braces doubles the opening braces of a script, because a single one starts a placeholder in a job file.
var braces = strings.NewReplacer("{", "{{")

// atLeast returns an error unless a folder has at least n names.
func atLeast(dir string, n int) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if names, err := d.Readdirnames(n); len(names) < n {
		return fmt.Errorf("%s has %d names, want %d: %v", dir, len(names), n, err)
	}
	return nil
}

// A job fills every folder of its bulk with files. Some have the names of positions that the bulk does not have.
func TestFlood_OfProgressClaimsAndResultsIsPassedOver(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	t.Parallel()
	n := full(250_000, 25_000)
	modes(t, func(s *siege, runner site.Person) {
		s.flood(fmt.Sprintf("%d files in each folder of a bulk", n), runner, 1, fmt.Sprintf(`i=1; while [ $i -le %d ]; do
	echo sim 1 2 >progress/$i; >done/$i.json; >claims/$i; >fragments/$i; i=$((i+1))
done
i=0; while [ $i -lt 100 ]; do echo sim 1 2 >progress/garbage$i; >done/garbage$i; >claims/garbage$i; >fragments/garbage$i; i=$((i+1)); done`, n),
			func(bulk string) error {
				return errors.Join(atLeast(bulk+"/progress", n), atLeast(bulk+"/done", n), atLeast(bulk+"/claims", n),
					atLeast(bulk+"/fragments", n))
			})
	})
}

// A job forges the results of the other jobs of its bulk: results of the largest permitted size, larger results, and
// results that need far more memory than they have bytes.
func TestFlood_OfLargeResultsTakesLittleMemory(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	t.Parallel()
	n := full(4000, 200)
	modes(t, func(s *siege, runner site.Person) {
		s.flood(fmt.Sprintf("%d large results, sparse ones, lists of nothing", n), runner, n, fmt.Sprintf(`[ $JJM_INDEX = 0 ] || exit 0
head -c 900000 /dev/zero | tr '\0' x >pad
yes '{},' | head -n 340000 | tr -d '\n' >void
i=1; while [ $i -lt %d ]; do
	head='"v":1,"tag":"'$JJM_TAG'","pos":'$i',"grid":'$JJM_TASKID',"local":'$i',"attempt":0,"claim":{"holder":"wrapper","nonce":"n"}'
	case $((i %% 4)) in
	0) { printf '{%%s,"glf":"' "$head"; cat pad; printf '"}'; } ;;
	2) printf '{}'; truncate -s 1T done/.tmp-x ;;
	3) { printf '{%%s,"glf":"' "$head"; cat pad pad; printf '"}'; } ;;
	*) { printf '{%%s,"glf":"","outputs":[' "$head"; cat void; printf '{}]}'; } ;;
	esac >done/.tmp-x; mv done/.tmp-x done/$i.json
	i=$((i+1))
done`, n), func(bulk string) error { return atLeast(bulk+"/done", n/4) })
	})
}
