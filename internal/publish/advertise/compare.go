package advertise

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Held is an ad as a collector returns it: the values of the attributes by name.
type Held map[string]any

// ParseHeld parses the output of "condor_status -any -json": a list of ads, or an empty text if there are no ads.
func ParseHeld(text []byte) ([]Held, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var ads []Held
	if err := dec.Decode(&ads); err != nil {
		return nil, jjm.Errorf(jjm.Busy, "condor_status did not print a list of ads: %w: %.80q", err, text)
	}
	return ads, nil
}

// Get returns the value of an attribute. Upper and lower case of the name count as equal.
func (h Held) Get(name string) any {
	if v, ok := h[name]; ok {
		return v
	}
	for key, v := range h {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

// Instance returns the jjm instance that published the ad, "" if the ad names no instance.
func (h Held) Instance() string {
	s, _ := h.Get("Instance").(string)
	return s
}

// Differences compares a published ad with the ad in a collector and describes at most
// three attributes that differ. Attributes that the collector added are ignored.
func (a Ad) Differences(h Held) []string {
	const most = 3
	var out []string
	for _, attr := range a {
		if got := h.Get(attr.Name); !same(attr.Value, got) {
			var want strings.Builder
			write(&want, attr.Value)
			out = append(out, fmt.Sprintf("%s is %.80v instead of %.80s", attr.Name, got, want.String()))
		}
		if len(out) == most {
			break
		}
	}
	return out
}

// same reports whether a value is equal to a value that encoding/json decoded from HTCondor's JSON, with numbers as
// json.Number.
func same(v Value, got any) bool {
	switch v := v.(type) {
	case string:
		return got == Safe(v)
	case int:
		return got == json.Number(fmt.Sprint(v))
	case int64:
		return got == json.Number(fmt.Sprint(v))
	case bool:
		return got == v
	case Count:
		if n, known := v.Get(); known {
			return same(n, got)
		}
		return got == nil
	case List:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(v, list, same)
	case Ad:
		nested, ok := got.(map[string]any)
		return ok && len(v.Differences(nested)) == 0
	}
	return false
}
