package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/internal/testkit/differ"
)

// plansDiffer returns the first place where the settings of a planned spec differ from earlier settings, in the form
// "plan.rows[0] is ..., was ..."; "" if they are equal. Both arguments come from [asJSON].
func plansDiffer(now, was []byte) string {
	if string(now) == string(was) {
		return ""
	}
	var a, b map[string]any
	if json.Unmarshal(now, &a) != nil || json.Unmarshal(was, &b) != nil {
		return "plan " + differ.First(string(now), string(was))
	}
	for _, key := range keysOf(a, b) {
		path := "params." + key
		if own, is := strings.CutPrefix(key, handlers.OwnKey); is {
			path = "plan." + own
		}
		if how := valuesDiffer(path, a[key], b[key]); how != "" {
			return how
		}
	}
	return ""
}

// valuesDiffer returns the first value that differs. It descends into tables, and into lists whose elements are tables
// or lists.
func valuesDiffer(path string, now, was any) string {
	if a, isTable := now.(map[string]any); isTable {
		b, both := was.(map[string]any)
		if !both {
			return leavesDiffer(path, now, was)
		}
		for _, key := range keysOf(a, b) {
			if how := valuesDiffer(path+"."+key, a[key], b[key]); how != "" {
				return how
			}
		}
		return ""
	}
	a, isList := now.([]any)
	b, both := was.([]any)
	if !isList || !both || !nested(a) {
		return leavesDiffer(path, now, was)
	}
	for i := range max(len(a), len(b)) {
		one, other := any(nil), any(nil)
		if i < len(a) {
			one = a[i]
		}
		if i < len(b) {
			other = b[i]
		}
		if how := valuesDiffer(fmt.Sprintf("%s[%d]", path, i), one, other); how != "" {
			return how
		}
	}
	return ""
}

// nested reports whether the elements of a list are tables or lists, which is the case for rows. A list of plain values
// is shown as a whole.
func nested(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool {
		_, table := v.(map[string]any)
		_, list := v.([]any)
		return table || list
	})
}

// leavesDiffer returns the difference of two values that are shown as a whole, "" if they are equal.
func leavesDiffer(path string, now, was any) string {
	how := differ.First(leaf(now), leaf(was))
	if how == "" {
		return ""
	}
	return path + " " + how
}

// leaf returns a value as text for a difference.
func leaf(v any) string {
	if v == nil {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// keysOf returns the keys of two tables, sorted, each once.
func keysOf(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
