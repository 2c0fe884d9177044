package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// checkParams checks the query of an address whose page has these parameters. The error is of kind Invalid if the query
// cannot be read, or has another parameter, or has a parameter twice.
func checkParams(query string, known []string) error {
	wanted := "this page has no parameters"
	if len(known) > 0 {
		wanted = "known parameters are " + strings.Join(known, ", ")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "the parameters %.60q cannot be read: %w; %s", query, err, wanted)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(known, name):
			return jjm.Errorf(jjm.Invalid, "%.40q is an unknown parameter: %s", name, wanted)
		case len(values[name]) > 1:
			return jjm.Errorf(jjm.Invalid, "the parameter %s is there %d times: want one value", name, len(values[name]))
		}
	}
	return nil
}

// number returns a number of the query, 0 if the query does not contain the number.
func number(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 63)
	if err != nil || n < 0 {
		return 0, jjm.Errorf(jjm.Invalid, "%s=%.40q: want a number of 0 or more", name, text)
	}
	return n, nil
}
