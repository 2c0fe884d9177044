package fetch

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// step is the treatment of the body of an answer.
type step uint8

const (
	appendBody step = iota // append the body to the bytes fetched so far
	startOver              // the body is the file from its start
	discard                // discard the bytes, which are of another state of the file, and request the whole file
)

// next decides how to treat an answer. s is the state of the bytes that were fetched before; the returned state is the
// state of the file afterwards. checked is set if the job file has a checksum, which is compared at the end. The error
// is a [refusal], or an error after which another try may succeed.
func (s *state) next(resp *http.Response, checked bool) (step, state, error) {
	switch code := resp.StatusCode; {
	case code == http.StatusRequestedRangeNotSatisfiable && s.Kept > 0:
		return discard, state{Total: -1}, nil
	case code == http.StatusOK:
		fresh := stateOf(resp)
		return startOver, fresh, readable(resp, fresh.Total, checked)
	case code == http.StatusPartialContent && s.Kept > 0:
		later, follows := s.follow(resp)
		if !follows {
			return discard, state{Total: -1}, nil
		}
		return appendBody, later, readable(resp, later.Total, checked)
	}
	return startOver, state{}, statusError(resp)
}

// stateOf returns the state of a file whose answer begins with the file's first byte.
func stateOf(resp *http.Response) state {
	s := state{Address: address(resp.Request.URL), Total: resp.ContentLength}
	if tag := resp.Header.Get("ETag"); strings.HasPrefix(tag, `"`) && len(tag) <= maxTag {
		s.ETag = tag
	} else if tag == "" {
		s.Modified = strongDate(resp.Header)
	}
	return s
}

// maxTag is the maximum length of an ETag in bytes. A longer ETag is not used.
const maxTag = 1024

// strongDate returns Last-Modified if this date identifies one state of the file, and otherwise "". The date identifies
// one state if the answer is at least a minute later (RFC 7232, 2.2.2).
func strongDate(h http.Header) string {
	text := h.Get("Last-Modified")
	modified, err := http.ParseTime(text)
	if err != nil {
		return ""
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || date.Sub(modified) < time.Minute {
		return ""
	}
	return text
}

// follow reports whether a partial answer continues the bytes fetched so far, in the same state of the file.
func (s *state) follow(resp *http.Response) (later state, follows bool) {
	first, total, ok := contentRange(resp.Header.Get("Content-Range"))
	tag := resp.Header.Get("ETag")
	switch {
	case !ok || first != s.Kept || address(resp.Request.URL) != s.Address:
	case s.Total >= 0 && total >= 0 && total != s.Total:
	case tag != "" && tag != s.ETag:
	case resp.Header.Get("Content-Encoding") != "" && resp.Header.Get("Content-Encoding") != identity:
	default:
		later = *s
		later.Resumed = true
		if total >= 0 {
			later.Total = total
		}
		return later, true
	}
	return state{}, false
}

// contentRange parses "bytes FIRST-LAST/TOTAL". total is -1 for "*".
func contentRange(text string) (first, total int64, ok bool) {
	rest, ok := strings.CutPrefix(text, "bytes ")
	if !ok {
		return 0, 0, false
	}
	span, all, ok1 := strings.Cut(rest, "/")
	from, to, ok2 := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || first < 0 || last < first {
		return 0, 0, false
	}
	if all == "*" {
		return first, -1, true
	}
	total, err := strconv.ParseInt(all, 10, 64)
	if err != nil || last >= total {
		return 0, 0, false
	}
	return first, total, true
}

// identity is the content coding of a body that is not compressed.
const identity = "identity"

// readable returns a [refusal] if jjm could not detect that the body is incomplete or was changed: the body is
// compressed, or it has neither a length nor a transfer encoding that marks its end. If the job file has a checksum
// (checked), readable returns nil, because the checksum detects both.
func readable(resp *http.Response, total int64, checked bool) error {
	if checked {
		return nil
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != identity {
		return &refusal{fmt.Sprintf("it comes packed (Content-Encoding: %.40q), though it was asked for as it is: "+
			"give the sha256 of what the server sends, or take another server", coding)}
	}
	if total < 0 && len(resp.TransferEncoding) == 0 {
		return &refusal{"the server does not say how long it is, so that nobody can tell whether it is whole: " +
			"give its sha256"}
	}
	return nil
}

// retryLater is an error after which another try may succeed. wait is the time that the server requested to wait.
type retryLater struct {
	text string
	wait time.Duration
}

func (d *retryLater) Error() string { return d.text }

// statusError returns the error for an answer that does not contain the file.
func statusError(resp *http.Response) error {
	code := resp.StatusCode
	text := fmt.Sprintf("the server answers %d %s", code, http.StatusText(code))
	switch {
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusTooEarly:
		return &retryLater{text, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired:
		text += ": name a credential_file that it takes"
	case code == http.StatusNotFound, code == http.StatusGone:
		text += ": correct the path, or put the file there"
	case code < 300:
		text += ", which is no whole file"
	case code < 400:
		text += ", and not where the file is instead"
	}
	return &refusal{text}
}

// retryAfter parses the time that the server requested to wait (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
