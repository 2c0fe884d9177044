package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// bigNumber is a JSON number that is too large for every Go type. No field accepts it.
type bigNumber string

// jsonNumber returns an int64 if the number is written as a whole number, and otherwise a float64.
func jsonNumber(n json.Number) any {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
		return bigNumber(s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return bigNumber(s)
	}
	return f
}

// jsonWalk reads JSON token by token, because this is the only way to find the places of keys and keys that are given
// twice.
type jsonWalk struct {
	text     []byte
	dec      *json.Decoder
	places   Places
	problems jjm.Problems
	keys     int
	offset   int // line counts the lines of text up to this offset
	line     int
}

// parseJSON returns the tree of a JSON object, or nil and the problems.
func parseJSON(text []byte, places Places) (map[string]any, jjm.Problems) {
	w := &jsonWalk{text: text, dec: json.NewDecoder(bytes.NewReader(text)), places: places, line: 1}
	w.dec.UseNumber()
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			w.advance(int(syntax.Offset))
		}
		return nil, jjm.Problems{{Where: w.where(), Text: "not JSON: " + err.Error()}}
	}
	v, err := w.value("", 0)
	if err != nil {
		return nil, append(w.problems, jjm.Problem{Where: w.where(), Text: err.Error()})
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, jjm.Problems{{Text: "want a JSON object {...}, got " + show(v)}}
	}
	return tree, w.problems
}

// advance counts the lines up to an offset.
func (w *jsonWalk) advance(to int) {
	to = min(to, len(w.text))
	if to > w.offset {
		w.line += bytes.Count(w.text[w.offset:to], []byte("\n"))
		w.offset = to
	}
}

// where returns the place of the current line.
func (w *jsonWalk) where() string { return w.places[""] + ":" + strconv.Itoa(w.line) }

// value reads one value. Because the text was already checked to be JSON, the only errors are exceeded limits.
func (w *jsonWalk) value(field string, depth int) (any, error) {
	token, err := w.dec.Token()
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	w.advance(int(w.dec.InputOffset()))
	switch t := token.(type) {
	case json.Delim:
		if depth >= MaxDepth {
			return nil, errDepth
		}
		if t == '{' {
			return w.object(field, depth)
		}
		return w.array(field, depth)
	case json.Number:
		return jsonNumber(t), nil
	}
	return token, nil // a string, a bool or nil
}

// object reads the rest of an object.
func (w *jsonWalk) object(field string, depth int) (any, error) {
	out := map[string]any{}
	lines := map[string]int{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		key, _ := token.(string)
		w.advance(int(w.dec.InputOffset()))
		path := join(field, key)
		if w.keys++; w.keys > MaxKeys {
			return nil, errKeys
		}
		if len(key) > MaxKeyBytes || len(path) > MaxPath {
			return nil, errLong
		}
		if first := lines[key]; first > 0 {
			w.problems = append(w.problems, twice(w.where(), path, first))
		} else {
			lines[key] = w.line
			w.places[path] = w.where()
		}
		if out[key], err = w.value(path, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := w.dec.Token()
	return out, err
}

// array reads the rest of a list.
func (w *jsonWalk) array(field string, depth int) (any, error) {
	out := []any{}
	first := w.line
	for w.dec.More() {
		path := element(field, len(out))
		v, err := w.value(path, depth+1)
		if err != nil {
			return nil, err
		}
		if _, table := v.(map[string]any); !table && w.line != first && w.keys < MaxKeys {
			w.keys++
			w.places[path] = w.where()
		}
		out = append(out, v)
	}
	_, err := w.dec.Token()
	return out, err
}
