package fetch

import (
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCredential is the longest credential file, in bytes.
const maxCredential = 64 << 10

// bearer is the form of a bearer token (RFC 6750, 2.1).
var bearer = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// ReadCredential reads an open credential file. The error describes the mistake without showing the content.
func ReadCredential(f io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxCredential+1))
	if err != nil {
		return "", err
	}
	_, err = authorization(string(text))
	return string(text), err
}

// authorization returns the header for the content of a credential file. The content is one line: a bearer token, or
// user:password. Errors do not contain the content.
func authorization(file string) (string, error) {
	line := strings.TrimRight(file, "\r\n")
	switch {
	case len(file) > maxCredential:
		return "", errors.New("is longer than 64 KiB: want one line, a bearer token or user:password")
	case strings.TrimSpace(line) == "":
		return "", errors.New("is empty: want one line, a bearer token or user:password")
	case strings.ContainsAny(line, "\r\n"):
		return "", errors.New("has several lines: want one, a bearer token or user:password")
	case !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl):
		return "", errors.New("holds a control character, or is no UTF-8 text: want a bearer token or user:password")
	case bearer.MatchString(line):
		return "Bearer " + line, nil
	}
	user, _, pair := strings.Cut(line, ":")
	if !pair || user == "" || strings.HasPrefix(line, " ") {
		return "", errors.New("is neither a bearer token, alone and without blanks, nor user:password")
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(line)), nil
}
