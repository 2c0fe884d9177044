package handlers

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// Setting describes one setting of a job type as data. A type in Go describes its settings with the tags of a struct
// instead (see [DecodeParams]).
type Setting struct {
	// Name is the key of the setting below [params]: lower-case letters, digits and _.
	Name string `toml:"name" json:"name"`
	// Type is the type of the setting's values: text, whole number, number, true or false, or list of words.
	Type string `toml:"type" json:"type"`
	// Unit is the unit of a number, for people.
	Unit string `toml:"unit" json:"unit,omitempty"`
	// Help is one sentence about the purpose of the setting.
	Help string `toml:"help" json:"help"`
	// Required is set if a job file must set the setting. Otherwise a job file that does not set it gets Default, or if
	// there is no Default the empty text, 0, false or no words.
	Required bool `toml:"required" json:"required,omitempty"`
	Default  any  `toml:"default" json:"default,omitempty"`
	// Min and Max are the smallest and the largest value of a number.
	Min *float64 `toml:"min" json:"min,omitempty"`
	Max *float64 `toml:"max" json:"max,omitempty"`
	// Choices are the allowed values of a text.
	Choices []string `toml:"choices" json:"choices,omitempty"`
}

// The types of settings.
const (
	SettingText    = "text"
	SettingWhole   = "whole number"
	SettingNumber  = "number"
	SettingBool    = "true or false"
	SettingWords   = "list of words"
	maxSettings    = 200
	maxExactNumber = 1 << 53
)

// goType returns the Go type of a setting's values, nil for an unknown type.
func goType(typ string) reflect.Type {
	switch typ {
	case SettingText:
		return reflect.TypeFor[string]()
	case SettingWhole:
		return reflect.TypeFor[int64]()
	case SettingNumber:
		return reflect.TypeFor[float64]()
	case SettingBool:
		return reflect.TypeFor[bool]()
	case SettingWords:
		return reflect.TypeFor[[]string]()
	}
	return nil
}

// settingTypes returns the types of settings.
func settingTypes() []string {
	return []string{SettingText, SettingWhole, SettingNumber, SettingBool, SettingWords}
}

// Typed reports whether the type of the setting is known. Check reports a type that is not.
func (s *Setting) Typed() bool { return goType(s.Type) != nil }

// meantType returns a proposal for an unknown type, "" if no known type is near. A name of a type in programming
// languages is near to the type that has the same values.
func meantType(word string) string {
	meant := nearest.Of(word, settingTypes())
	switch strings.ToLower(word) {
	case "integer", "int", "int64", "long", "whole":
		meant = SettingWhole
	case "float", "double", "real", "decimal", "float64":
		meant = SettingNumber
	case "string", "str":
		meant = SettingText
	case "bool", "boolean":
		meant = SettingBool
	case "list", "array", "strings", "words":
		meant = SettingWords
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", meant)
}

var settingName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Schema is the list of a job type's settings. Its methods, except Check, Find and Insert, may be called only if Check
// found no problem.
type Schema []Setting

// Check returns the problems with the settings; field is the name of the list.
func (s Schema) Check(field string) (problems jjm.Problems) {
	if len(s) > maxSettings {
		return jjm.Problems{{Field: field, Text: fmt.Sprintf("%d settings: want at most %d", len(s), maxSettings)}}
	}
	seen := map[string]bool{}
	for i := range s {
		at := fmt.Sprintf("%s[%d]", field, i)
		for _, p := range s[i].check() {
			p.Field = at + "." + p.Field
			problems = append(problems, p)
		}
		if seen[s[i].Name] {
			problems = append(problems, jjm.Problem{Field: at + ".name",
				Text: fmt.Sprintf("%q is the name of another setting", s[i].Name)})
		}
		seen[s[i].Name] = true
	}
	if len(problems) > 0 {
		return problems
	}
	for i, given := range s.defaults() { // a setting must accept its own default
		bare := s[i]
		bare.Default, bare.Required = nil, false
		if _, more := (Schema{bare}).Read(given); len(more) > 0 {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("%s[%d].default", field, i), Text: more[0].Text})
		}
	}
	return problems
}

// defaults returns job-file settings that set only one setting, to its default, by the index of the setting. It omits
// settings without a default.
func (s Schema) defaults() map[int]map[string]any {
	all := map[int]map[string]any{}
	for i := range s {
		if s[i].Default != nil {
			all[i] = map[string]any{s[i].Name: s[i].Default}
		}
	}
	return all
}

// check returns the problems of one setting.
func (s *Setting) check() (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	numeric := s.Type == SettingWhole || s.Type == SettingNumber
	if !settingName.MatchString(s.Name) {
		bad("name", "%.40q: want small letters, digits and _, such as cpu_per_event", s.Name)
	}
	if s.Help == "" || strings.ContainsAny(s.Help, "\n\r\x00") {
		bad("help", "want one line about the purpose of the setting")
	}
	if s.Required && s.Default != nil {
		bad("default", "a required setting has no default: leave one of the two out")
	}
	if !s.Typed() {
		bad("type", "%.40q: %swant %s", s.Type, meantType(s.Type), jjm.AnyOf(settingTypes()))
		return problems // the other keys depend on the type
	}
	if s.Default != nil && s.Type == SettingWords {
		bad("default", "a list of words has no default: leave it out")
	}
	for _, bound := range []*float64{s.Min, s.Max} {
		switch {
		case bound == nil:
		case !numeric:
			bad("min", "only numbers have bounds: leave min and max out")
		case s.Type == SettingWhole && *bound != float64(int64(*bound)), *bound > maxExactNumber, *bound < -maxExactNumber:
			bad("min", "%v: want a %s of at most 2^53", *bound, s.Type)
		}
	}
	if len(s.Choices) > 0 && s.Type != SettingText {
		bad("choices", "only a text has choices: leave them out")
	}
	for i, word := range s.Choices {
		if word == "" || strings.ContainsAny(word, "|\n\x00") {
			bad(fmt.Sprintf("choices[%d]", i), "%.40q: want a word without | in it", word)
		}
	}
	return problems
}

// Params returns the documentation of the settings.
func (s Schema) Params() []Param { return ParamsOf(s.fresh().Interface()) }

// fresh returns a new struct that has a field with the tags of DecodeParams for each setting.
func (s Schema) fresh() reflect.Value {
	fields := make([]reflect.StructField, len(s))
	for i := range s {
		fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: goType(s[i].Type), Tag: s[i].tag()}
	}
	return reflect.New(reflect.StructOf(fields)).Elem()
}

// tag returns the tags of a setting's field.
func (s *Setting) tag() reflect.StructTag {
	text := "json:" + strconv.Quote(s.Name)
	add := func(key, value string) {
		if value != "" {
			text += " " + key + ":" + strconv.Quote(value)
		}
	}
	add("help", s.Help)
	add("unit", s.Unit)
	add("enum", strings.Join(s.Choices, "|"))
	if s.Required {
		add("required", "true")
	}
	if s.Default != nil {
		add("default", wordOf(s.Default))
	}
	for key, bound := range map[string]*float64{"min": s.Min, "max": s.Max} {
		if bound != nil {
			add(key, wordOf(*bound))
		}
	}
	return reflect.StructTag(text)
}

// wordOf returns a value as a word.
func wordOf(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// Read parses the settings of a job file. It returns the value of each setting as a list of words: a list has one word
// for each element, every other setting has one word. The problems contain every mistake in the settings.
func (s Schema) Read(params map[string]any) (map[string][]string, jjm.Problems) {
	v := s.fresh()
	problems := DecodeParams(params, v.Addr().Interface())
	values := make(map[string][]string, len(s))
	for i := range s {
		if list, ok := v.Field(i).Interface().([]string); ok {
			values[s[i].Name] = list
			continue
		}
		values[s[i].Name] = []string{wordOf(v.Field(i).Interface())}
	}
	return values, problems
}

// Values parses the settings of a job file. It returns each value in its own type: a text, a whole number (int64), a
// number, a boolean or a list of words. Missing settings have their defaults. The problems contain every mistake in the
// settings.
func (s Schema) Values(params map[string]any) (map[string]any, jjm.Problems) {
	v := s.fresh()
	problems := DecodeParams(params, v.Addr().Interface())
	values := make(map[string]any, len(s))
	for i := range s {
		values[s[i].Name] = v.Field(i).Interface()
	}
	return values, problems
}

// Find returns a setting by its name, nil if there is none.
func (s Schema) Find(name string) *Setting {
	i := slices.IndexFunc(s, func(one Setting) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return &s[i]
}

// Insert replaces the placeholders of settings, for example "{mass}", in the words of a command, which [ParseCommand]
// parses afterwards. The placeholder of a list must be a separate word; it is replaced by the words of the list.
// Placeholders of the part, for example "{events}", stay.
func (s Schema) Insert(words []string, unit string, values map[string][]string) []string {
	parts, _ := placeholders(unit)
	var out []string
	for _, word := range words {
		if name, ok := s.named(word, parts); ok && s.Find(name).Type == SettingWords {
			for _, v := range values[name] {
				out = append(out, escape(v))
			}
			continue
		}
		out = append(out, s.insert(word, parts, values))
	}
	return out
}

// named returns the name of the setting if the whole word is the placeholder of a setting. Placeholders in parts stand
// for values of the part, not for settings.
func (s Schema) named(word string, parts []string) (string, bool) {
	name, ok := strings.CutPrefix(word, "{")
	name, end := strings.CutSuffix(name, "}")
	return name, ok && end && !slices.Contains(parts, word) && s.Find(name) != nil
}

// insert replaces placeholders within a word by the values of their settings. A list, whose placeholder should be a
// separate word, is joined by blanks.
func (s Schema) insert(word string, parts []string, values map[string][]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(word, '{')
		if i < 0 {
			return b.String() + word
		}
		b.WriteString(word[:i])
		word = word[i:]
		if strings.HasPrefix(word, "{{") {
			b.WriteString("{{")
			word = word[2:]
			continue
		}
		end := strings.IndexByte(word, '}')
		if name, ok := s.named(word[:end+1], parts); ok {
			b.WriteString(escape(strings.Join(values[name], " ")))
		} else {
			b.WriteString(word[:max(end+1, 1)])
		}
		word = word[max(end+1, 1):]
	}
}

// escape doubles the opening braces of a text, which prevents them from being parsed as placeholders.
func escape(text string) string { return strings.ReplaceAll(text, "{", "{{") }

// Example returns settings for an example job file, one for each required setting.
func (s Schema) Example() map[string]any {
	out := map[string]any{}
	for _, one := range s {
		if !one.Required {
			continue
		}
		switch {
		case len(one.Choices) > 0:
			out[one.Name] = one.Choices[0]
		case one.Type == SettingText:
			out[one.Name] = "text"
		case one.Type == SettingBool:
			out[one.Name] = true
		case one.Type == SettingWords:
			out[one.Name] = []any{"a", "b"}
		case one.Type == SettingWhole:
			out[one.Name] = int64(one.near(10))
		default:
			out[one.Name] = one.near(1)
		}
	}
	return out
}

// near returns the number between Min and Max that is nearest to n.
func (s *Setting) near(n float64) float64 {
	if s.Max != nil {
		n = min(n, *s.Max)
	}
	if s.Min != nil {
		n = max(n, *s.Min)
	}
	return n
}
