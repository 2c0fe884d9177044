package gatekeepers_test

import (
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// with returns a copy of the person that uses another proxy.
func (p *person) with(proxy string) *person {
	q := *p
	q.env = slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool {
		return strings.HasPrefix(kv, "X509_USER_PROXY=")
	})
	q.env = append(q.env, "X509_USER_PROXY="+proxy)
	return &q
}

// proxy creates a proxy of the person from a certificate, with the key in the same folder. It replaces an older proxy.
func (p *person) proxy(t testing.TB, certificate, file string, hours int) {
	t.Helper()
	dir := filepath.Dir(certificate)
	s := p.run(t, "grid-proxy-init", "-q", "-valid", fmt.Sprintf("%d:00", hours), "-cert", filepath.Join(dir, "cert.pem"),
		"-key", filepath.Join(dir, "key.pem"), "-out", file)
	if s.exit != 0 {
		t.Fatalf("grid-proxy-init: exit %d\n%s%s", s.exit, s.out, s.err)
	}
}

// member creates a proxy which says that the person belongs to a virtual organisation, like a proxy from VOMS. It is
// made with openssl and signed only by the person.
func (p *person) member(t testing.TB, certificate, dir, name string) (file string) {
	t.Helper()
	der := func(v any) []byte {
		b, err := asn1.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	wrap := func(tag int, b []byte) []byte { return der(asn1.RawValue{Tag: tag, IsCompound: true, Bytes: b}) }
	values := wrap(asn1.TagSequence, wrap(asn1.TagSequence, der([]byte(name))))
	list := wrap(asn1.TagSequence,
		append(der(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 4}), wrap(asn1.TagSet, values)...))
	write(t, filepath.Join(dir, "proxy.ext"),
		"keyUsage=critical,digitalSignature,keyEncipherment\nproxyCertInfo=critical,language:id-ppl-inheritAll\n"+
			"1.3.6.1.4.1.8005.100.100.5=DER:"+hex.EncodeToString(wrap(asn1.TagSequence, list))+"\n", 0o644)
	file = filepath.Join(dir, "member.pem")
	s := p.run(t, "sh", "-euc", `umask 077; cd "$1"; subject=$(openssl x509 -in "$2/cert.pem" -noout -subject -nameopt compat | sed 's/subject=//; s/^ *//')
openssl req -new -newkey rsa:2048 -nodes -sha256 -subj "$subject/CN=4711" -keyout m.key -out m.req 2>/dev/null
openssl x509 -req -in m.req -CA "$2/cert.pem" -CAkey "$2/key.pem" -set_serial 4711 -days 2 -sha256 -extfile proxy.ext -out m.cert 2>/dev/null
cat m.cert m.key "$2/cert.pem" > member.pem`, "sh", dir, filepath.Dir(certificate))
	if s.exit != 0 {
		t.Fatalf("openssl: exit %d\n%s%s", s.exit, s.out, s.err)
	}
	return file
}

// watcher is a shell script that prints its proxy, waits until the proxy changes, and prints the new proxy.
const watcher = `show() { openssl x509 -in "$X509_USER_PROXY" -noout -enddate; stat -c %%a "$X509_USER_PROXY"; }
show; was=$(cksum <"$X509_USER_PROXY"); touch %s; while [ "$was" = "$(cksum <"$X509_USER_PROXY")" ]; do sleep 0.2; done; show`

// nowhere fails the test if the private key in a proxy's file also is in the daemon's log, or in a file of the state
// folder outside of folders named credentials.
func (s *site) nowhere(t testing.TB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, key, ok := strings.Cut(string(text), "PRIVATE KEY-----\n")
	if !ok {
		t.Fatalf("%s holds no key", file)
	}
	key = key[:60]
	for _, dir := range []string{s.state(), s.path("daemon.log")} {
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // removed meanwhile
			}
			text, err := os.ReadFile(name)
			if err == nil && strings.Contains(string(text), key) && !strings.Contains(name, "/credentials/") {
				t.Errorf("%s holds the key", name)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// wantOrigin compares the origin of a grid job with the expected one.
func wantOrigin(t testing.TB, st wire.Status, user, vo string) {
	t.Helper()
	if st.Origin == nil || st.Origin.Subject != "/O=Grid/OU=jjm-testbed/CN="+user || st.Origin.VO != vo ||
		st.Origin.Job == "" {
		t.Errorf("grid job %v comes from %+v; want %s of %q", st.Lookup.ID, st.Origin, user, vo)
	}
}

// A GRAM job gets its proxy, and a refreshed proxy while it runs. The virtual organisation comes from the user's first
// proxy.
func TestGRAM_TheProxyFollows(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.StartAlone(t, "gram")
	t.Cleanup(func() { bed.Do(t, "clean") })
	one := personOf(t, bed, bed.Vars["OWNER"], bed.Vars["PROXY"])
	g := &gramSite{bed: bed, one: one}
	g.site = openSite(t, bed.Vars["JJM"], one.owner, localCluster)
	g.start()
	dir := one.folder(t)
	member := one.with(one.member(t, bed.Vars["PROXY"], dir, "/dzero/Role=production/Capability=NULL"))
	runs := filepath.Join(dir, "runs")
	contact := g.submit(t, member,
		fmt.Sprintf(`&(executable=/bin/sh)(arguments=-c %s)`, rslWord(fmt.Sprintf(watcher, runs))))
	st := g.jobOf(t, contact)
	wantOrigin(t, st, one.owner.User, "/dzero/Role=production")
	await(t, "the job has seen its proxy", func() bool { return exists(runs) })
	g.nowhere(t, member.env[len(member.env)-1][len("X509_USER_PROXY="):])
	longer := filepath.Join(dir, "longer.pem")
	one.proxy(t, bed.Vars["PROXY"], longer, 200)
	if s := one.with(longer).run(t, "globusrun", "-refresh-proxy", contact); s.exit != 0 {
		t.Fatalf("globusrun -refresh-proxy: exit %d\n%s%s", s.exit, s.out, s.err)
	}
	await(t, "the job has seen the newer proxy and is over", func() bool { return final(g.list()[0].Lookup.Status) })
	if l := g.list()[0].Lookup; l.Status != "done" {
		t.Errorf("%+v", l)
	}
	await(t, "no credentials stay", func() bool {
		left, _ := filepath.Glob(filepath.Join(g.state(), "work/*/credentials/*"))
		return len(left) == 0
	})
}

// rslWord returns a text as one word of RSL.
func rslWord(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// In ARC a job asks for the proxy by the runtime environment ENV/PROXY. A-REX renews its copy in place.
func TestARC_TheProxyFollows(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.StartAlone(t, "arc")
	t.Cleanup(func() { bed.Do(t, "clean") })
	one := personOf(t, bed, bed.Vars["OWNER"], bed.Vars["PROXY"])
	a := &arcSite{bed: bed, one: one}
	a.site = openSite(t, bed.Vars["JJM"], one.owner, localCluster)
	a.start()
	dir := one.folder(t)
	proxy := filepath.Join(dir, "proxy.pem")
	one.proxy(t, bed.Vars["PROXY"], proxy, 12)
	me := one.with(proxy)
	runs := filepath.Join(dir, "runs")
	write(t, filepath.Join(dir, "watch.sh"), "#!/bin/sh\n"+fmt.Sprintf(watcher, runs)+"\n", 0o755)
	url := a.submit(t, me, dir, fmt.Sprintf(
		`&(executable="watch.sh")(inputfiles=("watch.sh" "%s/watch.sh"))(stdout="out.txt")`+
			`(runtimeenvironment="ENV/PROXY")(jobname="watch")`, dir))
	wantOrigin(t, a.jobOf(t, url), one.owner.User, "")
	await(t, "the job has seen its proxy", func() bool { return exists(runs) })
	a.nowhere(t, filepath.Join(bed.Vars["CONTROL"], "job."+filepath.Base(url)+".proxy"))
	one.proxy(t, bed.Vars["PROXY"], proxy, 200)
	awaitEvery(t, time.Second, "arcrenew, which needs a report of the job from A-REX, succeeds", func() bool {
		s := me.arc(t, dir, "arcrenew", "-a")
		if s.exit != 0 {
			t.Logf("arcrenew: exit %d\n%s%s", s.exit, s.out, s.err)
		}
		return s.exit == 0
	})
	a.end(t, me, dir, url, "Finished")
	text, err := os.ReadFile(filepath.Join(a.get(t, me, dir, url), "out.txt"))
	lines := strings.Fields(strings.ReplaceAll(string(text), "GMT", ""))
	if err != nil || strings.Count(string(text), "600\n") != 2 || len(lines) < 2 {
		t.Errorf("the job saw %q, %v; want two proxies of mode 600", text, err)
	}
	await(t, "no credentials stay", func() bool {
		left, _ := filepath.Glob(filepath.Join(a.state(), "work/*/credentials/*"))
		return len(left) == 0
	})
}
