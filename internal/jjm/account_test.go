package jjm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// No way of printing or logging a credential shows its secret. Only its JSON form contains the secret.
func TestSecret_IsNeverShown(t *testing.T) {
	c := Credential{Kind: ProxyKind, Secret: "geheim"}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "secret", c.Secret, "credential", c, "list", []Credential{c},
		"error", fmt.Errorf("%v: %w", c, errors.New("x")))
	texts := []string{logged.String()}
	for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(form, c.Secret), fmt.Sprintf(form, c), fmt.Sprintf(form, []Credential{c}),
			fmt.Sprintf(form, &c))
	}
	for _, text := range append(texts,
		CheckCredentials([]Credential{c, c, {Kind: "x", Secret: "geheim"},
			{Kind: TokenKind, Secret: Secret(strings.Repeat("geheim", 1<<20))}}).Error()) {
		if strings.Contains(text, "geheim") || strings.Contains(text, fmt.Sprintf("%x", "geheim")) {
			t.Errorf("%.200s", text)
		}
	}
	b, err := json.Marshal(c)
	var back Credential
	if err != nil || json.Unmarshal(b, &back) != nil || back != c {
		t.Errorf("JSON: %s, %v", b, err)
	}
}

func TestCheckCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		given []Credential
		want  int
	}{
		"none":    {nil, 0},
		"both":    {[]Credential{{ProxyKind, "a"}, {TokenKind, "b"}}, 0},
		"twice":   {[]Credential{{ProxyKind, "a"}, {ProxyKind, "b"}}, 1},
		"unknown": {[]Credential{{"password", "a"}}, 1},
		"empty":   {[]Credential{{TokenKind, ""}}, 1},
		"long":    {[]Credential{{TokenKind, Secret(strings.Repeat("x", 1<<20))}}, 1},
	} {
		if got := CheckCredentials(c.given); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
