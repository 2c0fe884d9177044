package hostile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/test/site"
)

// claimForger is the script of a job that waits for a sign and puts what it is given
// in the place of its own claim, which is a file of the account that it runs as; then
// it does something more. A job file writes an opening brace twice.
const claimForger = `cd %s; while [ ! -e go ]; do sleep 0.05; done
claims="${{OLDPWD%%%%/jobs/*}/bulks/$(cat tag)/claims"
cp claim.forged "$claims/.tmp-forged" && mv "$claims/.tmp-forged" "$claims/0"
%s
`

// claimed waits until the claim of mallory's job is the forged one.
func (b *books) claimed(f *forgery) {
	b.t.Helper()
	file := filepath.Join(filepath.Dir(b.doneOf(f.local.Tag)), "claims", "0")
	b.Until("the claim is forged", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), `"forged"`)
	})
}

// Mallory's job says that bob's batch job holds its claim: her wrapper dies without a
// result, or she kills her grid job. Her job is accounted as what it was, and bob's
// goes on.
func TestAccounting_AForgedClaimPointsToNoJobOfOthers(t *testing.T) {
	for _, mode := range []string{"owner", "service"} {
		for name, kill := range map[string]bool{"without a result": false, "and a kill": true} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				b := keepBooks(t, mode)
				f := &forgery{bobs: b.Submit(b.bob, site.Script("sleep 3600"))}
				f.bob = b.runs(f.bobs)
				then, end := "kill -KILL $PPID", "failed"
				if kill {
					then, end = "sleep 3600", "aborted"
				}
				b.submitForged(f, fmt.Sprintf(claimForger, b.signs, then))
				claim, err := json.Marshal(lie(f.local, f.bob.BatchID).Claim)
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
				b.echo(time.Now())
			})
		}
	}
}
