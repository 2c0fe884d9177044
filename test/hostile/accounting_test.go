package hostile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// accountingSiege is a siege whose site writes BLAH's accounting log. mallory is the hostile account, bob the other
// account. The test and mallory's jobs exchange signals through files in the folder signs, which everybody can read.
type accountingSiege struct {
	*siege
	blah, signs string
	began       time.Time
}

func besiegeAccounting(t *testing.T, mode string) *accountingSiege {
	t.Helper()
	needs.Root(t, "to run the jobs of others")
	with := site.Settings{RunAs: mode, Gate: `mode = "0666"`, Engine: `absent_for = "3s"`}
	if mode == "service" {
		with.As = site.Account(t)
	}
	dir, err := os.MkdirTemp("/var/tmp", "jjmbooks")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &accountingSiege{blah: filepath.Join(dir, "log", "blah.log"), signs: filepath.Join(dir, "signs"),
		began: time.Now()}
	for _, folder := range []string{filepath.Dir(b.blah), b.signs} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Dir(b.blah), with.As.UID, with.As.GID); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	with.Clusters = site.Local + fmt.Sprintf("[accounting]\nblah = %q\nce = \"ce.site.org:9619/ce.site.org\"\n", b.blah)
	b.siege = besiege(t, with)
	return b
}

// blahField matches a field "NAME=VALUE" in a line of BLAH's accounting log.
var blahField = regexp.MustCompile(`"([a-zA-Z]+)=([^"]*)"`)

// lines returns the lines of the accounting log. Each line is a map from the names of its fields to their values.
func (b *accountingSiege) lines() (all []map[string]string) {
	b.t.Helper()
	names, err := filepath.Glob(b.blah + "-*")
	b.Must(err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		b.Must(err)
		for line := range strings.Lines(string(text)) {
			fields := map[string]string{}
			for _, f := range blahField.FindAllStringSubmatch(line, -1) {
				fields[f[1]] = f[2]
			}
			all = append(all, fields)
		}
	}
	return all
}

// of returns the lines about a grid job's attempts. It waits for the first of them.
func (b *accountingSiege) of(job string) (mine []map[string]string) {
	b.t.Helper()
	b.Until("the accounting log has grid job "+job, func() bool {
		mine = slices.DeleteFunc(b.lines(), func(l map[string]string) bool { return l["jobID"] != job })
		return len(mine) > 0
	})
	return mine
}

// runs returns the only local job of a grid job, after it has started.
func (b *accountingSiege) runs(id string) (l jjm.LocalJob) {
	b.t.Helper()
	b.Until("grid job "+id+" runs", func() bool {
		out, err := b.JJM(site.Root(), "status", "--json", id+".0")
		if err != nil {
			return false // the local job does not exist yet
		}
		var st wire.Status
		b.Must(json.Unmarshal([]byte(out), &st))
		if len(st.Locals) == 1 {
			l = st.Locals[0]
		}
		return l.State == jjm.Running && l.BatchID != ""
	})
	return l
}

// sign writes a file for mallory's jobs, atomically.
func (b *accountingSiege) sign(name string, text []byte) {
	b.t.Helper()
	file := filepath.Join(b.signs, name)
	b.Must(os.WriteFile(file+".new", text, 0o644))
	b.Must(os.Rename(file+".new", file))
}

// want compares the accounting line of a grid job with the facts that the batch system and jjm know.
func (b *accountingSiege) want(id string, who site.Person, l jjm.LocalJob) {
	b.t.Helper()
	all := b.of(id)
	if len(all) != 1 {
		b.t.Errorf("grid job %s has %d lines of accounting, want one: %v", id, len(all), all)
	}
	got := maps.Clone(all[0])
	at, err := time.Parse(time.DateTime, got["timestamp"])
	if err != nil || at.Before(b.began.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
		b.t.Errorf("grid job %s: timestamp=%s (%v): want one since %s", id, got["timestamp"], err, b.began.UTC())
	}
	if end := fmt.Sprintf(".%d", l.Attempt); !strings.HasSuffix(got["clientID"], end) {
		b.t.Errorf("grid job %s: clientID=%s: want one that ends with %s", id, got["clientID"], end)
	}
	delete(got, "timestamp")
	delete(got, "clientID")
	want := map[string]string{"userDN": "", "userFQAN": "", "ceID": "ce.site.org:9619/ce.site.org-local-default",
		"jobID": id, "lrmsID": l.BatchID, "localUser": who.Name, "originBy": "account"}
	if !maps.Equal(got, want) {
		b.t.Errorf("grid job %s: the line says\n%v, want\n%v", id, got, want)
	}
}

// forgedResult returns a false result of a local job, with another job's batch id, a false host, and absurd times and
// usage.
func forgedResult(l jjm.LocalJob, anothers string) jjm.Result {
	const absurd = 1 << 52
	return jjm.Result{Version: 1, Tag: l.Tag, Pos: l.Pos, Grid: l.ID.Grid, Local: l.ID.N, Attempt: l.Attempt,
		Claim:   jjm.Claim{Holder: jjm.HolderWrapper, Batch: anothers, Host: "elsewhere", Nonce: "forged", PID: 1, Time: 1},
		Started: 1, Ended: absurd, Exit: 0, WallMS: absurd, UserMS: absurd, SysMS: absurd, RSSKB: absurd}
}

// forger is the script of a job that waits for the file "go", copies the forged files into the results of a bulk, and
// reports it. $bulk is the bulk, which is below the account's area like the job's own folder. Opening braces are
// doubled, as in a job file.
const forger = `cd %s; while [ ! -e go ]; do sleep 0.05; done
done="${{OLDPWD%%%%/jobs/*}/bulks/$(cat tag)/done"
%s
for f in *.forged; do cp $f "$done/.tmp-$f" && mv "$done/.tmp-$f" "$done/${{f%%.forged}"; done
`

// Mallory's jobs forge their own results: before the wrapper writes a result, in place of the wrapper, or over the
// wrapper's result. The forged results name the batch id of bob's job. A second forged file is about bob's grid job,
// and a third about an attempt that never existed.
func TestAccounting_AForgedResultChangesNoOtherField(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, mode := range []string{"owner", "service"} {
		for name, play := range map[string]func(*accountingSiege, *forgery){
			"before the wrapper": (*accountingSiege).forgeBefore, "in the wrapper's place": (*accountingSiege).forgeInstead,
			"over the wrapper's": (*accountingSiege).forgeAfter,
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				b := besiegeAccounting(t, mode)
				f := &forgery{bobs: b.Submit(b.bob, site.Script("sleep 3600"))}
				f.bob = b.runs(f.bobs)
				play(b, f)
				b.want(f.id, b.mallory, f.local)
				b.used(f)
				if l := b.runs(f.bobs); !cmp.Equal(l, f.bob) {
					t.Errorf("bob's local job changes: %s", cmp.Diff(f.bob, l))
				}
				_, err := b.JJM(b.bob, "kill", f.bobs)
				b.Must(err)
				b.Final(f.bobs, "aborted")
				b.want(f.bobs, b.bob, f.bob)
				b.echo()
			})
		}
	}
}

// used compares the reported usage of a forged grid job with the batch system's: no time may exceed the time since the
// test began. If a result is judged before the batch system reports the end of the job, processor time and memory are
// only known from the result, and are not compared.
func (b *accountingSiege) used(f *forgery) {
	b.t.Helper()
	u := b.Status(f.id).Lookup.Usage
	began, now := jjm.At(b.began), jjm.At(time.Now())
	most := now.Sub(began).Milliseconds()
	if u == nil || u.Batch != f.local.BatchID || u.WallMS > most ||
		u.Started < began || u.Ended < u.Started || u.Ended > now {
		b.t.Errorf("grid job %s used %+v: want batch id %s, from %s to now at most", f.id, u, f.local.BatchID, began)
	}
}

// forgery is a grid job of mallory's with a forged result, and the job of bob's that the result names.
type forgery struct {
	id, bobs   string
	local, bob jjm.LocalJob
}

// giveForged writes the forged files for mallory's job.
func (b *accountingSiege) giveForged(f *forgery) {
	b.t.Helper()
	anothers, bobs := forgedResult(f.local, f.bob.BatchID), forgedResult(f.local, f.bob.BatchID)
	anothers.Pos, anothers.Attempt = 1, f.local.Attempt+7
	bobs.Pos, bobs.Grid, bobs.Local, bobs.Attempt = 2, f.bob.ID.Grid, f.bob.ID.N, f.bob.Attempt
	for _, r := range []jjm.Result{forgedResult(f.local, f.bob.BatchID), anothers, bobs} {
		text, err := json.Marshal(r)
		b.Must(err)
		b.sign(fmt.Sprintf("%d.json.forged", r.Pos), text)
	}
	b.sign("tag", []byte(f.local.Tag))
	b.sign("go", nil)
}

func (b *accountingSiege) submitForged(f *forgery, script string) {
	b.t.Helper()
	f.id = b.Submit(b.mallory, site.Script(script))
	f.local = b.runs(f.id)
}

// In forgeBefore, mallory's job writes the forged results itself and then continues to run.
func (b *accountingSiege) forgeBefore(f *forgery) {
	b.submitForged(f, fmt.Sprintf(forger, b.signs, "")+"while [ ! -e end ]; do sleep 0.05; done; exit 3")
	b.giveForged(f)
	b.Final(f.id, "done") // mallory may choose the exit code of her own job
	b.sign("end", nil)
}

// In forgeInstead, mallory's job kills its wrapper, which then writes no result.
func (b *accountingSiege) forgeInstead(f *forgery) {
	b.submitForged(f, fmt.Sprintf(forger, b.signs, "kill -STOP $PPID")+"kill -KILL $PPID")
	b.giveForged(f)
	b.Final(f.id, "done")
}

// In forgeAfter, another job of mallory's replaces the wrapper's result before the daemon reads it. The daemon is
// stopped meanwhile.
func (b *accountingSiege) forgeAfter(f *forgery) {
	b.submitForged(f, "cd "+b.signs+"; while [ ! -e end ]; do sleep 0.05; done; exit 3")
	wait := `while [ ! -e "$done/0.json" ]; do sleep 0.05; done`
	second := b.Submit(b.mallory, site.Script(fmt.Sprintf(forger, b.signs, wait)))
	b.runs(second)
	done := b.doneOf(f.local.Tag)
	await.Freeze(b.T, b.Daemon.Process.Pid)
	defer func() { _ = b.Daemon.Process.Signal(syscall.SIGCONT) }() // a stopped daemon would prevent the clean-up
	b.giveForged(f)
	b.sign("end", nil)
	b.Until("the wrapper's result is replaced", func() bool {
		text, err := os.ReadFile(filepath.Join(done, "0.json"))
		return err == nil && strings.Contains(string(text), `"forged"`)
	})
	b.Must(b.Daemon.Process.Signal(syscall.SIGCONT))
	b.Final(f.id, "done")
	b.Final(second, "done")
}

// doneOf returns the folder of a bulk's results.
func (b *accountingSiege) doneOf(tag jjm.Tag) string {
	b.t.Helper()
	folders, err := filepath.Glob(filepath.Join(b.Dir, "s", "work", "*", "bulks", string(tag), "done"))
	b.Must(err)
	if len(folders) != 1 {
		b.t.Fatalf("bulk %s has folders %v: want one", tag, folders)
	}
	return folders[0]
}

// Mallory claims that her grid jobs come from bob's person, his organisation and a gatekeeper of the site. The log
// marks this as the account's own claim. The claim of an administrator is marked as an administrator's.
func TestAccounting_AForgedOriginIsTheAccountsWord(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	const subject, vo = "/DC=org/DC=site/CN=Bob", "/atlas/Role=production"
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			b := besiegeAccounting(t, mode)
			for _, c := range []struct {
				who site.Person
				by  string
			}{{b.mallory, "account"}, {site.Root(), "administrator"}} {
				if c.who.UID == 0 && mode == "owner" {
					continue // no job runs as root
				}
				job := "https://ce.site.org/jobs/" + c.by
				b.submitFrom(c.who, "--key", c.by, "--gatekeeper", "arc", "--gatekeeper-job", job, "--subject", subject, "--vo", vo)
				all := b.of(job)
				said := map[string]string{"originBy": c.by, "localUser": c.who.Name, "userDN": subject, "userFQAN": vo}
				for field, want := range said {
					if all[0][field] != want {
						t.Errorf("%s said so: the line has %s=%q, want %q", c.who.Name, field, all[0][field], want)
					}
				}
				if len(all) != 1 {
					t.Errorf("%s said so: there are %d lines, want one", c.who.Name, len(all))
				}
			}
		})
	}
}

// submitFrom submits a job with an origin, as a gatekeeper does.
func (b *accountingSiege) submitFrom(who site.Person, options ...string) {
	b.t.Helper()
	file := filepath.Join(b.signs, "from.toml")
	b.Must(os.WriteFile(file, []byte(site.Script("true")), 0o644))
	argv := slices.Concat([]string{bin.Path(b.t, "jjm-gatekeeper"), "core", "submit"}, options, []string{file})
	cmd := who.As(argv...)
	cmd.Env = append(cmd.Env, "JJM_STATE="+b.Dir+"/s")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: submit: %v: %s", who.Name, err, out)
	}
}
