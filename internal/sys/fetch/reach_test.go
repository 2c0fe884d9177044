package fetch

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestGet_RedirectsAreCheckedLikeTheURL(t *testing.T) {
	text := letters(1000, "x")
	target := served(t, (&file{text: text}).ServeHTTP)
	private := httptest.NewUnstartedServer((&file{text: "secret"}))
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	private.Listener = l
	private.Start()
	t.Cleanup(private.Close)
	for name, c := range map[string]struct{ to, want string }{
		"to a file":   {target + "/?X-Amz-Signature=geheim", ""},
		"in a circle": {"/", "redirects more than 5 times"},
		"to a private address": {private.URL, "127.0.0.2 is not a public address (this host): this site " +
			"contacts only public addresses, and the networks that its administrators list in engine.fetch.networks"},
		"to a cloud's secrets": {"http://169.254.169.254/latest/meta-data",
			"169.254.169.254 is not a public address (link-local"},
		"by a name": {"http://localhost.localdomain.invalid/", "no such host"},
		"to a file of this host": {"file:///etc/passwd",
			"only URLs of http and https"},
		"with a user":    {"http://u:geheim@127.0.0.1/", "without a user"},
		"to what is not": {"http://127.0.0.1:%zz/geheim", "redirects to what is no URL"},
	} {
		o := orderOf(t, served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", c.to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}))
		r := try(o)
		if c.want == "" && (!r.Done || content(t, o) != text) || c.want != "" && !strings.Contains(r.Trouble, c.want) ||
			strings.Contains(r.Trouble, "geheim") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A credential is sent only to the scheme, host and port that the job file names.
func TestGet_ACredentialGoesNowhereElse(t *testing.T) {
	var mu sync.Mutex
	heard := map[string][]string{}
	server := func(name string, tls bool, to *string) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			heard[name] = append(heard[name], r.Header.Get("Authorization"))
			if r.Header.Get("Referer") != "" {
				heard[name] = append(heard[name], "Referer: "+r.Header.Get("Referer"))
			}
			mu.Unlock()
			if to != nil && *to != "" && r.URL.Path != "/end" {
				http.Redirect(w, r, *to, http.StatusFound)
				return
			}
			fmt.Fprint(w, "text")
		}))
		if tls {
			s.StartTLS()
			authority = s.Certificate().Raw
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s.URL
	}
	const bearerOf = "Bearer token"
	for name, c := range map[string]struct {
		to   func(self, other, plain string) (first, second string) // the redirects of both servers
		want map[string]string
	}{
		"no redirect": {func(_, _, _ string) (string, string) { return "", "" }, map[string]string{"self": bearerOf}},
		"to itself": {func(self, _, _ string) (string, string) { return self + "/end", "" },
			map[string]string{"self": bearerOf + " " + bearerOf}},
		"to another port": {func(_, other, _ string) (string, string) { return other, "" },
			map[string]string{"self": bearerOf, "other": ""}},
		"to plain http": {func(_, _, plain string) (string, string) { return plain, "" },
			map[string]string{"self": bearerOf, "plain": ""}},
		"away and back": {func(self, other, _ string) (string, string) { return other, self + "/end" },
			map[string]string{"self": bearerOf + " ", "other": ""}},
	} {
		clear(heard)
		var first, second string
		self, other, plain := server("self", true, &first), server("other", true, &second), server("plain", false, nil)
		first, second = c.to(self, other, plain)
		o := orderOf(t, self+"/start?x=1")
		o.Credential, o.Certificates = "token\n", authorityFile(t)
		r := try(o)
		if !r.Done {
			t.Errorf("%s: %+v", name, r)
		}
		got := map[string]string{}
		for server, lines := range heard {
			got[server] = strings.Join(lines, " ")
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: servers heard %q, want %q", name, got, c.want)
		}
	}
}

// authority is the certificate of httptest's servers.
var authority []byte

func authorityFile(t testing.TB) string {
	name := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority})
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestGet_CertificatesAreVerified(t *testing.T) {
	s := httptest.NewTLSServer(&file{text: "text"})
	t.Cleanup(s.Close)
	authority = s.Certificate().Raw
	o := orderOf(t, s.URL)
	if r := try(o); r.Done || r.Again || !strings.Contains(r.Trouble, "engine.fetch.certificates") {
		t.Errorf("of an unknown authority: %+v", r)
	}
	file := authorityFile(t)
	for _, path := range []string{file, filepath.Dir(file)} {
		o := orderOf(t, s.URL)
		if o.Certificates = path; !try(o).Done {
			t.Errorf("with its authority in %s: %+v", path, try(o))
		}
	}
	for path, want := range map[string]string{"/nowhere": "no such file", "/etc/passwd": "no certificate in",
		t.TempDir(): "no certificate in"} {
		o := orderOf(t, s.URL)
		o.Certificates = path
		if r := try(o); r.Done || !r.Again || !strings.Contains(r.Trouble, want) {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// A name server may return a public address for the first connection, and a private address for the next connection.
// The address is therefore checked for each connection, and the private address is not contacted.
func TestGet_ANameMayLeadElsewhereTheNextTime(t *testing.T) {
	l, inside := twoListeners(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	var asked atomic.Int32
	outer := &http.Server{Handler: &file{text: letters(1000, "x"), tag: `"1"`, cut: 400}}
	inner := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) })}
	go outer.Serve(l)
	go inner.Serve(inside)
	t.Cleanup(func() { outer.Close(); inner.Close() })
	var queries atomic.Int32
	resolver := nameServer(t, func() [4]byte {
		if queries.Add(1) == 1 {
			return [4]byte{127, 0, 0, 1}
		}
		return [4]byte{127, 0, 0, 2}
	})
	o := orderOf(t, "http://rebind.test:"+port+"/x")
	get := func() Report {
		g := &getter{Order: o, resolver: resolver, pace: quick}
		return g.get(context.Background())
	}
	if r := get(); r.Bytes == 0 || !r.Again {
		t.Errorf("the first time: %+v", r)
	}
	if r := get(); r.Again || !strings.Contains(r.Trouble, "127.0.0.2 is not a public address (this host)") {
		t.Errorf("the second time: %+v", r)
	}
	if asked.Load() != 0 {
		t.Error("the server at the private address was asked")
	}
}

// twoListeners returns listeners at the same port of two addresses of this host.
func twoListeners(t *testing.T) (one, two net.Listener) {
	var err error
	for range 20 {
		if one, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(one.Addr().String())
		if two, err = net.Listen("tcp", "127.0.0.2:"+port); err == nil {
			return one, two
		}
		one.Close()
	}
	t.Fatal("no port is free at both addresses: ", err)
	return nil, nil
}

// nameServer returns a resolver that answers every name with the same address (RFC 1035).
func nameServer(t *testing.T, address func() [4]byte) *net.Resolver {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		for {
			buf := make([]byte, 512)
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			end := 12
			for end < n && buf[end] != 0 {
				end += int(buf[end]) + 1
			}
			end += 5
			answer := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buf[12:end]...)
			if buf[end-3] == 1 { // the query is for an IPv4 address (type A)
				ip := address()
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ip[0], ip[1], ip[2], ip[3])
			}
			_, _ = c.WriteTo(answer, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}
