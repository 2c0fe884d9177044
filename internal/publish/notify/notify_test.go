package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/sys/fetch"
)

// hostile is the end of a grid job whose texts try to add headers, recipients and commands.
func hostile() Event {
	const text = "x\r\nBcc: mallory@example.org\r\n\r\n.\r\n\x1b[2J~!sh\u202e"
	job := jjm.GridJob{ID: 17, Generation: 2, Status: jjm.GridFailed, Exit: 3, Ended: 1000}
	job.Spec.Name, job.Owner.User = text, text
	job.Counts[jjm.Completed], job.Counts[jjm.Failed] = 3, 8
	for range 7 {
		job.Causes = append(job.Causes, jjm.Cause{Text: text, Jobs: 2, First: "17.3", Exit: 3, Host: text})
	}
	return EventOf(job, text, "abcd-12")
}

func TestMail_TextsOfTheJobAddNoHeaders(t *testing.T) {
	text, err := hostile().Mail("jjm@example.org", "alice@example.org")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range m.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "From", "Jjm-Event", "Message-Id",
		"Mime-Version", "Subject", "To"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if to := m.Header["To"]; !slices.Equal(to, []string{"alice@example.org"}) {
		t.Error(to)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, "jjm: grid job 17 x") || !strings.HasSuffix(subject, ": failed") {
		t.Errorf("%q %v", subject, err)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil || bytes.ContainsAny(body, "\r\x1b") || bytes.Contains(body, []byte("\nBcc")) {
		t.Errorf("%q %v", body, err)
	}
	if n := strings.Count(strings.ReplaceAll(string(body), "=\n", ""), "such as 17.3 on x "); n != maxCauses {
		t.Errorf("%d causes in %s", n, body)
	}
}

// box is an outbox in memory.
type box struct {
	sync.Mutex
	notices []store.Notice
	ended   []string
	gaveUp  []string
	// lost is how often storing the end of a delivered notice fails.
	lost int
	// broken is the error of every call that makes an event; nil if events can be made.
	broken error
}

func (b *box) Fill(context.Context, int64) (bool, error) { return false, nil }

func (b *box) Due(_ context.Context, prefix string, _ int) (due []store.Notice, err error) {
	b.Lock()
	defer b.Unlock()
	seen := map[string]bool{}
	for _, n := range b.notices {
		if strings.HasPrefix(n.Target, prefix) && !seen[n.Target] {
			seen[n.Target] = true
			due = append(due, n)
		}
	}
	return due, nil
}

func (b *box) Next(_ context.Context, target string, _ int) (ns []store.Notice, err error) {
	b.Lock()
	defer b.Unlock()
	for _, n := range b.notices {
		if n.Target == target {
			ns = append(ns, n)
		}
	}
	return ns, nil
}

func (b *box) Event(_ context.Context, n store.Notice) (Event, bool, error) {
	e := hostile()
	e.Event = string(rune('a' + n.Change))
	return e, n.Grid != 99, b.broken
}

func (b *box) Call(_ context.Context, n store.Notice) (Call, bool, error) {
	return Call{Version: CallVersion, Event: string(rune('a' + n.Change)), Job: int64(n.Grid)}, n.Grid != 99, b.broken
}

func (b *box) End(_ context.Context, n store.Notice, gaveUp string) error {
	b.Lock()
	defer b.Unlock()
	if b.lost > 0 {
		b.lost--
		return errors.New("killed")
	}
	same := func(o store.Notice) bool { return o.Change == n.Change && o.Target == n.Target }
	b.notices = slices.DeleteFunc(b.notices, same)
	b.ended = append(b.ended, string(rune('a'+n.Change)))
	if gaveUp != "" {
		b.gaveUp = append(b.gaveUp, gaveUp)
	}
	return nil
}

func (b *box) Delay(_ context.Context, n store.Notice) error {
	b.Lock()
	defer b.Unlock()
	for i, o := range b.notices {
		if o.Change == n.Change && o.Target == n.Target {
			b.notices[i] = n
		}
	}
	return nil
}

// program makes a program that appends its arguments and its input to a file, and then runs the script. It returns the
// command, and a function that reads the file.
func program(t *testing.T, script string) (argv []string, said func() string) {
	t.Helper()
	dir := t.TempDir()
	path, out := filepath.Join(dir, "program"), filepath.Join(dir, "out")
	text := "#!/bin/sh\necho \"args: $*\" >>" + out + "\ncat >>" + out + "\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path, "-i", "-t"}, func() string {
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func sender(b *box, c Config, now int64) *Sender {
	return &Sender{Config: c, Outbox: b, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		return time.UnixMilli(now)
	}}
}

func TestSender_ProgramsGetNothingOfTheJobInTheirArguments(t *testing.T) {
	mailer, mailed := program(t, "")
	command, read := program(t, "")
	c := Defaults()
	c.Mail, c.Command = mailer, command
	b := &box{}
	for _, target := range c.Targets(store.GridChange{To: jjm.Done, Notify: []string{"alice@example.org"}}) {
		b.notices = append(b.notices, store.Notice{Target: target, Change: 1}, store.Notice{Target: target, Change: 2})
	}
	s := sender(b, c, 0)
	s.attend(t.Context(), "mail alice@example.org")
	s.attend(t.Context(), commandTarget)
	if got := mailed(); strings.Count(got, "args: -i -t\n") != 2 || strings.Count(got, "To: alice@example.org\n") != 2 {
		t.Error(got)
	}
	var e Event
	lines := strings.SplitAfter(read(), "\n")
	if lines[0] != "args: -i -t\n" || json.Unmarshal([]byte(lines[1]), &e) != nil || e.Job != 17 || e.Status != "failed" ||
		len(e.Causes) != maxCauses || e.Counts["failed"] != 8 {
		t.Errorf("%q: %+v", lines, e)
	}
	if !slices.Equal(b.ended, []string{"b", "c", "b", "c"}) {
		t.Errorf("not in order: %v", b.ended)
	}
}

func TestSender_ANoticeThatFailsIsTriedAgainAndGivenUpAfterThePatience(t *testing.T) {
	mailer, mailed := program(t, "echo 'no such user' >&2; exit 67")
	c := Defaults()
	c.Mail = mailer
	b := &box{notices: []store.Notice{{Target: "mail a@b", Change: 1, Since: 1},
		{Target: "mail a@b", Change: 2, Since: 1}}}
	sender(b, c, 1000).attend(t.Context(), "mail a@b")
	if n := b.notices[0]; len(b.notices) != 2 || n.Tries != 1 || n.Next <= 1000 || b.notices[1].Tries != 0 {
		t.Errorf("%+v", b.notices)
	}
	sender(b, c, 1+c.Patience.D().Milliseconds()).attend(t.Context(), "mail a@b")
	if len(b.notices) != 0 || len(b.gaveUp) != 2 || !strings.Contains(b.gaveUp[0], "exit code 67: no such user") {
		t.Errorf("%+v %q\n%s", b.notices, b.gaveUp, mailed())
	}
}

// A daemon that is killed after a delivery, but before the delivery is stored, delivers the notice again, with the same
// key.
func TestSender_AfterAKillTheSameKeyIsDeliveredAgain(t *testing.T) {
	command, read := program(t, "")
	c := Defaults()
	c.Command = command
	b := &box{notices: []store.Notice{{Target: commandTarget, Change: 1}}, lost: 1}
	for range 2 {
		sender(b, c, 0).attend(t.Context(), commandTarget)
	}
	if got := read(); strings.Count(got, `"event":"b"`) != 2 || len(b.notices) != 0 {
		t.Errorf("%s\n%+v", got, b.notices)
	}
}

func TestTargets_OfAChange(t *testing.T) {
	on := Config{Mail: []string{"/m"}, Command: []string{"/c"}, CallbacksPerUser: 1}
	cb := &jjm.Callback{URL: "https://h/"}
	running := &jjm.Callback{URL: "https://h/", States: []jjm.GridStatus{jjm.GridRunning}}
	for _, c := range []struct {
		site Config
		ch   store.GridChange
		want []string
	}{
		{on, store.GridChange{To: jjm.Done, Notify: []string{"a@b"}, Callback: cb},
			[]string{"mail a@b", "command", "call 7"}},
		{on, store.GridChange{To: jjm.GridRunning, Notify: []string{"a@b"}, Callback: running}, []string{"call 7"}},
		{on, store.GridChange{To: jjm.GridRunning, Callback: cb}, nil},
		{on, store.GridChange{To: jjm.Done, Callback: running}, nil},
		{Defaults(), store.GridChange{To: jjm.Done, Notify: []string{"a@b"}, Callback: cb}, nil},
	} {
		c.ch.Grid = 7
		if got := c.site.Targets(c.ch); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c.ch, got)
		}
	}
}

// posts returns a Post that reports, for each grid job, the result of the function answer.
func posts(answer func(ctx context.Context, grid jjm.GridID) fetch.Report) Post {
	return func(ctx context.Context, grid jjm.GridID, _ string, _ []byte) (fetch.Report, error) {
		return answer(ctx, grid), nil
	}
}

// If a server requests a wait, the sender does not call the server again before this time has passed. If an event is
// refused permanently, the sender drops the event and sends the next event.
func TestSender_CallsAServerAgainAsItAsks(t *testing.T) {
	c := Defaults()
	c.CallbacksPerUser = 1
	b := &box{notices: []store.Notice{{Target: "call 7", Grid: 7, Change: 1, Since: 1, To: "running"},
		{Target: "call 7", Grid: 7, Change: 2, Since: 1, To: "done"}}}
	s := sender(b, c, 1000)
	report := fetch.Report{Trouble: "busy", Again: true, Wait: jjm.Duration(time.Minute)}
	s.Post = posts(func(context.Context, jjm.GridID) fetch.Report { return report })
	s.attend(t.Context(), "call 7")
	if n := b.notices[0]; len(b.notices) != 2 || n.Tries != 1 || n.Next != 1000+60_000 || b.notices[1].Tries != 0 {
		t.Errorf("%+v", b.notices)
	}
	report = fetch.Report{Trouble: "10.0.0.1 is private"}
	s.attend(t.Context(), "call 7")
	want := []string{"the notice of running to the server of the callback is given up: 10.0.0.1 is private",
		"the notice of done to the server of the callback is given up: 10.0.0.1 is private"}
	if len(b.notices) != 0 || !slices.Equal(b.gaveUp, want) {
		t.Errorf("%+v %q", b.notices, b.gaveUp)
	}
}

// Servers that hang occupy only the places of their own account.
func TestSender_AnAccountWhoseServersHangHoldsUpNoOther(t *testing.T) {
	c := Defaults()
	c.CallbacksPerUser = 2
	b := &box{}
	for grid := jjm.GridID(1); grid <= 20; grid++ {
		b.notices = append(b.notices, store.Notice{Target: "call " + grid.String(), Grid: grid, Change: int64(grid), UID: 1})
	}
	b.notices = append(b.notices, store.Notice{Target: "call 50", Grid: 50, Change: 50, UID: 2})
	var mu sync.Mutex
	hanging, most := 0, 0
	told := make(chan jjm.GridID, 1)
	s := sender(b, c, 1000)
	s.Post = posts(func(ctx context.Context, grid jjm.GridID) fetch.Report {
		if grid == 50 {
			told <- grid
			return fetch.Report{Done: true}
		}
		mu.Lock()
		hanging++
		most = max(most, hanging)
		mu.Unlock()
		<-ctx.Done()
		return fetch.Report{Again: true}
	})
	ctx, stop := context.WithCancel(t.Context())
	var over sync.WaitGroup
	over.Go(func() { s.Run(ctx) })
	<-told
	stop()
	over.Wait()
	if most > c.CallbacksPerUser {
		t.Errorf("%d servers of one account asked at the same time", most)
	}
}

// If the event of a notice cannot be made, the notice is tried again later, like a notice that cannot be delivered.
// Other notices are delivered meanwhile.
func TestSender_AnEventThatCannotBeMadeWaits(t *testing.T) {
	b := &box{broken: errors.New("the grid job cannot be read"), notices: []store.Notice{
		{Target: "mail a@b", Change: 1, Since: 1}, {Target: "call 7", Grid: 7, Change: 2, Since: 1}}}
	s := sender(b, Defaults(), 1000)
	s.attend(t.Context(), "mail a@b")
	s.attend(t.Context(), "call 7")
	for _, n := range b.notices {
		if n.Tries != 1 || n.Next <= 1000 {
			t.Errorf("%+v", n)
		}
	}
}

func TestSender_NothingIsSentAboutARemovedGridJob(t *testing.T) {
	b := &box{notices: []store.Notice{{Target: "mail a@b", Change: 1, Grid: 99}}}
	sender(b, Defaults(), 0).attend(t.Context(), "mail a@b")
	if len(b.notices) != 0 || len(b.gaveUp) != 0 {
		t.Errorf("%+v %q", b.notices, b.gaveUp)
	}
}

func TestCheck_NamesEveryMistake(t *testing.T) {
	c := Config{Mail: []string{"sendmail"}, Command: []string{"/bin/x", "a\x00"}, From: "Jjm <a@b>",
		CallbacksPerUser: -1}
	want := []string{"notify.mail", "notify.command", "notify.from", "notify.callbacks_per_user", "notify.patience"}
	var got []string
	for _, p := range c.Check() {
		got = append(got, p.Field)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	only := Defaults()
	if only.From = "a@b"; len(only.Check()) != 1 || len(Defaults().Check()) != 0 || Defaults().On() {
		t.Error(only.Check(), Defaults().Check())
	}
}
