package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// jsonText writes jobs as qstat 23.06.06 does. If there are none, the member Jobs and the last newline
// are missing.
func jsonText(jobs []record) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n    \"timestamp\":%d,\n    \"pbs_version\":%q,\n    \"pbs_server\":%q", time.Now().Unix(), version,
		server)
	if len(jobs) == 0 {
		return []byte(b.String() + "\n}")
	}
	b.WriteString(",\n    \"Jobs\":{")
	for i, r := range jobs {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n        \"%s\":{%s\n        }", r.id, jsonRecord(r))
	}
	b.WriteString("\n    }\n}\n")
	return []byte(b.String())
}

// jsonRecord writes the members of a job. Members with the same word before a dot form a group.
func jsonRecord(r record) string {
	var items, group []string
	for i, a := range r.attrs {
		outer, inner, grouped := strings.Cut(a.name, ".")
		if !grouped {
			items = append(items, "\n            \""+a.name+"\":"+jsonValue(a.value))
			continue
		}
		group = append(group, "\n                \""+inner+"\":"+jsonValue(a.value))
		if i+1 == len(r.attrs) || !strings.HasPrefix(r.attrs[i+1].name, outer+".") {
			items = append(items, "\n            \""+outer+"\":{"+strings.Join(group, ",")+"\n            }")
			group = nil
		}
	}
	return strings.Join(items, ",")
}

// quotedNumber matches numbers of strtod(3) that the writer nevertheless quotes.
var quotedNumber = regexp.MustCompile(`^[+-]?0[0-9xX]|_`)

// escaped escapes the same characters as PBS does; it is safe for concurrent use.
var escaped = strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", `\t`)

// jsonValue writes a value. It is not quoted if strtod(3) would read all of it, which
// includes +5, .5 and nan.
func jsonValue(v string) string {
	_, err := strconv.ParseFloat(v, 64)
	if (err == nil || errors.Is(err, strconv.ErrRange)) && !quotedNumber.MatchString(v) {
		return v
	}
	return `"` + escaped.Replace(v) + `"`
}
