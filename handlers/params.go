package handlers

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// DefaultMaxLocalJobs is the largest number of local jobs of one grid job at a site that sets no limit.
const DefaultMaxLocalJobs = 100_000

// specKeys contains keys of the job file itself that people write below [params] by mistake: in TOML all keys after a
// [table] line belong to that table.
const specKeys = " name key key_reuse auto_resubmit auto_kill keep_going mode cluster clusters result retry request env inputs outputs outputs_required datasets split output_dataset only first_serial notify "

// DecodeParams decodes params into the struct that into points to and returns every mistake
// in them. The tags of a field describe it:
//
//	json      the key
//	required  "true" if it has no default
//	default   its default, if that is not the zero value
//	min, max  the range of a number, both ends included
//	enum      the permitted words: "one|many"
//	unit      the unit of a number, for people
//	help      one sentence, for people
//
// [ParamsOf] generates the documentation from the same tags.
func DecodeParams(params map[string]any, into any) jjm.Problems {
	v := reflect.ValueOf(into).Elem()
	setDefaults(v)
	problems := strict.DecodeMap(params, "params", into)
	broken := map[string]bool{}
	for i := range problems {
		p := &problems[i]
		broken[p.Field] = true
		key, ok := strings.CutPrefix(p.Field, "params.")
		if ok && strings.HasPrefix(p.Text, "unknown key") && strings.Contains(specKeys, " "+key+" ") {
			p.Text = strict.Misplaced(key, "job file")
		}
	}
	for i := range v.NumField() {
		key := keyOf(v.Type().Field(i))
		if field := "params." + key; !broken[field] {
			_, given := params[key]
			problems = append(problems, checkField(field, given, v.Type().Field(i).Tag, v.Field(i))...)
		}
	}
	return problems
}

// keyOf returns the key of a field in job files.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return key
}

// setDefaults sets the fields of a struct to the defaults in their tags.
func setDefaults(v reflect.Value) {
	for i := range v.NumField() {
		text := v.Type().Field(i).Tag.Get("default")
		if text == "" {
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(text)
		case reflect.Bool:
			f.SetBool(text == "true")
		case reflect.Float64:
			n, _ := strconv.ParseFloat(text, 64)
			f.SetFloat(n)
		default:
			n, _ := strconv.ParseInt(text, 10, 64)
			f.SetInt(n)
		}
	}
}

// checkField returns the problems with one value according to its tags. A missing value is a problem only if the value
// is required.
func checkField(field string, given bool, tag reflect.StructTag, v reflect.Value) jjm.Problems {
	bad := func(format string, args ...any) jjm.Problems {
		return jjm.Problems{{Field: field, Text: fmt.Sprintf(format, args...)}}
	}
	if tag.Get("required") == "true" && (!given || v.Kind() == reflect.Slice && v.Len() == 0) {
		return bad("is missing: %s", tag.Get("help"))
	}
	if !given {
		return nil
	}
	if words := tag.Get("enum"); words != "" && !slices.Contains(strings.Split(words, "|"), v.String()) {
		return bad("%.40q: want %s", v.String(), strings.ReplaceAll(words, "|", " or "))
	}
	if v.CanInt() || v.CanFloat() {
		low, high := tag.Get("min"), tag.Get("max")
		if low != "" && less(v, low) || high != "" && more(v, high) {
			return bad("%v is out of range: want %s", v.Interface(), span(low, high, tag.Get("unit")))
		}
	}
	return nil
}

// less reports whether a number is below a bound.
func less(v reflect.Value, bound string) bool {
	if v.CanInt() {
		n, _ := strconv.ParseInt(bound, 10, 64)
		return v.Int() < n
	}
	f, _ := strconv.ParseFloat(bound, 64)
	return v.Float() < f
}

// more reports whether a number is above a bound.
func more(v reflect.Value, bound string) bool {
	if v.CanInt() {
		n, _ := strconv.ParseInt(bound, 10, 64)
		return v.Int() > n
	}
	f, _ := strconv.ParseFloat(bound, 64)
	return v.Float() > f
}

// span describes a range of numbers for an error text.
func span(low, high, unit string) string {
	s := "at least " + low
	switch {
	case low == "":
		s = "at most " + high
	case high != "":
		s = low + " to " + high
	}
	if unit != "" {
		s += " " + unit
	}
	return s
}

// ParamsOf returns the documentation of a job type's parameters, from the tags of the struct into which the handler
// decodes them.
func ParamsOf(params any) []Param {
	t := reflect.TypeOf(params)
	out := make([]Param, t.NumField())
	for i := range out {
		tag := t.Field(i).Tag
		out[i] = Param{
			Name: keyOf(t.Field(i)), Type: typeWord(t.Field(i).Type, tag), Unit: tag.Get("unit"),
			Default: tag.Get("default"), Help: tag.Get("help"), Required: tag.Get("required") == "true",
		}
	}
	return out
}

// typeWord returns the name of a type in the documentation of job files.
func typeWord(t reflect.Type, tag reflect.StructTag) string {
	switch {
	case tag.Get("enum") != "":
		return strings.ReplaceAll(tag.Get("enum"), "|", " or ")
	case t == reflect.TypeFor[jjm.Duration]():
		return "duration"
	case t.Kind() == reflect.Pointer:
		return typeWord(t.Elem(), tag)
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + plural(typeWord(t.Elem(), tag))
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "number"
	}
	return "whole number"
}

// plural returns the plural of the name of a type.
func plural(word string) string {
	switch {
	case word == "text":
		return "words"
	case strings.HasPrefix(word, "list"):
		return "lists" + strings.TrimPrefix(word, "list")
	}
	return word + "s"
}

// Cut returns the cutting c with Jobs set to the number of local jobs. It returns a problem with field and the advice
// remedy if the splitter rejects the work, or if the site does not allow so many local jobs. If ranges of the work were
// selected, a rejection is a problem of "only" instead. Handlers call Cut in Check and in Split, so that a bad job is
// rejected before anything is created.
func (s Site) Cut(c Cutting, field, remedy string) (Cutting, jjm.Problems) {
	refuse := func(format string, args ...any) (Cutting, jjm.Problems) {
		return Cutting{}, jjm.Problems{{Field: field, Text: fmt.Sprintf(format, args...)}}
	}
	splitter, err := split.Get(c.Splitter)
	if err != nil {
		return refuse("%v", err)
	}
	n, err := splitter.Count(c.Work, c.Params)
	if err != nil && c.Work.Only != nil {
		field, remedy = "only", "leave it out, or choose among the numbers that the job has"
	}
	if err != nil {
		return refuse("%v: %s", err, remedy)
	}
	if n > int64(s.MaxJobs()) {
		return refuse("%s", s.TooMany(n, remedy))
	}
	c.Jobs = int(n)
	return c, nil
}

// MaxJobs returns the largest number of local jobs of one grid job.
func (s Site) MaxJobs() int {
	if s.MaxLocalJobs > 0 {
		return s.MaxLocalJobs
	}
	return DefaultMaxLocalJobs
}

// TooMany returns the error text for n local jobs, more than the site allows. remedy is the advice in the text.
func (s Site) TooMany(n int64, remedy string) string {
	return fmt.Sprintf("would make %d local jobs, and this site allows %d per grid job: %s", n, s.MaxJobs(), remedy)
}
