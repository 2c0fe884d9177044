package engine_test

import (
	"encoding/base64"
	"testing"

	"jjm"
	"jjm/wire"
)

// bearer is a token with some claims, signed by nobody.
func bearer(claims string) []jjm.Credential {
	text := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	return []jjm.Credential{{Kind: jjm.TokenKind, Secret: jjm.Secret(text)}}
}

// What a credential says of its bearer completes what the gatekeeper told; and who
// acts for others renews with what is theirs.
func TestCredentials_TellWhoseTheyAre(t *testing.T) {
	inWorld(t, options{}, func(t *testing.T, w *world) {
		ann := `{"sub":"ann","iss":"https://issuer","wlcg.groups":["/dzero"],"jti":"1"}`
		submit := func(key string, o *jjm.Origin) *jjm.Origin {
			s, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml", Text: plain(1, `credentials = ["token"]`), BaseDir: "/",
				Key: key, Origin: o, Credentials: bearer(ann)})
			w.must(err)
			st, err := w.engine.Status(t.Context(), alice, []jjm.Ref{{Grid: s.ID}})
			w.must(err)
			return st[0].Origin
		}
		if o := submit("a", &jjm.Origin{Gatekeeper: "ce"}); o == nil || o.Subject != "ann" || o.Issuer != "https://issuer" || o.VO != "/dzero" {
			t.Errorf("nothing told: %+v", o)
		}
		if o := submit("b", &jjm.Origin{Gatekeeper: "ce", Subject: "/CN=Ann", VO: "/cdf"}); o.Subject != "/CN=Ann" || o.Issuer != "" || o.VO != "/cdf" {
			t.Errorf("all told: %+v", o)
		}
		if o := submit("c", nil); o != nil {
			t.Errorf("no gatekeeper: %+v", o)
		}
		root := wire.Caller{User: "root", UID: alice.UID + 1, Admin: true}
		bob := bearer(`{"sub":"bob","jti":"2"}`)
		if _, err := w.engine.Renew(t.Context(), root, 1, bob); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another's, by an administrator: %v", err)
		}
		if kinds, err := w.engine.Renew(t.Context(), root, 1, bearer(`{"sub":"ann","jti":"3"}`)); err != nil || len(kinds) != 1 {
			t.Errorf("one of the same name: %v, %v", kinds, err)
		}
		if kinds, err := w.engine.Renew(t.Context(), alice, 1, bob); err != nil || len(kinds) != 1 {
			t.Errorf("what the owner wants: %v, %v", kinds, err)
		}
	})
}
