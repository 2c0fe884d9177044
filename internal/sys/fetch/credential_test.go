package fetch

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestAuthorization_OfATokenOrAUser(t *testing.T) {
	basic := func(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }
	for file, want := range map[string]string{
		"eyJh.bGci-_~+/==\n": "Bearer eyJh.bGci-_~+/==", "token": "Bearer token", "token\r\n": "Bearer token",
		"me:pass word\n": basic("me:pass word"), "me:": basic("me:"), "me:a:b": basic("me:a:b"),
		"m\u00e4:\u00e9": basic("m\u00e4:\u00e9"),
	} {
		if got, err := authorization(file); err != nil || got != want {
			t.Errorf("%q: %q, %v", file, got, err)
		}
	}
	for file, want := range map[string]string{
		"": "empty", "\n": "empty", "  ": "empty", "geheim\ngeheim\n": "several lines",
		"Bearer geheim": "neither", "geheim=x": "neither",
		":geheim": "neither", " a:geheim": "neither", "geheim\x00:": "control character",
		"a:geheim\xff": "UTF-8", "a\tgeheim": "control character",
		strings.Repeat("geheim", 20_000): "longer",
	} {
		got, err := authorization(file)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%.40q: %q, %v; want %q", file, got, err, want)
		}
	}
}

// FuzzAuthorization checks that an accepted header is one line that starts with a scheme and has only allowed
// characters, and that an error contains no text of the file.
func FuzzAuthorization(f *testing.F) {
	for _, file := range []string{"token", "me:secret", "a\nb", "", "\xff", "Bearer x"} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		header, err := authorization(file)
		if err != nil {
			if other, _ := authorization(file + "\x00\n\x00"); other != "" {
				t.Errorf("%q with more in it is %q", file, other)
			}
			if len(file) > 40 && strings.Contains(err.Error(), file) {
				t.Errorf("%q is shown: %v", file, err)
			}
			return
		}
		scheme, value, ok := strings.Cut(header, " ")
		if !ok || scheme != "Bearer" && scheme != "Basic" || value == "" ||
			strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q is %q", file, header)
		}
	})
}
