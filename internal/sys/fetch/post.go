package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"jjm/internal/jjm"
)

// Post is an event to send to a server.
type Post struct {
	// Header are the headers of the event. They contain no text of a job file.
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
}

// PostOrder returns the order to send an event to a URL within a time, with the networks and certificates of the
// settings.
func (c Config) PostOrder(url string, p Post, within time.Duration) Order {
	return Order{URL: url, Post: &p, MaxTime: jjm.Duration(within), Networks: c.Networks, Certificates: c.Certificates}
}

// Send sends the event of an order once. It reads only the status and the headers of the answer. Report.Done is set if
// the server took the event (2xx). After other answers another try may help, except after 410 Gone.
func Send(ctx context.Context, o Order) Report {
	g := &getter{Order: o, pace: usualPace()}
	return g.send(ctx)
}

// send carries out one try to send the event.
func (g *getter) send(ctx context.Context) Report {
	ctx, stop := context.WithTimeoutCause(ctx, g.MaxTime.D(), errTime)
	defer stop()
	err := g.post(ctx)
	if err == nil {
		return Report{Done: true}
	}
	if errors.Is(context.Cause(ctx), errTime) {
		err = &retryLater{text: fmt.Sprintf("%v within %s", errSilent, g.MaxTime)}
	}
	r := Report{}.failed(err)
	var certificate *tls.CertificateVerificationError
	r.Again = r.Again || errors.As(err, &certificate) // people renew certificates that have expired
	return r
}

// post sends one request, and returns an error unless the server took the event.
func (g *getter) post(ctx context.Context) error {
	ns, err := networksOf(g.Networks)
	if err != nil {
		return err
	}
	trusted, err := certificates(g.Certificates)
	if err != nil {
		return err
	}
	client := newClient(ns, g.resolver, trusted, g.pace)
	client.HTTPClient.CheckRedirect = redirectedPost
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, g.URL, g.Post.Body)
	if err != nil {
		return &refusal{"is no URL"}
	}
	req.Header.Set("User-Agent", "jjm")
	for name, value := range g.Post.Header {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // without reading it: an answer may be endless
	return taken(resp)
}

// redirectedPost checks each redirect in the same way as [redirected], and refuses redirects that drop the event.
func redirectedPost(req *http.Request, via []*http.Request) error {
	if req.Method != http.MethodPost {
		return &refusal{fmt.Sprintf("the server answers %d, a redirect that drops the event: want 307 or 308, or the URL "+
			"to which it leads", req.Response.StatusCode)}
	}
	return redirected(req, via)
}

// taken returns an error unless the answer means that the server took the event.
func taken(resp *http.Response) error {
	code := resp.StatusCode
	text := fmt.Sprintf("the server answers %d %s", code, http.StatusText(code))
	switch {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusGone:
		return &refusal{text}
	}
	return &retryLater{text: text, wait: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
}

// maxSecret and minSecret are the limits of a secret, in bytes.
const (
	minSecret = 16
	maxSecret = 1024
)

// ReadSecret reads an open file with a secret: one line, without the line end. The error describes the mistake without
// showing the content.
func ReadSecret(f io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+3))
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if n := len(text); n < minSecret || n > maxSecret || bytes.ContainsAny(text, "\r\n") {
		return nil, fmt.Errorf("want one line with a secret of %d to %d bytes, such as openssl rand -hex 32 makes", minSecret, maxSecret)
	}
	return text, nil
}
