package wire

import (
	"strings"
	"testing"
)

func TestDecodeRequest_ChecksBans(t *testing.T) {
	for text, want := range map[string]string{
		`{"verb":"ban"}`: "",
		`{"verb":"ban","ban":{"name":"mallory","reason":"x"}}`:                                 "",
		`{"verb":"ban","ban":{"name":"/CN=Mallory","lift":true}}`:                              "",
		`{"verb":"ban","ban":{"name":"mallory"}}`:                                              "reason is missing",
		`{"verb":"ban","ban":{"name":"mallory","reason":" "}}`:                                 "reason is missing",
		`{"verb":"ban","ban":{"name":" ","reason":"x"}}`:                                       "want the name of an account",
		`{"verb":"ban","ban":{"name":"a\nb","reason":"x"}}`:                                    "want the name of an account",
		`{"verb":"ban","ban":{"name":"` + strings.Repeat("x", 3000) + `","reason":"x"}}`:       "want the name of an account",
		`{"verb":"ban","ban":{"name":"mallory","reason":"x\u001b[2J"}}`:                        "want one line",
		`{"verb":"ban","ban":{"name":"mallory","reason":"` + strings.Repeat("x", 1001) + `"}}`: "want one line",
		`{"verb":"ban","ban":{"name":"mallory","reasons":"x"}}`:                                `did you mean "reason"`,
	} {
		_, err := DecodeRequest([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.100s: %v, want %q", text, err, want)
		}
	}
}
