package strict

import (
	"reflect"
	"sort"
	"strings"

	"jjm/internal/formats/nearest"
)

// Unknown returns the text for an unknown key. The text names the known key that was probably meant.
func Unknown(key string, known []string) string {
	text := "unknown key " + quote(key)
	if near := nearest.Of(key, known); near != "" {
		return text + `: did you mean "` + near + `"?`
	}
	if len(known) == 0 {
		return text + ": nothing can be set here"
	}
	names := append([]string(nil), known...)
	sort.Strings(names)
	return text + ": known are " + strings.Join(names, ", ")
}

// Misplaced returns the text for a key below a table that belongs above the first table of a file. kind is the kind of
// the file, such as "job file".
func Misplaced(key, kind string) string {
	return "unknown key " + quote(key) + ": it is a key of the " + kind + " itself: move it above the first [table]"
}

// Above returns the keys of the struct to which into points that stand above the first table of a file: all keys but
// those of tables.
func Above(into any) (keys []string) {
	v := reflect.ValueOf(into).Elem()
	if v.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]reflect.Value{}
	structFields(v, fields)
	for _, key := range sortedKeys(fields) {
		t := fields[key].Type()
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
			keys = append(keys, key)
		}
	}
	return keys
}
