package hostile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// claimForger is the script of a job that waits for the file "go" and replaces its own claim by the forged claim. The
// claim is a file of the account that the job runs as. Then the script runs a further command. Opening braces are
// doubled, as in a job file.
const claimForger = `cd %s; while [ ! -e go ]; do sleep 0.05; done
claims="${{OLDPWD%%%%/jobs/*}/bulks/$(cat tag)/claims"
cp claim.forged "$claims/.tmp-forged" && mv "$claims/.tmp-forged" "$claims/0"
%s
`

// claimed waits until mallory's job has replaced its claim by the forged claim.
func (b *accountingSiege) claimed(f *forgery) {
	b.t.Helper()
	file := filepath.Join(filepath.Dir(b.doneOf(f.local.Tag)), "claims", "0")
	b.Until("the claim is forged", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), `"forged"`)
	})
}

// Mallory's job claims to be bob's batch job. Then her wrapper dies without a result, or she kills her grid job. The
// accounting nevertheless shows the true batch job of her job, and bob's job continues.
func TestAccounting_AForgedClaimPointsToNoJobOfOthers(t *testing.T) {
	for _, mode := range []string{"owner", "service"} {
		for name, kill := range map[string]bool{"without a result": false, "and a kill": true} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				if mode != "owner" || !kill {
					needs.Campaign(t, needs.Hostile)
				}
				b := besiegeAccounting(t, mode)
				f := &forgery{bobs: b.Submit(b.bob, site.Script("sleep 3600"))}
				f.bob = b.runs(f.bobs)
				then, end := "kill -KILL $PPID", "failed"
				if kill {
					then, end = "sleep 3600", "aborted"
				}
				b.submitForged(f, fmt.Sprintf(claimForger, b.signs, then))
				claim, err := json.Marshal(forgedResult(f.local, f.bob.BatchID).Claim)
				b.Must(err)
				b.sign("claim.forged", claim)
				b.sign("tag", []byte(f.local.Tag))
				b.sign("go", nil)
				if kill {
					b.claimed(f)
					_, err := b.JJM(b.mallory, "kill", f.id)
					b.Must(err)
				}
				b.Final(f.id, end)
				b.want(f.id, b.mallory, f.local)
				b.used(f)
				if l := b.runs(f.bobs); !cmp.Equal(l, f.bob) {
					t.Errorf("bob's local job changes: %s", cmp.Diff(f.bob, l))
				}
				b.echo()
			})
		}
	}
}
