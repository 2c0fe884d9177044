package credential

import (
	"fmt"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestCanonicalDN_IsOneForAllNotations(t *testing.T) {
	for want, notations := range map[string][]string{
		"/dc=org/dc=site/cn=mallory": {
			"/DC=org/DC=site/CN=Mallory", "CN=Mallory,DC=site,DC=org", "DC = org, DC = site, CN = Mallory",
			"cn=mallory; dc=site; dc=org",
			" /dc=ORG/dc=site/CN= Mallory ", `CN=\4Dallory,DC=site,DC=org`, "CN=#0C074D616C6C6F7279,DC=site,DC=org",
			`/DC=org/DC=site/CN=\x4Dallory`,
			"2.5.4.3=Mallory,0.9.2342.19200300.100.1.25=site,DC=org", "OID.2.5.4.3=Mallory,domainComponent=site,DC=org",
		},
		"/o=grid/cn=mallory/email=m@x.org": {
			"/O=Grid/CN=Mallory/Email=m@x.org", "/O=Grid/CN=Mallory/E=m@x.org", "/O=Grid/CN=Mallory/emailAddress=m@x.org",
			"emailAddress=m@x.org,CN=Mallory,O=Grid", "1.2.840.113549.1.9.1=#16076D40782E6F7267,CN=Mallory,O=Grid",
		},
		"/o=grid/uid=m1": {"/O=Grid/UID=m1", "/O=Grid/USERID=m1", "/O=grid/userId=m1", "UID=m1,O=Grid"},
		`/o=grid/cn=host\/ce.site.org`: {"/O=Grid/CN=host/ce.site.org", `/O=Grid/CN=host\/ce.site.org`,
			"CN=host/ce.site.org,O=Grid"},
		// The example is from RFC 4514, section 4, and RFC 2253, section 5.
		"/dc=net/dc=example/uid=jsmith": {"UID=jsmith,DC=example,DC=net"},
		"/dc=net/dc=example/cn=j. smith+ou=sales": {"OU=Sales+CN=J.  Smith,DC=example,DC=net",
			"/DC=net/DC=example/OU=Sales+CN=J. Smith"},
		`/dc=net/dc=example/cn=james "jim" smith, iii`: {`CN=James \"Jim\" Smith\, III,DC=example,DC=net`,
			`/DC=net/DC=example/CN=James "Jim" Smith, III`},
		`/dc=net/dc=example/cn=before after`: {`CN=Before\0dAfter,DC=example,DC=net`,
			`/DC=net/DC=example/CN=Before\x0DAfter`},
		"/dc=com/dc=example/1.3.6.1.4.1.1466.0=hi": {"1.3.6.1.4.1.1466.0=#04024869,DC=example,DC=com"},
		"/cn=lučić": {`CN=Lu\C4\8Di\C4\87`, `/CN=Lu\xC4\x8Di\xC4\x87`, "CN=LUČIĆ"},
		"/c=gb/o=sue, grabbit and runn/cn=l. eagle": {`CN=L. Eagle,O="Sue, Grabbit and Runn",C=GB`,
			`CN=L. Eagle,O=Sue\, Grabbit and Runn,C=GB`},
		"/cn=steve kille/o=isode limited/c=gb/cn=1234567": {"/CN=Steve Kille/O=Isode Limited/C=GB/CN=1234567"},
		"a1b2 c3": {"A1B2  c3"}, // not a name, but the subject of a token
	} {
		for _, text := range notations {
			if got := CanonicalDN(text); got != want {
				t.Errorf("%s: got %s, want %s", text, got, want)
			}
		}
	}
}

func TestParseDN_RefusesWhatIsNoDN(t *testing.T) {
	for _, text := range []string{"", "/", "Mallory", "CN=a,,O=b", `CN="a`, "=a", "/=a", "CN=a,b"} {
		if dn, err := ParseDN(text); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%q: %v, %v", text, dn, err)
		}
	}
}

func TestDN_CoversProxiesInEachNotation(t *testing.T) {
	for _, c := range []struct {
		ban, dn string
		want    bool
	}{
		{"/DC=org/CN=Mallory", "CN=12345,CN=limited proxy,CN=Mallory,DC=org", true},
		{"CN=Mallory,DC=org", "/DC=org/CN=Mallory/CN=proxy", true},
		{"CN=Mallory,DC=org", "/DC=org/CN=Mallory Smith", false},
		{"CN=Mallory,DC=org", "/DC=org/CN=Mallory/OU=x", false},
		{"/DC=org/CN=Mallory/CN=proxy", "/DC=org/CN=Mallory", false},
		{"CN=Mallory+UID=m1,O=Grid", "/O=Grid/UID=m1/CN=Mallory", true},
		{"/O=Grid/UID=m1/CN=Mallory", "CN=1,CN=Mallory+UID=m1,O=Grid", true},
		{"CN=Mallory+UID=m1,O=Grid", "/O=Grid/UID=m1", false},
	} {
		ban, err1 := ParseDN(c.ban)
		dn, err2 := ParseDN(c.dn)
		if err1 != nil || err2 != nil || ban.Covers(dn) != c.want {
			t.Errorf("%s covers %s: %v, %v, %v", c.ban, c.dn, !c.want, err1, err2)
		}
	}
}

func FuzzCanonicalDN(f *testing.F) {
	for _, text := range []string{"/DC=org/CN=Mallory", `CN=a\,b+UID=\23c,O="x;y"`, "CN=#04024869", `/CN=\x41\/b/Email=x`,
		"A=İı\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := CanonicalDN(text)
		if again := CanonicalDN(once); again != once {
			t.Errorf("%q: %q, then %q", text, once, again)
		}
		if dn, err := ParseDN(text); err == nil && !dn.Covers(dn) {
			t.Errorf("%q does not cover itself", text)
		}
		escaped := func(escape string) string {
			var b strings.Builder
			for _, c := range []byte(text) {
				fmt.Fprintf(&b, escape, c)
			}
			return b.String()
		}
		slashes, commas := "/O=grid/CN="+escaped(`\x%02X`), "CN="+escaped(`\%02x`)+",O=grid"
		if !SameDN(slashes, commas) {
			t.Errorf("%q: %s and %s", text, CanonicalDN(slashes), CanonicalDN(commas))
		}
	})
}
