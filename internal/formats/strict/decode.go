package strict

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// decoder sets Go values from a tree of map[string]any, []any, string, int64, float64 and bool, and collects problems.
type decoder struct {
	problems jjm.Problems
	above    []string // keys that may stand above the first table of the file
}

// decodeTree sets a struct from a tree.
func decodeTree(tree map[string]any, prefix string, into any) jjm.Problems {
	var d decoder
	if prefix == "" {
		d.above = Above(into)
	}
	d.value(prefix, tree, reflect.ValueOf(into).Elem())
	return d.problems
}

// decodeTable sets several structs from one table. Each struct gets the keys that it knows. A key that several structs
// know is set only in the first of these structs.
func decodeTable(table map[string]any, prefix string, into []any) jjm.Problems {
	var d decoder
	fields := map[string]reflect.Value{}
	for _, to := range slices.Backward(into) {
		structFields(reflect.ValueOf(to).Elem(), fields)
	}
	d.fields(prefix, table, fields)
	return d.problems
}

// problem adds a problem with a field.
func (d *decoder) problem(field, format string, args ...any) {
	d.problems = append(d.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// value stores v in to, which may have any type. It adds a problem if v is null or does not fit the type.
func (d *decoder) value(field string, v any, to reflect.Value) {
	v = plain(v)
	if v == nil {
		d.problem(field, "null is no value: leave the key out")
		return
	}
	if to.Kind() == reflect.Pointer {
		fresh := reflect.New(to.Type().Elem())
		d.value(field, v, fresh.Elem())
		to.Set(fresh)
		return
	}
	_, single := v.(string)
	if u, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok && (single || to.Kind() != reflect.Slice) {
		d.text(field, v, u) // a type that parses text may also be written as a list
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		d.structure(field, v, to)
	case reflect.Map:
		d.table(field, v, to)
	case reflect.Slice:
		d.list(field, v, to)
	case reflect.Interface:
		if clean, ok := d.anything(field, v); ok {
			to.Set(reflect.ValueOf(clean))
		}
	default:
		d.scalar(field, v, to)
	}
}

// text passes a string to a type that parses its own text.
func (d *decoder) text(field string, v any, to encoding.TextUnmarshaler) {
	s, ok := v.(string)
	if !ok {
		if _, isDuration := to.(*jjm.Duration); isDuration {
			d.problem(field, `want a duration in quotes, such as "30s", "5m" or "2h", got %s`, show(v))
			return
		}
		d.problem(field, "want text in quotes, got %s", show(v))
		return
	}
	err := to.UnmarshalText([]byte(s))
	var inside jjm.Problems
	switch {
	case err == nil:
	case errors.As(err, &inside): // mistakes in another file, which the text names
		for _, p := range inside {
			d.problem(field, "%s", p)
		}
	default:
		d.problem(field, "%v", err)
	}
}

// structure sets a struct from a table.
func (d *decoder) structure(field string, v any, to reflect.Value) {
	table, ok := v.(map[string]any)
	if !ok {
		d.problem(field, "want a table, got %s", show(v))
		return
	}
	fields := map[string]reflect.Value{}
	structFields(to, fields)
	d.fields(field, table, fields)
}

// fields stores the values of a table in the struct fields that have these keys.
func (d *decoder) fields(field string, table map[string]any, fields map[string]reflect.Value) {
	for _, key := range sortedKeys(table) {
		if f, ok := fields[key]; ok {
			d.value(join(field, key), table[key], f)
			continue
		}
		if field != "" && slices.Contains(d.above, key) {
			d.problem(join(field, key), "%s", Misplaced(key, "file"))
			continue
		}
		d.problem(join(field, key), "%s", Unknown(key, sortedKeys(fields)))
	}
}

// structFields adds the exported fields of a struct by key: the name in the toml tag, or else in the json tag, or else
// the field's name in lower case. Fields with the name "-" are left out. The fields of an embedded struct without a
// name are added as fields of the struct.
func structFields(v reflect.Value, into map[string]reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("toml")
		if tag == "" {
			tag = f.Tag.Get("json")
		}
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			structFields(v.Field(i), into)
		case name == "":
			into[strings.ToLower(f.Name)] = v.Field(i)
		default:
			into[name] = v.Field(i)
		}
	}
}

// sortedKeys returns the keys of a map, sorted.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// table sets a map from a table.
func (d *decoder) table(field string, v any, to reflect.Value) {
	table, ok := v.(map[string]any)
	if !ok {
		d.problem(field, "want a table, got %s", show(v))
		return
	}
	if to.IsNil() {
		to.Set(reflect.MakeMapWithSize(to.Type(), len(table)))
	}
	for _, key := range sortedKeys(table) {
		if strings.ContainsRune(key, 0) {
			d.problem(join(field, key), "the key holds a NUL character")
			continue
		}
		e := reflect.New(to.Type().Elem()).Elem()
		d.value(join(field, key), table[key], e)
		to.SetMapIndex(reflect.ValueOf(key).Convert(to.Type().Key()), e)
	}
}

// list sets a slice from a list.
func (d *decoder) list(field string, v any, to reflect.Value) {
	list, ok := v.([]any)
	if !ok {
		d.problem(field, "want a list such as %s, got %s", listOf(v, to.Type().Elem()), show(v))
		return
	}
	out := reflect.MakeSlice(to.Type(), len(list), len(list))
	for i, e := range list {
		d.value(element(field, i), e, out.Index(i))
	}
	to.Set(out)
}

// listOf returns an example of a list with elements of a type: the list with only the value v if v could be an element.
func listOf(v any, element reflect.Type) string {
	switch text := plain(v).(type) {
	case string:
		if element.Kind() == reflect.String {
			return "[" + quote(text) + "]"
		}
	case int64:
		if reflect.Zero(element).CanInt() || reflect.Zero(element).CanUint() {
			return fmt.Sprintf("[%d]", text)
		}
	}
	switch element.Kind() {
	case reflect.Struct, reflect.Map:
		return "[{key = value}]"
	case reflect.Slice:
		return "[" + listOf(nil, element.Elem()) + "]"
	case reflect.String:
		return `["a", "b"]`
	case reflect.Bool:
		return "[true, false]"
	case reflect.Interface:
		return `["a", 1]`
	}
	return "[1, 2]"
}

// scalar sets a text, a number or a boolean.
func (d *decoder) scalar(field string, v any, to reflect.Value) {
	switch to.Kind() {
	case reflect.String:
		if s, ok := v.(string); !ok {
			d.problem(field, "want text in quotes, got %s", show(v))
		} else if strings.ContainsRune(s, 0) {
			d.problem(field, "the text holds a NUL character")
		} else {
			to.SetString(s)
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			to.SetBool(b)
		} else {
			d.problem(field, "want true or false, got %s", show(v))
		}
	case reflect.Float32, reflect.Float64:
		if f, ok := number(v); ok {
			to.SetFloat(f)
		} else {
			d.problem(field, "want a number, got %s", show(v))
		}
	default:
		d.integer(field, v, to)
	}
}

// number returns a value as a float. It returns false if the value is not a finite number.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// integer stores a whole number, also if the value is a float without a fraction. It adds a problem if the type cannot
// hold the number.
func (d *decoder) integer(field string, v any, to reflect.Value) {
	n, ok := v.(int64)
	if f, isFloat := v.(float64); isFloat && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		n, ok = int64(f), true // a whole number that passed through JSON
	}
	if !ok {
		d.problem(field, "want a whole number, got %s", show(v))
		return
	}
	switch {
	case to.CanInt() && !to.OverflowInt(n):
		to.SetInt(n)
	case to.CanUint() && n >= 0 && !to.OverflowUint(uint64(n)):
		to.SetUint(uint64(n))
	case to.CanInt() || to.CanUint():
		d.problem(field, "%d is out of range", n)
	default:
		d.problem(field, "cannot be set from a file") // the field has a kind that no file can express
	}
}

// anything copies a value that may have any type. It adds a problem for values that JSON cannot express, such as dates
// and infinity, because job descriptions are stored as JSON.
func (d *decoder) anything(field string, v any) (any, bool) {
	before := len(d.problems)
	switch v := plain(v).(type) {
	case map[string]any:
		out := map[string]any{}
		d.table(field, v, reflect.ValueOf(&out).Elem())
		return out, len(d.problems) == before
	case []any:
		out := []any{}
		d.list(field, v, reflect.ValueOf(&out).Elem())
		return out, len(d.problems) == before
	case string:
		var s string
		d.scalar(field, v, reflect.ValueOf(&s).Elem())
		return s, len(d.problems) == before
	case float64:
		if _, ok := number(v); !ok {
			d.problem(field, "want a finite number, got %s", show(v))
			return nil, false
		}
		return v, true
	case bool, int64:
		return v, true
	default:
		d.problem(field, "%s cannot be used here: write it as text in quotes", show(v))
		return nil, false
	}
}

// plain converts the Go types of parsers and callers to the types that the tree of a decoder may have.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case json.Number:
		return jsonNumber(v)
	case []string:
		return toList(v)
	case []map[string]any:
		return toList(v)
	case [][]string:
		return toList(v)
	case map[string]string:
		out := make(map[string]any, len(v))
		for k, s := range v {
			out[k] = s
		}
		return out
	}
	return v
}

// toList returns a slice as a list of a tree.
func toList[E any](in []E) []any {
	out := make([]any, len(in))
	for i, e := range in {
		out[i] = e
	}
	return out
}

// show returns a description of a value for people: "the number 3", "the text \"abc\"".
func show(v any) string {
	switch v := plain(v).(type) {
	case nil:
		return "null"
	case string:
		return "the text " + quote(v)
	case bool:
		return fmt.Sprint(v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case time.Time:
		return "a date"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case bigNumber:
		return fmt.Sprintf("a number that is too large (%.40s)", string(v))
	}
	return "a value of another kind"
}
