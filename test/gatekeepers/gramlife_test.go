package gatekeepers_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/api/wire"
)

// gramFront submits grid jobs through GRAM5 with GRAM's own client.
type gramFront struct{ *gramSite }

// gramRun is a client that waits for its job.
type gramRun struct {
	gramFront
	as     *person
	client *exec.Cmd
	said   *bytes.Buffer
	tar    string
	job    wire.Status
}

func (f gramFront) begin(t *testing.T, as *person, name, cluster, shell string) handed {
	t.Helper()
	r := &gramRun{gramFront: f, as: as, said: &bytes.Buffer{}, tar: filepath.Join(as.folder(f.t), name+".tar")}
	rsl := fmt.Sprintf(
		`&(jjm_type=script)(jjm_name=%s)(jjm_clusters=%s)(jjm_outputs="part.*")(jjm_params=(command "/bin/sh" "-c" "%s" "sh" "{serial}")(count 2))`,
		name, cluster, shell) + withTar(r.tar)
	r.client = as.command(f.t.Context(), "globusrun", "-s", "-r", f.at(as), rsl)
	r.client.Stdout, r.client.Stderr = r.said, r.said
	if err := r.client.Start(); err != nil {
		t.Fatal(err)
	}
	r.job = f.running(t, name)
	return r
}

func (r *gramRun) kill(t *testing.T) {
	t.Helper()
	if s := r.as.run(t, "globusrun", "-k", r.contactOf(t, r.job)); s.exit != 0 {
		t.Errorf("cancel: exit %d %s%s", s.exit, s.out, s.err)
	}
}

func (r *gramRun) end(t *testing.T) (bool, string, string) {
	t.Helper()
	err := r.client.Wait()
	if err != nil && !strings.Contains(r.said.String(), "(error code 17)") {
		t.Errorf("the client was told nothing of the failure: %v", err)
	}
	return err == nil, r.said.String(), r.tar
}

// scriptFront submits grid jobs through the first tier of GRAM5, the script of a job manager. Each job has a Perl
// process that runs as the job's user.
type scriptFront struct{ *site }

type scriptRun struct {
	*script
	job *gramJob
	tar string
}

func (f scriptFront) begin(t *testing.T, as *person, name, cluster, shell string) handed {
	t.Helper()
	g := newScripts(t, as.owner, as.folder(f.t), bin.Dir(t), f.state())
	r := &scriptRun{script: g.start(f.t), job: g.job(t, name)}
	r.tar = filepath.Join(r.job.dir, "back.tar")
	for attr, perl := range map[string]string{
		"executable": "'/dev/null'", "jjmtype": "'script'", "jjmname": quoted(name), "jjmclusters": quoted(cluster),
		"jjmoutputs":   "'part.*'",
		"jjmparams":    "[" + quoted("command", "/bin/sh", "-c", shell, "sh", "{serial}") + "], ['count', '2']",
		"filestageout": "[" + quoted("jjm-output.tar", "file://"+r.tar) + "]",
	} {
		r.job.attr[attr] = perl
	}
	id := r.submit(r.job)
	if again := r.submit(r.job); again != id {
		t.Errorf("the same job again is %s, was %s", again, id)
	}
	f.running(t, name)
	return r
}

func (r *scriptRun) kill(t *testing.T) {
	t.Helper()
	r.wantLines("cancel", r.job)
}

// end waits for the end of the job in the same way as a job manager. If the job is done, it stages out the files.
func (r *scriptRun) end(t *testing.T) (bool, string, string) {
	t.Helper()
	said := r.script.end(r.job)
	done := said[0] == "JOB_STATE:8"
	if done {
		if got := r.ask("stage_out", r.job); len(got) == 0 {
			t.Errorf("stage out: %q", got)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.job.dir, "stdout"))
	if err != nil {
		t.Error(err)
	}
	return done, strings.Join(said, "\n") + "\n" + string(text), r.tar
}
