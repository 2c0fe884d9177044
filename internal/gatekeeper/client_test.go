package gatekeeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jjm/internal/api/client"
	"jjm/internal/api/serve"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a client of a fake daemon. The test can stop and start the daemon.
type site struct {
	*Client
	fake   *servertest.Fake
	server *servertest.Server
}

func open(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{fake: servertest.New()}
	renew := serve.Handle(wire.VerbRenew(), serve.Owners, s.renew).Resolving(s.fake.Resolve)
	s.server = servertest.Serve(t, append(s.fake.Verbs(), renew), server.Config{}, nil)
	s.Client = &Client{Socket: s.server.Socket, Records: filepath.Join(dir, "records"), Spool: filepath.Join(dir, "spool"),
		Deadline: await.Guard(time.Minute), UID: os.Geteuid(), Now: time.Now}
	if err := errors.Join(os.Mkdir(s.Records, 0o755), spool.Make(s.Spool, 0o600, -1)); err != nil {
		t.Fatal(err)
	}
	return s
}

// renew is the verb renew of the fake daemon. It treats every credential as newer than the stored credential.
func (s *site) renew(ctx context.Context, c server.Caller, r wire.RenewRequest) (a wire.RenewAnswer, err error) {
	err = s.fake.Use(ctx, "renew", c, r.Grid(), func(*servertest.Job) {
		for _, one := range r.Credentials {
			a.Renewed = append(a.Renewed, one.Kind)
		}
	})
	return a, err
}

// box opens the caller's box in the spool.
func (s *site) box(t *testing.T) *spool.Box {
	t.Helper()
	in, err := spool.Open(s.Spool)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b, err := in.Box(s.UID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func job(key string) Job { return Job{Name: "j.toml", Text: "x", BaseDir: "/", Key: key} }

func TestDoor_AsksTheDaemonFirst(t *testing.T) {
	s := open(t)
	r, err := s.Submit(t.Context(), job("k"))
	if err != nil || r != (Receipt{Handle: jjm.HandleOf(s.UID, "k"), ID: 1}) {
		t.Fatalf("submit: %+v, %v", r, err)
	}
	again, err := s.Submit(t.Context(), job("k"))
	if err != nil || again != (Receipt{Handle: r.Handle, ID: 1, Existed: true}) {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	unknown := jjm.HandleOf(s.UID, "unknown")
	refused := jjm.HandleOf(s.UID, "refused")
	s.fake.Refuse(refused, "no such type")
	ls := s.Lookup(t.Context(), string(unknown), string(r.Handle), "1", string(refused), "7")
	if jjm.KindOf(ls[0].Error.Err()) != jjm.Gone || ls[0].Handle != unknown {
		t.Errorf("unknown: %+v", ls[0])
	}
	if ls[1].Error != nil || ls[1].ID != 1 || ls[1].Handle != r.Handle || ls[1].GRAM != jjm.GRAMUnsubmitted ||
		ls[1].Stale {
		t.Errorf("by handle: %+v", ls[1])
	}
	if ls[2].Error != nil || ls[2].ID != 1 || ls[2].Handle != "" {
		t.Errorf("by id: %+v", ls[2])
	}
	if l := ls[3]; l.Error != nil || l.GRAM != jjm.GRAMFailed || l.Code != 17 ||
		!strings.Contains(l.Message, "no such type") || l.Status != "broken" {
		t.Errorf("refused: %+v", ls[3])
	}
	if jjm.KindOf(ls[4].Error.Err()) != jjm.Gone || ls[4].ID != 7 {
		t.Errorf("unknown id: %+v", ls[4])
	}
	ks := s.Kill(t.Context(), string(refused), string(r.Handle), string(unknown))
	if !ks[0].NoChange || ks[0].Error != nil || ks[1].NoChange || ks[1].Error != nil || ks[1].Ref != string(r.Handle) ||
		jjm.KindOf(ks[2].Error.Err()) != jjm.Gone {
		t.Errorf("kill: %+v", ks)
	}
	if _, err := s.Submit(t.Context(),
		Job{Name: "j", Text: "bad", BaseDir: "/", Key: "b"}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("a bad job: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Spool, "in")); len(left) != 0 {
		t.Errorf("the spool was used: %v", left)
	}
}

func TestDoor_UsesSpoolAndRecordsIfNoDaemonAnswers(t *testing.T) {
	s := open(t)
	s.server.Stop()
	r, err := s.Submit(t.Context(), job("k"))
	if err != nil || r != (Receipt{Handle: jjm.HandleOf(s.UID, "k"), Spooled: true}) {
		t.Fatalf("submit: %+v, %v", r, err)
	}
	if r, err := s.Submit(t.Context(), job("k")); err != nil || !r.Existed || !r.Spooled {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	l := s.Lookup(t.Context(), string(r.Handle), string(jjm.HandleOf(s.UID, "other")), "9")
	if l[0].Error != nil || l[0].GRAM != jjm.GRAMUnsubmitted || !l[0].Stale {
		t.Errorf("lookup: %+v", l[0])
	}
	for _, l := range l[1:] {
		if jjm.KindOf(l.Error.Err()) != jjm.Busy || l.GRAM != 0 {
			t.Errorf("what is not known: %+v", l)
		}
	}
	for range 2 {
		if k := s.Kill(t.Context(), string(r.Handle)); k[0].Error != nil {
			t.Errorf("kill: %+v", k)
		}
	}
	if left, _ := os.ReadDir(s.box(t).Path()); len(left) != 2 {
		t.Errorf("the spool holds %v, want one submit and one kill", left)
	}
	if r, err := s.Submit(t.Context(), job("k")); err != nil || !r.Existed {
		t.Errorf("after a kill: %+v, %v", r, err)
	}
	anew := job("k")
	anew.Anew = true
	if r, err := s.Submit(t.Context(), anew); err != nil || r.Existed {
		t.Errorf("anew after a kill: %+v, %v", r, err)
	}
	if k := s.Kill(t.Context(), "5"); jjm.KindOf(k[0].Error.Err()) != jjm.Busy {
		t.Errorf("kill of an unknown id: %+v", k)
	}
	if err := os.RemoveAll(s.Spool); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), job("other")); jjm.KindOf(err) != jjm.Busy ||
		!strings.Contains(err.Error(), "no daemon answers") {
		t.Errorf("neither daemon nor spool: %v", err)
	}
}

func TestDoor_RefusesWhatEveryDaemonWouldRefuse(t *testing.T) {
	s := open(t)
	s.server.Stop()
	for _, j := range []Job{
		{Name: "j", Text: "", BaseDir: "/", Key: "k"},
		{Name: "j", Text: "x", BaseDir: "relative", Key: "k"},
		{Name: "j", Text: "x", BaseDir: "/", Key: strings.Repeat("k", 300)},
		{Name: "j", Text: strings.Repeat("x", wire.MaxRequest), BaseDir: "/", Key: "k"},
		{Name: "j", Text: "x", BaseDir: "/", Key: "k", Origin: &jjm.Origin{VO: "a\nb"}},
	} {
		if _, err := s.Submit(t.Context(), j); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%.60v: %v", j, err)
		}
	}
	r1, err1 := s.Submit(t.Context(), job(""))
	r2, err2 := s.Submit(t.Context(), job(""))
	if err1 != nil || err2 != nil || r1.Handle == r2.Handle {
		t.Errorf("without a key: %+v %v, %+v %v", r1, err1, r2, err2)
	}
	file := Job{Name: "j.toml", Text: "type = \"script\"\nkey = \"mine\"\n", BaseDir: "/"}
	if r, err := s.Submit(t.Context(), file); err != nil || r.Handle != jjm.HandleOf(s.UID, "mine") {
		t.Errorf("the job file's own key: %+v, %v", r, err)
	}
}

// If the deadline in the environment variable JJM_DEADLINE cannot be parsed, Open uses the default deadline, so that
// the gatekeeper still gets an answer.
func TestOpen_ReadsTheDeadlineFromTheEnvironment(t *testing.T) {
	for text, want := range map[string]time.Duration{"": DefaultDeadline, "2s": 2 * time.Second, "soon": DefaultDeadline,
		"-1s": DefaultDeadline, "5": DefaultDeadline} {
		d := Open(client.Place{State: "/s", Getenv: func(name string) string {
			return map[string]string{"JJM_DEADLINE": text}[name]
		}})
		if d.Deadline != want {
			t.Errorf("%q: %v, want %v", text, d.Deadline, want)
		}
	}
}
