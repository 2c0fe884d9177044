package fetch

import (
	"crypto/tls"
	"errors"
	"net/url"
	"strings"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// refusal is an error that would occur again in every further try.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// final reports whether the error would occur again in every further try.
func final(err error) bool {
	var refused *refusal
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &refused) || errors.As(err, &certificate)
}

// failed returns the report with an error added. If err is nil, the report is unchanged.
func (r Report) failed(err error) Report {
	if err == nil {
		return r
	}
	r.Trouble, r.Again = textOf(err), !final(err)
	var d *retryLater
	if errors.As(err, &d) {
		r.Wait = jjm.Duration(min(d.wait, maxRetryAfter))
	}
	return r
}

// maxTrouble is the longest text of an error, in bytes.
const maxTrouble = 400

// textOf returns the text of an error in one line, without URLs, which may contain secrets.
func textOf(err error) string {
	var refused *refusal
	var wait *retryLater
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused):
		return short(refused.text)
	case errors.As(err, &wait):
		return short(wait.text)
	case errors.As(err, &certificate):
		return short(certificate.Error() + ": the site can name the authority (engine.fetch.certificates)")
	}
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "Location header"):
		return "the server redirects to what is no URL"
	case weburl.Is(text):
		return "the server's answer cannot be understood"
	}
	return short(strings.ReplaceAll(text, "\n", ": "))
}

// short returns a text of an error, cut at maxTrouble bytes.
func short(text string) string {
	if len(text) <= maxTrouble {
		return text
	}
	return strings.ToValidUTF8(text[:maxTrouble], "") + "..."
}
