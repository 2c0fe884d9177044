package mailaddress

import (
	"strings"
	"testing"
)

func TestCheck_AcceptsPlainAddressesOnly(t *testing.T) {
	for _, good := range []string{"alice@example.org", "a.b+jobs@x.example.org", "root@localhost",
		"o'neil@example.org"} {
		if err := Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "alice", "@example.org", "alice@", "-oQ/tmp@example.org", "-t",
		"Alice <a@example.org>",
		"<a@example.org>", "a@example.org, b@example.org", "a@example.org (c)", `"a b"@example.org`, `"a,b"@example.org`,
		"a@example.org\r\nBcc: b@example.org", "a@example.org\n", "a\x00@example.org", "a @example.org", "a@[127.0.0.1]",
		"|sh@example.org", "/etc/passwd@example.org", "a%b@example.org", "a!b@example.org", "a@-example.org", "ä@example.org",
		"a@b@example.org", strings.Repeat("a", 250) + "@b.org"} {
		if Check(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("alice@example.org")
	f.Fuzz(func(t *testing.T, s string) {
		if Check(s) == nil && (len(s) > Most || strings.ContainsAny(s, " \r\n\t,;<>\"()") || s[0] == '-') {
			t.Errorf("%q was accepted", s)
		}
	})
}
