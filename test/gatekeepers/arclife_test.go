package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/api/wire"
)

// arcFront is A-REX with ARC's own client.
type arcFront struct{ *arcSite }

type arcRun struct {
	arcFront
	as       *person
	dir, url string
	job      wire.Status
}

func (f arcFront) begin(t *testing.T, as *person, name, cluster, text string) handed {
	t.Helper()
	r := &arcRun{arcFront: f, as: as, dir: as.folder(f.t)}
	r.url = f.submit(t, as, r.dir,
		fmt.Sprintf(`&(executable="/bin/true")(environment=("JJM_TYPE" "script")("JJM_NAME" "%s")("JJM_CLUSTERS" "%s")`+
			`("JJM_OUTPUTS" "part.*")("JJM_PARAM_count" "2")("JJM_PARAM_command" '%s'))(outputfiles=("jjm-output.tar" ""))(stdout="out.txt")`,
			name, cluster, shell(text)))
	r.job = f.running(t, name)
	return r
}

func (r *arcRun) kill(t *testing.T) {
	t.Helper()
	if s := r.as.arc(t, r.dir, "arckill", "--keep", r.url); s.exit != 0 {
		t.Errorf("arckill: exit %d\n%s%s", s.exit, s.out, s.err)
	}
}

func (r *arcRun) end(t *testing.T) (bool, string, string) {
	t.Helper()
	said := r.arcSite.end(t, r.as, r.dir, r.url, "Killed", "Failed", "Finished")
	got := r.get(t, r.as, r.dir, r.url)
	for _, name := range []string{"out.txt", "jjm-output.tar"} {
		if info, err := os.Stat(r.session(r.url, name)); err != nil ||
			int(info.Sys().(*syscall.Stat_t).Uid) != r.as.owner.UID {
			t.Errorf("%s in the session folder is not the user's: %+v, %v", name, info, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(got, "out.txt"))
	if err != nil {
		t.Error(err)
	}
	return strings.Contains(said, "State: Finished"), said + string(text), filepath.Join(got, "jjm-output.tar")
}
