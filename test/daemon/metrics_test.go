package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// freePort returns a TCP port that nothing uses.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// scrape returns the metrics that are served at an address.
func scrape(t testing.TB, network, address string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	r, err := client.Get("http://jjm/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", r.Status, err, text)
	}
	return string(text)
}

// The daemon serves metrics at the address in metrics.listen. An address that other hosts can reach needs
// metrics.allow.
func TestMetrics_AreServedWhereTheSettingsSay(t *testing.T) {
	t.Parallel()
	port, wide, socket := freePort(t), freePort(t), shortDir(t)+"/scrapes"
	local := fmt.Sprintf("127.0.0.1:%d", port)
	for _, c := range []struct{ network, address, settings string }{
		{"tcp", local, fmt.Sprintf("listen = %q", local)},
		{"unix", socket, fmt.Sprintf("listen = %q", socket)},
		{"tcp", fmt.Sprintf("127.0.0.1:%d", wide), fmt.Sprintf("listen = \"0.0.0.0:%d\"\nallow = \"anyone\"", wide)},
	} {
		d := start(t, "[metrics]\n"+c.settings+"\n")
		text := scrape(t, c.network, c.address)
		for _, want := range []string{"\njjm_build_info{version=", "\njjm_cluster_up{cluster=\"local\"} 1\n",
			"\njjm_requests_total{outcome=\"ok\",verb=\"clusters\"} ", "\njjm_store_transaction_duration_seconds_count "} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.settings, want, text)
			}
		}
		d.kill()
	}
	refused := writeConfig(t, fmt.Sprintf("[metrics]\nlisten = \"0.0.0.0:%d\"\n", wide))
	if said, code := checkOf(t, nil, refused); code != 5 || !strings.Contains(said, "metrics.listen") ||
		!strings.Contains(said, "metrics.allow = \"anyone\"") {
		t.Errorf("an address of every host: exit %d\n%s", code, said)
	}
}

// The scrape contains the counts of a finished grid job, but no name of its owner and no id.
func TestMetrics_CountWhatRan(t *testing.T) {
	t.Parallel()
	local := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	d := start(t, fmt.Sprintf("[metrics]\nlisten = %q\n", local))
	d.write("j.toml", "type = \"script\"\nname = \"verysecret\"\n[params]\ncommand = [\"/bin/true\"]\n")
	if out, code := d.says("submit", "j.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	text := scrape(t, "tcp", local)
	for _, want := range []string{`jjm_grid_jobs_ended_total{status="done"} 1`,
		`jjm_attempts_ended_total{level="exit",verdict="complete"} 1`, `jjm_cluster_submitted_jobs_total{cluster="local"} 1`,
		`jjm_requests_total{outcome="ok",verb="submit"} 1`} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "verysecret") {
		t.Errorf("the name of the grid job is in\n%s", text)
	}
}

// A daemon whose listener cannot be opened does not start, and its error names the reason.
func TestMetrics_AnAddressInUseIsAnErrorAtTheStart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	d := start(t, "")
	d.kill()
	d.write("jjm.toml", fmt.Sprintf("[metrics]\nlisten = %q\n", l.Addr()))
	said := d.refusal(d.dir + "/state")
	if !strings.Contains(said, "metrics.listen: ") || !strings.Contains(said, "address already in use") {
		t.Errorf("the daemon says %q", said)
	}
}

// writeConfig writes a configuration to a new file.
func writeConfig(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jjm.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
