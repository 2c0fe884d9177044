package engine_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
	"jjm/internal/testkit/needs"
)

// callbackJob returns a job file with a callback whose secret is in the given file.
func callbackJob(file string) string {
	return mc(1, "[callback]", `url = "https://h/hook?v=1"`, `states = ["running", "done"]`, `secret_file = "`+file+`"`)
}

func TestCallback_EveryKeyReachesTheServer(t *testing.T) {
	t.Parallel()
	var orders []fetch.Order
	send := func(_ context.Context, o fetch.Order) (fetch.Report, error) {
		orders = append(orders, o)
		return fetch.Report{Done: true}, nil
	}
	const secret = "0123456789abcdef"
	inWorld(t, options{fetch: send}, func(t *testing.T, w *world) {
		w.must(os.WriteFile(filepath.Join(w.dir, "hook"), []byte(secret+"\n"), 0o600))
		id := w.submit(alice, callbackJob("hook"))
		job, _, err := w.store.Kept(t.Context(), id)
		w.must(err)
		if want := []jjm.GridStatus{jjm.GridRunning, jjm.Done}; !slices.Equal(job.Spec.Callback.States, want) {
			t.Errorf("%v", job.Spec.Callback)
		}
		r, err := w.engine.Call(t.Context(), &job, "k-1", []byte(`{"a":1}`))
		if err != nil || !r.Done || len(orders) != 1 {
			t.Fatal(r, err, orders)
		}
		h := orders[0].Post.Header
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(h["JJM-Timestamp"] + `.{"a":1}`))
		if h["JJM-Signature"] != "sha256="+hex.EncodeToString(mac.Sum(nil)) || h["Idempotency-Key"] != "k-1" ||
			orders[0].URL != "https://h/hook?v=1" || string(orders[0].Post.Body) != `{"a":1}` {
			t.Errorf("%+v", orders[0])
		}
		w.must(os.Remove(filepath.Join(w.dir, "hook")))
		if r, err = w.engine.Call(t.Context(), &job, "k-1", nil); err != nil || r.Done || !r.Again ||
			!strings.Contains(r.Trouble, "callback.secret_file: ") || len(orders) != 1 {
			t.Errorf("without its secret: %+v %v", r, err)
		}
		if strings.Contains(w.logs.tail(1<<30), secret) || strings.Contains(w.describe(id), secret) {
			t.Error("the secret is shown")
		}
	})
}

func TestCallback_IsRefusedWhereTheSiteCallsNoServers(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		_, err := w.trySubmit(alice, "", callbackJob("hook"))
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "notify.callbacks_per_user") {
			t.Error(err)
		}
	})
}

func TestCallback_TheSecretIsReadAsTheOwner(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to make files of several accounts")
	var s servers
	inWorld(t, options{fetch: s.fetch, account: service}, func(t *testing.T, w *world) {
		w.must(os.Chmod(w.dir, 0o755))
		w.must(os.WriteFile(filepath.Join(w.dir, "alices"), []byte("geheimgeheimgeheim\n"), 0o600))
		_, err := w.trySubmit(bob, "", callbackJob("alices"))
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "callback.secret_file: ") ||
			!strings.Contains(err.Error(), "permission denied") || strings.Contains(err.Error(), "geheim") {
			t.Error(err)
		}
	})
}
