package remote

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
)

// callTime is how long one try to send an event to a server may take.
const callTime = 30 * time.Second

// Call sends an event to the server of a grid job's callback, in a child process with the rights of the grid job's
// owner. key is the key of the event, the same at every try. An error means that something on this host failed; a
// failure of the server, or a secret file that the owner cannot read, is in the report.
func (is *Inputs) Call(ctx context.Context, job *jjm.GridJob, key string, body []byte) (fetch.Report, error) {
	cb := job.Spec.Callback
	secret, err := is.secret(job.Owner, job.BaseDir, cb)
	switch {
	case jjm.KindOf(err) == jjm.Busy:
		return fetch.Report{}, err
	case err != nil:
		return fetch.Report{Trouble: "callback.secret_file: " + err.Error(), Again: true}, nil
	}
	post := fetch.Post{Header: headers(key, secret, is.b.Now(), body), Body: body}
	return is.b.Deps.Fetch(is.areas.As(ctx, job.Owner), is.b.Conf().Fetch.PostOrder(cb.URL, post, callTime))
}

// headers returns the headers of an event. Without a secret there is no signature.
func headers(key string, secret []byte, now time.Time, body []byte) map[string]string {
	h := map[string]string{"Content-Type": "application/json", "Idempotency-Key": key}
	if len(secret) > 0 {
		at := strconv.FormatInt(now.Unix(), 10)
		h["JJM-Timestamp"], h["JJM-Signature"] = at, "sha256="+signature(secret, at, body)
	}
	return h
}

// signature returns the HMAC-SHA256 of a timestamp, a dot and a body, in hexadecimal digits.
func signature(secret []byte, at string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// secret reads the secret of a callback with the owner's rights; nil if the job file names none.
func (is *Inputs) secret(owner jjm.Owner, base string, cb *jjm.Callback) ([]byte, error) {
	if cb.SecretFile == "" {
		return nil, nil
	}
	f, err := is.open(owner, base, cb.SecretFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := fetch.ReadSecret(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cb.SecretFile, err)
	}
	return text, nil
}

// CheckCallback returns the problems of the callback in a job file. It contacts no server.
func (is *Inputs) CheckCallback(owner jjm.Owner, base string, cb *jjm.Callback) (ps jjm.Problems) {
	if cb == nil {
		return nil
	}
	bad := func(key, text string) { ps = append(ps, jjm.Problem{Field: "callback." + key, Text: text}) }
	u, err := weburl.ParseCallback(cb.URL)
	if err != nil {
		return nil // parsing the job file reported it
	}
	if !is.b.Deps.Callbacks {
		return jjm.Problems{{Field: "callback", Text: "this site calls no servers back: leave it out, or ask the site to " +
			"set notify.callbacks_per_user in its configuration"}}
	}
	if err := is.b.Conf().Fetch.Refused(u.Hostname()); err != nil {
		bad("url", weburl.Shown(cb.URL)+": "+err.Error())
	}
	if _, err := is.secret(owner, base, cb); err != nil {
		bad("secret_file", err.Error())
	}
	return ps
}
