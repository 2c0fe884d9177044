// Package mailaddress checks mail addresses that people write in job files. It does no I/O.
package mailaddress

import (
	"errors"
	"net/mail"
	"strings"
)

// Most is the length of the longest address in bytes (RFC 5321, 4.5.3.1.3, without the angle brackets).
const Most = 254

// Check returns an error unless text is a plain address, such as alice@example.org. A plain address has no display
// name, comment, quotes or domain literal, and no character by which a mail program could take the address for an
// option, a file, a command or a route. The error describes the correct form.
func Check(text string) error {
	local, domain, _ := strings.Cut(text, "@")
	a, err := mail.ParseAddress(text)
	switch {
	case len(text) > Most:
		return errors.New("is too long: at most 254 bytes")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("contains a blank, a control character or a character outside ASCII: " + want)
	case strings.HasPrefix(text, "-"):
		return errors.New("programs take it for an option: want no - in front")
	case err != nil || a.Name != "" || a.Address != text || domain == "":
		return errors.New("is no plain address: " + want)
	case strings.ContainsAny(local, "|/!%`$") || strings.ContainsAny(domain, "[]") || strings.HasPrefix(domain, "-"):
		return errors.New("contains a file, a command, a route or an address of a host: " + want)
	}
	return nil
}

const want = "want one such as alice@example.org, without a name"
