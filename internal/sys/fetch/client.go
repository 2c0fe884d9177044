package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"jjm/internal/formats/weburl"
)

const (
	// connectTime limits the time to connect, and also the time of the TLS handshake.
	connectTime = 20 * time.Second
	// maxHeader limits the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxRedirects is the largest number of redirects that are followed.
	maxRedirects = 5
	// maxRepeats is the largest number of immediate repetitions of a request without an answer. An error that lasts longer
	// ends the try.
	maxRepeats = 2
)

// pace holds the time limits and the waits within one try.
type pace struct {
	// window is the time over which the rate is measured, and in which an answer must begin.
	window time.Duration
	// repeat is the wait before a request without an answer is repeated.
	repeat time.Duration
}

// newClient creates the HTTP client for an order. The client connects only to the allowed networks ns. It sends
// credentials only to the origin of the first request.
func newClient(ns networks, resolver *net.Resolver, trusted *x509.CertPool, pace pace) *retryablehttp.Client {
	transport := &http.Transport{
		DialContext: ns.dialer(resolver).DialContext, TLSClientConfig: &tls.Config{RootCAs: trusted},
		TLSHandshakeTimeout: connectTime, ResponseHeaderTimeout: pace.window, MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives: true, DisableCompression: true,
	} // no Proxy: the dialer would see only the proxy's address
	h := retryablehttp.NewClient()
	h.HTTPClient = &http.Client{Transport: transport, CheckRedirect: redirected}
	h.Logger = nil
	h.RetryMax, h.RetryWaitMin, h.RetryWaitMax = maxRepeats, pace.repeat, 4*pace.repeat
	h.CheckRetry = repeatNow
	// Retry-After is for the next try, not for a repeated request.
	h.Backoff = func(low, high time.Duration, n int, _ *http.Response) time.Duration {
		return retryablehttp.DefaultBackoff(low, high, n, nil)
	}
	h.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return h
}

// redirected checks each redirect, and removes headers from the request that another server must not get.
func redirected(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &refusal{fmt.Sprintf("redirects more than %d times, at last to %s", maxRedirects,
			weburl.Shown(req.URL.String()))}
	}
	u := req.URL
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return &refusal{fmt.Sprintf("redirects to %s: only URLs of http and https without a user are followed",
			weburl.Shown(u.String()))}
	}
	req.Header.Del("Referer")
	// If any redirect led to another origin, that server chose all later redirects, even a redirect back to the first
	// origin.
	for _, r := range via {
		if origin(r.URL) != origin(via[0].URL) || origin(u) != origin(via[0].URL) {
			req.Header.Del("Authorization")
		}
	}
	return nil
}

// origin returns the origin of a URL (RFC 6454, 4).
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// address identifies the place of a file: the URL without its query, because the query may have a new signature in each
// request.
func address(u *url.URL) string { return origin(u) + u.EscapedPath() }

// repeatNow reports whether the client sends a request again within the same try. It does so only if no answer came and
// the error is not final. Its error is that of ctx if ctx has ended, else nil.
func repeatNow(ctx context.Context, _ *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err != nil && !final(err), nil
}

// The limits of a folder of certificates: the number of files, and the bytes of each file.
const (
	maxCertificates = 5000
	maxCertificate  = 1 << 20
)

// certificates returns the certificates of this machine and the certificates of a file, or of the files in a folder
// whose names end in .pem, .crt or .0, as in the folders of grid authorities.
func certificates(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil // only the certificates of this machine
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = inFolder(path); err != nil {
			return nil, err
		}
	}
	found := false
	for _, file := range files {
		text, err := readShort(file)
		if err != nil {
			return nil, fmt.Errorf("engine.fetch.certificates: %w", err)
		}
		found = pool.AppendCertsFromPEM(text) || found
	}
	if !found {
		return nil, fmt.Errorf("engine.fetch.certificates: no certificate in %s: want PEM", path)
	}
	return pool, nil
}

// inFolder returns the paths of the files in a folder that may contain certificates.
func inFolder(path string) (files []string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("engine.fetch.certificates: %w", err)
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".pem", ".crt", ".0":
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) > maxCertificates {
		return nil, fmt.Errorf("engine.fetch.certificates: %d files in %s: at most %d", len(files), path, maxCertificates)
	}
	return files, nil
}

// readShort reads at most maxCertificate bytes of a file.
func readShort(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxCertificate))
}
