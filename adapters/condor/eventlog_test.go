package condor

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"jjm/internal/testkit/await"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestFollower_ReportsOnlyEventsOfJjmsJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "EventLog")
	f := &follower{path: path}
	want := func(what string, news bool) {
		t.Helper()
		got, err := f.grown()
		if got != news || err != nil {
			t.Errorf("%s: news %v, error %v", what, got, err)
		}
	}
	if _, err := f.grown(); err == nil {
		t.Error("a missing file is no trouble")
	}
	appendTo(t, path, `{"JJMTag": "old"}`+"\n")
	want("the first look", true)
	want("nothing new", false)
	appendTo(t, path, "{\n \"Cluster\": 7\n}\n")
	want("another's job", false)
	appendTo(t, path, "{\n \"JJM")
	want("half an event", false)
	appendTo(t, path, "Tag\": \"a\"\n}\n")
	want("the other half", true)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "{}\n")
	want("a new file", true)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	want("emptied", true)
	appendTo(t, path, string(make([]byte, 2*maxNews)))
	want("too much to read", true)
	want("after that", false)
}

func TestRun_NotifiesUntilItsContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "EventLog")
	a := adapterOf(t, func(c *Config) { c.EventLog = path })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	appendTo(t, path, `{"JJMTag": "a"}`+"\n")
	await.Closed(t, "a poke", a.Changed())
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
