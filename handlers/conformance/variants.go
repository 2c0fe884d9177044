package conformance

import (
	"slices"
	"strconv"

	"jjm/handlers"
	"jjm/internal/jjm"
)

// someVariants is the largest number of variants of a spec that differ from it in a setting.
const someVariants = 2

// variants returns copies of a spec, each with one change: at most someVariants copies with another value of a setting,
// and one copy with another name. Settings that the spec sets are changed first. One spec is not enough to detect a job
// type that wrongly keeps a setting between calls. The job type may reject a variant.
func variants(t TB, h handlers.Handler, spec *jjm.Spec) (out []*jjm.Spec) {
	t.Helper()
	given, others := []handlers.Param{}, []handlers.Param{}
	for _, p := range h.Describe().Params {
		if spec.Params[p.Name] != nil {
			given = append(given, p)
		} else {
			others = append(others, p)
		}
	}
	for _, p := range append(given, others...) {
		value, differs := another(spec.Params[p.Name], p)
		if !differs {
			continue
		}
		if len(out) == someVariants {
			break
		}
		v := clone(t, spec)
		if v.Params == nil {
			v.Params = map[string]any{}
		}
		v.Params[p.Name] = value
		out = append(out, v)
	}
	named := clone(t, spec)
	named.Name += "again"
	return append(out, named)
}

// another returns a value for the setting p that differs from value. value is the value of p in a spec, nil if the spec
// does not set p. differs is false if another cannot make such a value: for an empty list, for a setting that is not
// set and whose default is no whole number, and for values of other types.
func another(value any, p handlers.Param) (other any, differs bool) {
	switch v := value.(type) {
	case bool:
		return !v, true
	case int64:
		return v + 1, true
	case float64:
		return v + 1, true
	case string:
		return v + "x", true
	case []string:
		return append(slices.Clone(v), v...), len(v) > 0
	case []any:
		return append(slices.Clone(v), v...), len(v) > 0
	case nil:
		n, err := strconv.ParseInt(p.Default, 10, 64)
		return n + 1, err == nil
	}
	return nil, false
}
