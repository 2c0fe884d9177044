package gridjob

import (
	"encoding/base64"
	"strings"
	"testing"

	"jjm/internal/credential"
	"jjm/internal/jjm"
)

// A caller that renews credentials for another account, such as A-REX's scan, which is root, must name the subject of
// the credential. The subject of the grid job must be known too: an empty subject matches nothing.
func TestOnBehalf_WantsASubjectOnBothSides(t *testing.T) {
	token := func(claims string) jjm.Credential {
		text := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
		return jjm.Credential{Kind: jjm.TokenKind, Secret: jjm.Secret(text)}
	}
	ann, anns := &jjm.Origin{Subject: "ann"}, token(`{"sub":"ann"}`)
	for name, c := range map[string]struct {
		origin *jjm.Origin
		given  []jjm.Credential
		want   string // text of the refusal; "" if there is none
	}{
		"the same":  {ann, []jjm.Credential{anns}, ""},
		"no origin": {nil, []jjm.Credential{anns}, "the subject of its submitter is not known"},
		"an origin without a subject": {&jjm.Origin{Gatekeeper: "arc ce", VO: "/dzero"}, []jjm.Credential{anns},
			"the subject of its submitter is not known"},
		"neither has one": {&jjm.Origin{}, []jjm.Credential{token(`{}`)},
			"the subject of its submitter is not known"},
		"a token without a subject": {ann, []jjm.Credential{token(`{"sub":""}`)}, "names no subject"},
		"a proxy that is none": {ann, []jjm.Credential{{Kind: jjm.ProxyKind, Secret: "nonsense"}},
			"names no subject"},
		"another's":                          {ann, []jjm.Credential{token(`{"sub":"bob"}`)}, "is that of bob"},
		"another's behind an own one":        {ann, []jjm.Credential{anns, token(`{"sub":"bob"}`)}, "is that of bob"},
		"one without a subject behind it":    {ann, []jjm.Credential{anns, token(`{}`)}, "names no subject"},
		"a name that only begins the same":   {ann, []jjm.Credential{token(`{"sub":"anna"}`)}, "is that of anna"},
		"nothing given, and nobody's at all": {nil, nil, "the subject of its submitter is not known"},
	} {
		job := &jjm.GridJob{ID: 7, Owner: jjm.Owner{User: "grid1", UID: 4711}, Origin: c.origin}
		err := onBehalf(job, credential.ParseAll(c.given))
		if c.want == "" && err == nil {
			continue
		}
		if c.want == "" || jjm.KindOf(err) != jjm.Denied || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
