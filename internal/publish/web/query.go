package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// checkQuery returns the first mistake in the query of an address: a part that is no parameter, an unknown parameter,
// or a parameter with several values. known are the names of the parameters. The error is of kind Invalid, and names
// the parameter and the known ones.
func checkQuery(query string, known []string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "the address has a mistake behind its question mark: %w; %s", err, wanted(known))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch near := nearest.Of(name, known); {
		case !slices.Contains(known, name) && near != "":
			return jjm.Errorf(jjm.Invalid, "the page has no parameter %.40q: did you mean %s? %s", name, near, wanted(known))
		case !slices.Contains(known, name):
			return jjm.Errorf(jjm.Invalid, "the page has no parameter %.40q; %s", name, wanted(known))
		case len(values[name]) > 1:
			return jjm.Errorf(jjm.Invalid, "%s has %d values: want one; %s", name, len(values[name]), wanted(known))
		}
	}
	return nil
}

// wanted returns the names of the known parameters, for an error.
func wanted(known []string) string {
	if len(known) == 0 {
		return "it takes no parameters"
	}
	return "it takes " + strings.Join(known, ", ")
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
