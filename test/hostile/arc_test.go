package hostile_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // reads A-REX's list of delegations

	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// control is A-REX's control folder with its jobs, without an A-REX.
type control struct {
	*siege
	dir string
}

// arex creates an empty control folder, with the list of delegations that only A-REX writes.
func (s *siege) arex() *control {
	s.t.Helper()
	c := &control{s, filepath.Join(s.Dir, "control")}
	for _, sub := range []string{"processing", "session", "delegations"} {
		s.Must(os.MkdirAll(filepath.Join(c.dir, sub), 0o755))
	}
	c.list("CREATE TABLE rec(id, owner, uid, meta, UNIQUE(id, owner), UNIQUE(uid))", "CREATE TABLE lock(lockid, uid)")
	return c
}

// list runs SQL statements on the list.
func (c *control) list(statements ...string) {
	c.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(c.dir, "delegations", "list"))
	c.Must(err)
	defer db.Close()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		c.Must(err)
	}
}

// keeps adds a credential for some jobs to the list, as A-REX does when it runs as root.
func (c *control) keeps(id, proxy, subject string, jobs ...string) {
	c.t.Helper()
	file := filepath.Join(c.dir, arc.DelegationFile(id))
	c.Must(os.MkdirAll(filepath.Dir(file), 0o700))
	c.Must(os.WriteFile(file, []byte(proxy), 0o600))
	c.list(fmt.Sprintf("INSERT INTO rec VALUES ('%s', '%s', '%s', '')", id, subject, id))
	for _, job := range jobs {
		c.list(fmt.Sprintf("INSERT INTO lock VALUES ('%s', '%s')", job, id))
	}
}

// add creates the files of a job as A-REX leaves them for submit-jjm-job. They belong to the job's user.
func (c *control) add(p site.Person, id, program, proxy, local string) (grami string) {
	c.t.Helper()
	session := filepath.Join(c.dir, "session", id)
	c.Must(os.Mkdir(session, 0o700))
	name := func(ending string) string { return filepath.Join(c.dir, "job."+id+ending) }
	for file, text := range map[string]string{
		name(".grami"): fmt.Sprintf("joboption_directory='%s'\njoboption_controldir='%s'\njoboption_gridid='%s'\n"+
			"joboption_jobname='%[3]s'\njoboption_arg_0='/bin/sh'\njoboption_arg_1='-c'\njoboption_arg_2='%[4]s'\n"+
			"joboption_env_0='JJM_CREDENTIALS=proxy'\njoboption_stdout='%[1]s/out.txt'\n", session, c.dir, id, program),
		name(".local"): local, name(".proxy"): proxy, session + ".diag": "",
	} {
		c.Must(os.WriteFile(file, []byte(text), 0o600))
		c.Must(os.Chown(file, p.UID, p.GID))
	}
	c.Must(os.Chown(session, p.UID, p.GID))
	c.Must(os.WriteFile(filepath.Join(c.dir, "processing", "job."+id+".status"), []byte("INLRMS\n"), 0o644))
	if out, err := c.gatekeeper(p, "arc", "submit", name(".grami")); err != nil {
		c.t.Fatalf("arc submit as %s: %v %s", p.Name, err, out)
	}
	return name(".grami")
}

// scan runs the command that A-REX runs as root every ten seconds.
func (c *control) scan() string {
	c.t.Helper()
	out, err := c.gatekeeper(site.Root(), "arc", "scan", c.dir)
	if err != nil {
		c.t.Fatalf("arc scan: %v %s", err, out)
	}
	return out
}

// proxyOf creates a proxy with a name that is valid for some days. A job keeps the proxy that is valid longer.
func (s *siege) proxyOf(name string, days int) string {
	s.t.Helper()
	needs.Program(s.t, "openssl", "openssl")
	dir := s.t.TempDir()
	cmd := exec.Command("sh", "-euc", `openssl req -x509 -newkey rsa:2048 -nodes -sha256 -days 30 -subj "/O=Grid/CN=$1" \
  -keyout key -out cert
printf '%s\n' keyUsage=critical,digitalSignature proxyCertInfo=critical,language:id-ppl-inheritAll > ext
openssl req -new -newkey rsa:2048 -nodes -sha256 -subj "/O=Grid/CN=$1/CN=12" -keyout pkey -out req
openssl x509 -req -in req -CA cert -CAkey key -set_serial 12 -days "$2" -sha256 -extfile ext -out pcert
cat pcert pkey cert > proxy`, "sh", name, fmt.Sprint(days))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("openssl: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "proxy"))
	s.Must(err)
	return string(text)
}

// holds returns the files below folders that contain a text.
func (s *siege) holds(text string, folders ...string) (files []string) {
	s.t.Helper()
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // the file was removed meanwhile, or is not regular
			}
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), text) {
				files = append(files, path)
			}
			return nil
		})
	}
	return files
}

// Mallory writes the id of bob's delegation to her job.ID.local, and replaces her own name by bob's. A-REX's scan,
// which runs as root, passes on only the delegation that A-REX keeps for her job. No data of bob's reaches her job, her
// work area or her record.
func TestARC_ADelegationOfAnothersIsNotHandedOn(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			with := site.Settings{RunAs: mode, Gate: `mode = "0666"`}
			if mode == "service" {
				with = asService(t)
			}
			s := besiege(t, with)
			c, work := s.arex(), filepath.Join(s.Dir, "s", "work")
			const victims, hers = "0123456789abcdef", "fedcba9876543210"
			bobs, old, renewed := s.proxyOf("Bob", 20), s.proxyOf("Mallory", 5), s.proxyOf("Mallory", 10)
			secret := strings.Split(bobs, "\n")[3] // a line of bob's proxy that occurs in no other file
			c.keeps(victims, bobs, "/O=Grid/CN=Bob", "bobsjob")
			look := `cat "$X509_USER_PROXY" > first; while [ ! -e go ]; do sleep 0.1; done; cat "$X509_USER_PROXY"`
			local := "subject=/O=Grid/CN=Bob\ndelegationid=" + victims + "\n"
			c.add(s.mallory, "forged", look, old, local)
			c.add(s.mallory, "honest", look, old, "subject=/O=Grid/CN=Mallory\ndelegationid="+hers+"\n")
			forged := string(jjm.HandleOf(s.mallory.UID, "arc-forged"))
			honest := string(jjm.HandleOf(s.mallory.UID, "arc-honest"))
			for _, h := range []string{forged, honest} {
				s.Until("her job runs", func() bool {
					st := s.Status(h)
					return st.Lookup.Status == "running" && len(s.holds(strings.Split(old, "\n")[3], work)) > 0
				})
			}
			c.keeps(hers, renewed, "/O=Grid/CN=Mallory", "honest")
			remark := "job.forged.local, which its user can write, names delegation \"" + victims + "\""
			told := c.scan() + c.scan()
			if n := strings.Count(told, remark); n != 1 || strings.Contains(told, "honest.local") {
				t.Errorf("two scans say %d times that the job names another's delegation, want once: %s", n, told)
			}
			history, err := s.JJM(s.mallory, "history", "--json", forged)
			if n := strings.Count(history, strings.ReplaceAll(remark, `"`, `\"`)); err != nil || n != 1 {
				t.Errorf("the history says so %d times, %v: want once: %s", n, err, history)
			}
			if got := s.holds(strings.Split(renewed, "\n")[3], work); len(got) == 0 {
				t.Error("a newer proxy of hers, which A-REX keeps for her job, does not reach it: the test proves nothing")
			}
			own := []string{work, filepath.Join(s.Dir, "s", "records"), filepath.Join(c.dir, "session")}
			if got := s.holds(secret, own...); len(got) > 0 {
				t.Errorf("bob's proxy is in %v", got)
			}
			for _, h := range []string{forged, honest} {
				_, err := s.JJM(s.mallory, "kill", h)
				s.Must(err)
			}
			s.echo()
		})
	}
}
