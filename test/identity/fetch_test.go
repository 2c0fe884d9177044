package identity_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"jjm/internal/testkit/site"
)

// A child of the owner fetches an input that is a URL, and writes the input to a file of the owner. The child inherits
// no open file of the daemon. The credential file is read with the owner's rights, and a server that never ends its
// answer delays no other account.
func TestFetch_IsTheOwners(t *testing.T) {
	t.Parallel()
	alice, bob := site.Account(t), site.Account(t)
	over := make(chan struct{})
	var stalled atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stalls" {
			stalled.Add(1)
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
			w.(http.Flusher).Flush()
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		fmt.Fprint(w, "cards\n")
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	s := newHouse(t, asOwner, site.Local)
	config, err := os.ReadFile(s.Dir + "/jjm.toml")
	s.Must(err)
	s.Must(os.WriteFile(s.Dir+"/jjm.toml", append(config, "\n[engine.fetch]\nnetworks = [\"127.0.0.1/32\"]\n"...), 0o644))
	s.Stop()
	s.Start()

	secret := filepath.Join(s.Home(alice), "token")
	s.Must(os.WriteFile(secret, []byte("alices-token\n"), 0o600))
	s.Must(os.Chown(secret, alice.UID, alice.GID))
	input := func(url, more string) string { return "[[inputs]]\npath = \"" + url + "\"\n" + more }
	stolen := filepath.Join(s.Home(bob), "stolen.toml")
	s.Must(os.WriteFile(stolen, []byte(site.Script("true", input("https://example.org/a",
		"credential_file = \""+secret+"\"\n"))),
		0o644))
	if out, err := s.JJM(bob, "submit", stolen); err == nil || !strings.Contains(err.Error(),
		"inputs[0].credential_file") ||
		!strings.Contains(err.Error(), "permission denied") {
		t.Errorf("bob names alice's token: %s %v", out, err)
	}

	hostile := s.Submit(alice, site.Script("true", input(server.URL+"/stalls", "")))
	s.Until("alice's server stalls", func() bool { return stalled.Load() == 1 })
	children := fetching(alice)
	if len(children) != 1 {
		t.Fatalf("%d processes fetch for alice: %v", len(children), children)
	}
	links, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", children[0]))
	s.Must(err)
	for _, l := range links {
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", children[0], l.Name()))
		if strings.HasPrefix(to, s.Dir) && !strings.HasPrefix(to, s.Dir+"/s/work/"+alice.Name) {
			t.Errorf("the child has %s open", to)
		}
	}
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", children[0]))
	if strings.Contains(string(args), "http") {
		t.Errorf("the child's command line says %q", args)
	}
	parts, _ := filepath.Glob(s.Dir + "/s/work/" + alice.Name + "/jobs/" + hostile + "/fetch/*.part")
	if len(parts) != 1 {
		t.Fatalf("%v", parts)
	}
	info, err := os.Stat(parts[0])
	s.Must(err)
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != alice.UID || info.Mode().Perm() != 0o600 {
		t.Errorf("%s belongs to %d, mode %v", parts[0], st.Uid, info.Mode())
	}

	good := s.Submit(bob, site.Script("cat cards", input(server.URL+"/cards", "")))
	s.Final(good, "done")
	if out := s.Stdout(bob, good); out != "cards\n" {
		t.Errorf("bob's job read %q", out)
	}
	_, err = s.JJM(alice, "kill", hostile)
	s.Must(err)
	s.Final(hostile, "aborted")
	s.Until("alice's child ends", func() bool { return len(fetching(alice)) == 0 })
}

// fetching returns the processes that fetch for an account.
func fetching(p site.Person) (pids []int) {
	for _, pid := range p.Processes("") {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(args), "fetch-input") {
			pids = append(pids, pid)
		}
	}
	return pids
}
