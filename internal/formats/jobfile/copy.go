package jobfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// Copy returns the job file of a copy of a grid job: its specification, changed by edits of the form KEY=VALUE. It
// leaves out the request key, because that key means the old grid job, and the model, because the specification already
// has the model's settings. Parse the result with [ParseCopy]. Each problem names the key of an edit that is not
// possible.
//
// A KEY is a dotted key of a job file: params.events, datasets[0].name. A VALUE that is valid JSON, such as a number
// or a list, is read as JSON; any other VALUE is a text. A VALUE without quotes is also a text if it is for an
// element of env or for a key that already has a text. An empty VALUE removes the key.
func Copy(spec jjm.Spec, edits []string) ([]byte, jjm.Problems) {
	spec.Key, spec.KeyReuse, spec.Model = "", false, ""
	tree, err := treeOf(&spec)
	if err != nil {
		return nil, jjm.Problems{{Text: err.Error()}}
	}
	var problems jjm.Problems
	for _, e := range edits {
		if p := edit(tree, e); p != nil {
			problems = append(problems, *p)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if _, recovers := tree["recovers"]; !recovers { // an edit took it away: then these two say nothing any more
		delete(tree, "recovers_generation")
		delete(tree, "recovers_number")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tree); err != nil {
		return nil, jjm.Problems{{Text: err.Error()}}
	}
	return b.Bytes(), nil
}

// ParseCopy parses a job file that [Copy] made. Its problems have no line numbers, because people have not seen the
// lines. ParseCopy applies no model, because the job file already has all settings.
func ParseCopy(text []byte, given Given) (Doc, jjm.Problems) {
	given.Model = nil
	doc, problems := ParseGiven("copy.json", text, given)
	for i := range problems {
		problems[i].Where = ""
	}
	doc.Places = nil
	if doc.Spec.Recovers != 0 {
		problems = append(problems, jjm.Problem{Field: "recovers", Text: fmt.Sprintf("a copy would do again what the "+
			"recovery of grid job %s did: jjm verify %[1]s --recovery FILE writes what is missing now, and an empty "+
			"recovers takes the copy out of the account", doc.Spec.Recovers)})
	}
	return doc, problems
}

// treeOf returns a specification as a tree of decoded JSON. Numbers stay as they are written.
func treeOf(spec *jjm.Spec) (map[string]any, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("write the specification: %w", err)
	}
	var tree map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("read the specification: %w", err)
	}
	return tree, nil
}

// keyForm matches the keys of edits.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\[[0-9]{1,6}\])*(\.[A-Za-z0-9_-]+(\[[0-9]{1,6}\])*)*$`)

// edit makes one edit. It returns a problem if the edit is not possible.
func edit(tree map[string]any, text string) *jjm.Problem {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case !ok || !keyForm.MatchString(key):
		return &jjm.Problem{Text: fmt.Sprintf("%.80q: want KEY=VALUE, such as params.events=500", text)}
	case key == "model":
		return &jjm.Problem{Field: key, Text: "the copy has all words of the old grid job, and none would be left to a " +
			"model: name the keys that change"}
	}
	path := strings.Split(strings.ReplaceAll(strings.ReplaceAll(key, "]", ""), "[", "."), ".")
	if key == "cluster" || key == "clusters" { // a job file has either cluster or clusters
		delete(tree, "clusters")
		delete(tree, "cluster")
		if value == "" {
			return nil
		}
	}
	if _, err := put(tree, path, value, path[0] == "env" && len(path) > 1); err != nil {
		return &jjm.Problem{Field: key, Text: err.Error()}
	}
	return nil
}

// put sets the value at a path below a node, and returns the changed node. text is set if the node may contain only
// texts.
func put(node any, path []string, value string, text bool) (any, error) {
	if len(path) == 0 {
		return valueOf(value, node, text)
	}
	switch n := node.(type) {
	case nil:
		return put(map[string]any{}, path, value, text)
	case map[string]any:
		if _, there := n[path[0]]; value == "" && !there {
			return nil, errors.New("there is no such key to take away")
		} else if value == "" && len(path) == 1 {
			delete(n, path[0])
			return n, nil
		}
		below, err := put(n[path[0]], path[1:], value, text)
		if err == nil {
			n[path[0]] = below
		}
		return n, err
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(n) {
			return nil, fmt.Errorf("it has %s: want one from 0 to %d in brackets", jjm.Count(len(n), "element"), len(n)-1)
		}
		if value == "" && len(path) == 1 {
			return nil, errors.New("one element cannot be taken away: give the whole list as JSON")
		}
		n[i], err = put(n[i], path[1:], value, text)
		return n, err
	}
	return nil, fmt.Errorf("%.80q is no table and no list, so nothing is below it", fmt.Sprint(node))
}

// valueOf parses the value of an edit. before is the present value, nil if the key has no value.
func valueOf(value string, before any, text bool) (any, error) {
	_, wasText := before.(string)
	if (text || wasText) && !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(value))
	dec.UseNumber()
	err := dec.Decode(&v)
	if err == nil {
		if _, more := dec.Token(); more == io.EOF {
			return v, nil
		}
	}
	if strings.ContainsAny(value[:1], `[{"`) {
		return nil, fmt.Errorf("%.80q begins as JSON and is none", value)
	}
	return value, nil
}
