// Package weburl parses the URLs of http and https servers in job files: of inputs and of call-backs. It does no I/O.
//
// A job file is stored and shown to several people. Therefore a URL must not contain a secret, and the shown form of a
// URL ([Shown]) has no query.
package weburl

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"jjm/internal/jjm"
)

// Is reports whether a path has the form of a URL.
func Is(path string) bool { return strings.Contains(path, "://") }

// secrets are the query parameters that grant rights: bearer tokens (RFC 6750, 2.3), and the parameters by which clouds
// and dCache sign URLs.
var secrets = []string{"access_token", "api_key", "apikey", "authorization", "authz", "awsaccesskeyid", "id_token",
	"passwd", "password", "secret", "sig", "signature", "token", "x-amz-credential", "x-amz-security-token",
	"x-amz-signature", "x-goog-credential", "x-goog-signature"}

// Parse parses a URL. The error describes the mistake and the correct form. The error contains no text that could be a
// secret.
func Parse(text string) (*url.URL, error) {
	if strings.HasPrefix(strings.ToLower(text), "file://") {
		return nil, errors.New("a local file is named by its path alone: leave file:// out")
	}
	return parse(text, "can be inputs", "Write %s into a file that only you can read, and name it as credential_file")
}

// ParseCallback parses the URL of a server that receives the changes of grid jobs. The rules are the same as for
// [Parse].
func ParseCallback(text string) (*url.URL, error) {
	return parse(text, "can be called back", "The server knows jjm by the signature: leave %s out, and name a secret_file")
}

// parse parses a URL. use and secret are parts of error texts: use states for what http and https URLs are allowed, and
// secret is the advice about a secret in the URL, with %s in place of the kind of secret.
func parse(text, use, secret string) (*url.URL, error) {
	scheme, _, _ := strings.Cut(text, "://")
	switch strings.ToLower(scheme) {
	case "http", "https":
	default:
		return nil, errors.New("only URLs of http and https " + use)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsSpace(r) }) {
		return nil, errors.New("contains a blank or a control character: write a blank as %20")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is not a URL: want https://HOST/PATH")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("has a user or a password before the @, which is refused, because a job file is stored and " +
			"shown. " + fmt.Sprintf(secret, "user:password"))
	case u.Hostname() == "" || strings.Contains(u.Hostname(), "%"):
		return nil, errors.New("names no host: want https://HOST/PATH")
	case !goodPort(u.Port()) || strings.HasSuffix(u.Host, ":"):
		return nil, fmt.Errorf("port %.10q: want 1 to 65535", u.Port())
	case strings.Contains(text, "#"):
		return nil, errors.New("has a part after #, which is never sent to a server: leave it out, or write # as %23")
	}
	if key := secretIn(u.RawQuery); key != "" {
		return nil, fmt.Errorf("has a secret in its query (%s), which is refused, because a job file is stored and shown. %s",
			key, fmt.Sprintf(secret, "a token"))
	}
	return u, nil
}

// secretIn returns the name of a query parameter that is a secret, "" if the query has no secret.
func secretIn(query string) string {
	for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		key, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); err == nil {
			key = plain
		}
		if key = strings.ToLower(key); slices.Contains(secrets, key) {
			return key
		}
	}
	return ""
}

// goodPort reports whether a text is the number of a port.
func goodPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n >= 1 && n <= 65535
}

// Name returns the name of the file to which a URL leads, "" if the URL has no file name.
func Name(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	name := path.Base("/" + u.Path)
	if strings.HasSuffix(u.Path, "/") || name == "/" || name == "." || name == ".." {
		return ""
	}
	return name
}

// shownBytes is the maximum length of the part of a URL that is shown, in bytes.
const shownBytes = 200

// Shown returns the part of a URL, valid or not, that people may see: no user and no query. It returns a path that is
// not a URL unchanged.
func Shown(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	shown, query := rest, ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		shown, query = rest[:i], "?..."
	}
	host, way, below := strings.Cut(shown, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	if below {
		host += "/" + way
	}
	return fmt.Sprintf("%s://%s%s", scheme, cut(host), query)
}

// cut shortens a text to shownBytes bytes if it is longer. It cuts between two characters.
func cut(s string) string {
	if len(s) <= shownBytes {
		return s
	}
	return strings.ToValidUTF8(s[:shownBytes], "") + "..."
}

// Check returns the problems of an input that can be found from its job file only. Field is "path" or
// "credential_file".
func Check(in *jjm.Input) (ps jjm.Problems) {
	bad := func(field, text string) { ps = append(ps, jjm.Problem{Field: field, Text: text}) }
	if !Is(in.Path) {
		if in.CredentialFile != "" {
			bad("credential_file", "is for inputs that are URLs: leave it out")
		}
		return ps
	}
	u, err := Parse(in.Path)
	switch {
	case err != nil:
		bad("path", Shown(in.Path)+": "+err.Error())
	case Is(in.CredentialFile):
		bad("credential_file", "is a URL: want a local file with a bearer token, or with user:password")
	case in.CredentialFile != "" && u.Scheme != "https":
		bad("credential_file", "would be sent in the clear to "+Shown(in.Path)+": want https://")
	}
	return ps
}
