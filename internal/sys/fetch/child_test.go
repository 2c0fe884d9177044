package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// TestMain lets the test program also run as the child process that fetches a file.
func TestMain(m *testing.M) {
	if IsChild(os.Args) {
		os.Exit(Main(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func TestChild_DoesAsGet(t *testing.T) {
	text := letters(200_000, "x")
	o := orderOf(t, served(t, (&file{text: text, tag: `"1"`}).ServeHTTP))
	if r, err := Child(t.Context(), o); err != nil || !r.Done || content(t, o) != text {
		t.Errorf("%+v, %v", r, err)
	}
	o = orderOf(t, "http://10.0.0.1/")
	if r, err := Child(t.Context(), o); err != nil || r.Again || !strings.Contains(r.Trouble, "10.0.0.1") {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if r, err := Child(ctx, o); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("stopped: %+v, %v", r, err)
	}
	if code := Main(strings.NewReader("by hand"), io.Discard); code == 0 {
		t.Error("by hand it does something")
	}
}

// After a child was stopped during a transfer, another child continues the transfer.
func TestChild_IsStoppedAndGoneOnWith(t *testing.T) {
	text := letters(3_000_000, "x")
	release := make(chan struct{})
	f := &file{text: text, tag: `"1"`}
	var first atomic.Bool
	o := orderOf(t, served(t, func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Length", "3000000")
			fmt.Fprint(w, text[:2_000_000])
			w.(http.Flusher).Flush()
			<-release
			panic(http.ErrAbortHandler)
		}
		f.ServeHTTP(w, r)
	}))
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if info, err := os.Stat(filepath.Join(o.Root, o.File+".part")); err == nil && info.Size() == 2_000_000 {
				stop()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := Child(ctx, o); jjm.KindOf(err) != jjm.Busy {
		t.Fatal(err)
	}
	close(release)
	await.True(t, "the child ends", func() bool {
		r, err := Child(t.Context(), o)
		return err == nil && r.Done
	})
	if content(t, o) != text {
		t.Error("another content")
	}
}

func TestPause_GrowsAndHeedsTheServer(t *testing.T) {
	if a, b, c := Pause(1, 0), Pause(4, 0), Pause(60, 0); a != 2*time.Second || b != 16*time.Second || c != 5*time.Minute {
		t.Errorf("%v %v %v", a, b, c)
	}
	if a, b := Pause(1, time.Minute), Pause(1, 100*time.Hour); a != time.Minute || b != time.Hour {
		t.Errorf("%v %v", a, b)
	}
}
