package daemon_test

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// store is a server of files over TLS that requires a token.
type store struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string
	stall  chan struct{} // the first answer stops halfway until this channel is closed
}

const half = 3 << 20

// text is the content of the server's large file.
var text = strings.Repeat("0123456789abcde\n", 2*half/16)

func newStore(t *testing.T) *store {
	s := &store{stall: make(chan struct{})}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Authorization") != "Bearer a-token":
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.URL.Path == "/missing":
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	first := len(s.ranges) == 1
	s.mu.Unlock()
	w.Header().Set("ETag", `"1"`)
	if first {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		fmt.Fprint(w, text[:half])
		w.(http.Flusher).Flush()
		<-s.stall
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// asked returns the ranges that were requested.
func (s *store) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.ranges...)
}

// TestURL_IsAnInput: a job file names a file on a server as an input. The daemon dies halfway through the transfer, and
// the next daemon fetches the rest. A refusal of the server is reported. A dry run shows the planned transfers.
func TestURL_IsAnInput(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(authority, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, "[engine.fetch]\nnetworks = [\"127.0.0.1/32\"]\ncertificates = \""+authority+"\"\n")
	d.write("token", "a-token\n")
	job := func(path, more string) string {
		return "type = \"script\"\n[[inputs]]\npath = \"" + s.URL + path + "\"\nname = \"data\"\ncredential_file = \"token\"\n" +
			more + "[params]\ncommand = [\"sh\", \"-c\", \"sha256sum <data | cut -d' ' -f1; wc -c <data\"]\n"
	}
	says := func(code int, want string, args ...string) string {
		t.Helper()
		out, got := d.tells(args...)
		if got != code || !strings.Contains(out, want) {
			t.Fatalf("jjm %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), got, code, want, out)
		}
		return out
	}
	d.write("job.toml", job("/data.root?v=1", ""))
	says(0, "inputs[0]: data would be fetched from "+s.URL+"/data.root?... with the credential in token", "submit",
		"--dry-run",
		"job.toml")
	says(0, "1", "submit", "job.toml")
	d.eventually("half of it is kept", func() bool {
		notes, _ := filepath.Glob(filepath.Join(d.dir, "state/work/*/jobs/1/fetch/*.json"))
		if len(notes) != 1 {
			return false
		}
		note, _ := os.ReadFile(notes[0])
		return strings.Contains(string(note), fmt.Sprintf(`"kept":%d`, half))
	})
	says(0, "inputs[0]: "+s.URL+"/data.root?...: it is being fetched", "status", "1")
	d.restart()
	close(s.stall)
	says(0, "done", "wait", "1")
	sum := sha256.Sum256([]byte(text))
	says(0, fmt.Sprintf("%x\n%d\n", sum, len(text)), "cat", "1.0")
	if asked := s.asked(); asked[0] != "" || asked[len(asked)-1] != fmt.Sprintf("bytes=%d-", half) {
		t.Errorf("asked for %q", asked)
	}

	d.write("job.toml", job("/missing", ""))
	out, code := d.tells("submit", "job.toml", "--wait")
	if code == 0 || !strings.Contains(out, "inputs[0]: "+s.URL+"/missing: the server answers 404 Not Found") {
		t.Errorf("exit %d\n%s", code, out)
	}
	d.write("job.toml", job("/data", "sha256 = \""+strings.Repeat("0", 64)+"\"\n"))
	says(5, "its SHA-256 is", "run", "job.toml", "--part", "0", "--config", "jjm.toml", "--dir", "p0")
	d.write("job.toml", job("/data", ""))
	says(0, fmt.Sprint(len(text)), "run", "job.toml", "--part", "0", "--config", "jjm.toml", "--dir", "p1")
	d.write("token", "another\n")
	says(5, "401 Unauthorized: name a credential_file that it takes", "run", "job.toml", "--part", "0", "--config", "jjm.toml",
		"--dir", "p2")
}
