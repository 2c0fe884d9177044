package hostile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// Mallory's job fills her work area, in bytes or in files, on the shared disk. Above the limit of an account, no new
// jobs of mallory are accepted, and other accounts are not affected.
func TestQuota_OfTheWorkAreaIsReachedByWhoFillsIt(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for what, fill := range map[string]struct{ limit, script string }{
		"bytes": {"max_work_bytes_per_user = 20000000", "dd if=/dev/zero of=big bs=1M count=40 2>/dev/null; sleep 600"},
		"files": {"max_work_files_per_user = 3000",
			"mkdir many; i=0; while [ $i -lt 6000 ]; do : >many/$i; i=$((i+1)); done; sleep 600"},
	} {
		for _, mode := range []string{"owner", "service"} {
			t.Run(what+" "+mode, func(t *testing.T) {
				with := site.Settings{RunAs: mode, Engine: fill.limit}
				if mode == "service" {
					with = asService(t)
					with.Engine = fill.limit
				}
				s := besiege(t, with)
				setting, _, _ := strings.Cut(fill.limit, " ")
				refused := func() error {
					out, err := s.JJM(s.mallory, "submit", "--dry-run", filepath.Join(s.Home(s.mallory), "job.toml"))
					if err == nil {
						return fmt.Errorf("another grid job of hers would be taken: %s", out)
					}
					if !strings.Contains(err.Error(), setting) {
						return err
					}
					return nil
				}
				s.withstands(attack{
					name: "a work area is filled with " + what,
					begin: func() {
						s.Submit(s.mallory, site.Script(fill.script))
						s.Until("she is refused", func() bool { return refused() == nil })
					},
					inForce: refused,
				})
			})
		}
	}
}
