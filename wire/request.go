package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jjm"
	"jjm/internal/nearest"
)

// MaxRefs is the most references one request may hold.
const MaxRefs = 10_000

// Bounds on the short texts of a request, in bytes.
const (
	maxRef  = 64
	maxWord = 256
	maxPath = 4096 // PATH_MAX of Linux, limits.h
)

// MaxRemark is the longest remark, in bytes.
const MaxRemark = 500

// Verbs lists the verbs, in the order in which they are documented.
func Verbs() []string {
	return []string{VerbPing, VerbSubmit, VerbLookup, VerbKill, VerbRelease, VerbStatus, VerbList, VerbWait,
		VerbRecord, VerbOutput, VerbCat, VerbHistory, VerbLog, VerbJobTypes, VerbClusters, VerbOrder, VerbReset, VerbBan, VerbRenew,
		VerbRemark, VerbAdvertise, VerbDataset, VerbVerify, VerbRetract}
}

// DecodeRequest reads a request line and checks its form: UTF-8, one JSON
// object, no unknown member, a known verb, the member and the references that
// the verb needs. Its errors are of kind Invalid and say what would be right.
// References themselves are read by [Request.ParsedRefs].
func DecodeRequest(line []byte) (Request, error) {
	if !utf8.Valid(line) {
		return Request{}, jjm.Errorf(jjm.Invalid, "request is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var r Request
	if err := dec.Decode(&r); err != nil {
		return Request{}, decodeError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Request{}, jjm.Errorf(jjm.Invalid, "request: text after the JSON object: want one object per line")
	}
	if err := r.check(); err != nil {
		return Request{}, err
	}
	return r, nil
}

// decodeError makes the errors of encoding/json helpful.
func decodeError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return jjm.Errorf(jjm.Invalid, "request: want one JSON object, such as {\"verb\":\"ping\"}: the line is empty or ends early")
	}
	// encoding/json has no error type for an unknown member, only this text.
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		if near := nearest.Of(name, members()); near != "" {
			return jjm.Errorf(jjm.Invalid, "request: unknown member %.40q: did you mean %q?", name, near)
		}
		return jjm.Errorf(jjm.Invalid, "request: unknown member %.40q: want one of %v", name, members())
	}
	return jjm.Errorf(jjm.Invalid, "request: want one JSON object, such as {\"verb\":\"ping\"}: %w", err)
}

// members lists the JSON names a request may hold, at any depth.
func members() []string {
	var names []string
	for _, t := range []reflect.Type{reflect.TypeFor[Request](), reflect.TypeFor[Submit](), reflect.TypeFor[List](), reflect.TypeFor[Order](), reflect.TypeFor[Ban](), reflect.TypeFor[Dataset](), reflect.TypeFor[Retract](), reflect.TypeFor[jjm.File](), reflect.TypeFor[jjm.LumiRange](), reflect.TypeFor[jjm.Credential](), reflect.TypeFor[jjm.Origin]()} {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// check finds what the verb needs and the request lacks.
func (r *Request) check() error {
	if !slices.Contains(Verbs(), r.Verb) {
		if r.Verb == "" {
			return jjm.Errorf(jjm.Invalid, "request: verb is missing: want one of %v", Verbs())
		}
		return jjm.Errorf(jjm.Invalid, "request: unknown verb %.40q: want one of %v", r.Verb, Verbs())
	}
	if len(r.Refs) > MaxRefs {
		return jjm.Errorf(jjm.Invalid, "refs: %d of them: at most %d in one request", len(r.Refs), MaxRefs)
	}
	for _, ref := range r.Refs {
		if len(ref) > maxRef {
			return jjm.Errorf(jjm.Invalid, "refs: id %.40q...: want 12, 12.3, 12.* or 12.3-7", ref)
		}
	}
	if err := r.checkRefs(); err != nil {
		return err
	}
	if r.Verb == VerbSubmit {
		if err := r.Submit.check(); err != nil {
			return err
		}
	}
	if r.Verb == VerbOrder {
		if err := r.Order.check(); err != nil {
			return err
		}
	}
	if ps := jjm.CheckCredentials(r.Credentials); len(ps) > 0 {
		return fmt.Errorf("%s: %w", r.Verb, ps.Err())
	}
	if r.Verb == VerbRenew && len(r.Credentials) == 0 {
		return jjm.Errorf(jjm.Invalid, "renew: member credentials is missing: want [{\"kind\",\"secret\"}]")
	}
	if n := len(r.Remark); r.Verb == VerbRemark && (n == 0 || n > MaxRemark) {
		return jjm.Errorf(jjm.Invalid, "remark: member remark has %d bytes: want 1 to %d", n, MaxRemark)
	}
	if r.Verb == VerbBan {
		if err := r.Ban.check(); err != nil {
			return err
		}
	}
	if r.Verb == VerbDataset {
		if err := r.Dataset.check(); err != nil {
			return err
		}
	}
	if r.Verb == VerbRetract {
		if err := r.Retract.check(); err != nil {
			return err
		}
	}
	if r.Verb == VerbReset && (r.Cluster == "" || len(r.Cluster) > maxWord) {
		return jjm.Errorf(jjm.Invalid, "cluster %.40q: want the name of a cluster", r.Cluster)
	}
	if r.List != nil && max(len(r.List.Status), len(r.List.Type), len(r.List.Owner)) > maxWord {
		return jjm.Errorf(jjm.Invalid, "list: a filter is longer than %d bytes", maxWord)
	}
	if len(r.Path) > maxPath || strings.ContainsRune(r.Path, 0) {
		return jjm.Errorf(jjm.Invalid, "path: want a query of at most %d bytes without NUL", maxPath)
	}
	if err := checkRecovery("recovery", r.Recovery); err != nil {
		return err
	}
	if r.Verb == VerbCat && !slices.Contains(Files(), r.File) {
		return jjm.Errorf(jjm.Invalid, "file %.40q: want one of %v", r.File, Files())
	}
	if r.Limit < 0 || r.List != nil && r.List.Limit < 0 {
		return jjm.Errorf(jjm.Invalid, "limit: want 0 (the default) or more")
	}
	return nil
}

// checkRecovery checks the name of a recovery's job file.
func checkRecovery(field, name string) error {
	if len(name) > maxPath || !oneLine(name) || strings.Contains(name, "/") {
		return jjm.Errorf(jjm.Invalid, "%s %.80q: want the name of a file, without folders", field, name)
	}
	return nil
}

// Files lists what "cat" can show of a local job.
func Files() []string { return []string{"stdout", "stderr", "script", "glf"} }

func (r *Request) checkRefs() error {
	switch r.Verb {
	case VerbLookup, VerbKill, VerbRelease, VerbStatus, VerbWait:
		if len(r.Refs) == 0 {
			return jjm.Errorf(jjm.Invalid, "%s: refs is empty: want at least one id", r.Verb)
		}
	case VerbHistory:
		if r.Orders && len(r.Refs) > 0 {
			return jjm.Errorf(jjm.Invalid, "history: orders belong to no job: want orders or an id, not both")
		}
		if !r.Orders && len(r.Refs) != 1 {
			return jjm.Errorf(jjm.Invalid, "history: %d refs: want exactly one id, or orders", len(r.Refs))
		}
	case VerbRecord, VerbOutput, VerbCat, VerbLog, VerbRenew, VerbRemark, VerbVerify, VerbRetract:
		if len(r.Refs) != 1 {
			return jjm.Errorf(jjm.Invalid, "%s: %d refs: want exactly one id", r.Verb, len(r.Refs))
		}
	}
	return nil
}

func (s *Submit) check() error {
	switch {
	case s == nil:
		return jjm.Errorf(jjm.Invalid, "submit: member submit is missing: want {\"name\",\"text\",\"base_dir\"}")
	case s.Text == "":
		return jjm.Errorf(jjm.Invalid, "submit.text: the job file is empty")
	case len(s.BaseDir) > maxPath || strings.ContainsRune(s.BaseDir, 0) || !strings.HasPrefix(s.BaseDir, "/"):
		return jjm.Errorf(jjm.Invalid, "submit.base_dir %.80q: want an absolute path", s.BaseDir)
	case len(s.Name) > maxPath || strings.ContainsRune(s.Name, 0):
		return jjm.Errorf(jjm.Invalid, "submit.name %.80q: want a file name", s.Name)
	case len(s.Key) > maxWord:
		return jjm.Errorf(jjm.Invalid, "submit.key: %d bytes: at most %d", len(s.Key), maxWord)
	}
	if ps := jjm.CheckCredentials(s.Credentials); len(ps) > 0 {
		return fmt.Errorf("submit: %w", ps.Err())
	}
	if ps := s.Origin.Problems(); len(ps) > 0 {
		return fmt.Errorf("submit: %w", ps.Err())
	}
	return nil
}

// maxReason is the longest reason of an order, in bytes.
const maxReason = 1000

// check finds what is wrong with an order whatever the site is; none at all
// lists the orders.
func (o *Order) check() error {
	switch {
	case o == nil:
		return nil
	case !slices.Contains([]string{jjm.OrderDrain, jjm.OrderPause, jjm.OrderResume}, o.Verb):
		return jjm.Errorf(jjm.Invalid, "order.verb %.40q: want drain, pause or resume", o.Verb)
	case !slices.Contains([]string{jjm.OrderCluster, jjm.OrderType, jjm.OrderUser}, o.Kind):
		return jjm.Errorf(jjm.Invalid, "order.kind %.40q: want cluster, type or user", o.Kind)
	case o.Name == "" || len(o.Name) > maxWord || !oneLine(o.Name):
		return jjm.Errorf(jjm.Invalid, "order.name %.40q: want the name of a %s", o.Name, o.Kind)
	case len(o.Reason) > maxReason || !oneLine(o.Reason):
		return jjm.Errorf(jjm.Invalid, "order.reason %.40q: want one line of at most %d bytes", o.Reason, maxReason)
	case o.Verb == jjm.OrderResume && (o.For != 0 || o.Until != 0):
		return jjm.Errorf(jjm.Invalid, "order: resume ends an order at once: no time belongs to it")
	case o.Verb != jjm.OrderResume && strings.TrimSpace(o.Reason) == "":
		return jjm.Errorf(jjm.Invalid, "order.reason is missing: say why, for those whose jobs wait")
	case o.For < 0 || o.Until < 0 || o.For != 0 && o.Until != 0:
		return jjm.Errorf(jjm.Invalid, "order: want for how long, or until when, or neither")
	}
	return nil
}

// oneLine reports whether a text holds no control characters.
func oneLine(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }

// ParsedRefs reads the references. With grid set, only whole grid jobs will
// do.
func (r *Request) ParsedRefs(grid bool) ([]jjm.Ref, error) {
	refs := make([]jjm.Ref, len(r.Refs))
	for i, s := range r.Refs {
		ref, err := jjm.ParseRef(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Verb, err)
		}
		if grid && ref.Locals {
			return nil, jjm.Errorf(jjm.Invalid, "%s: id %q: want a grid job, such as %v", r.Verb, s, ref.Grid)
		}
		refs[i] = ref
	}
	return refs, nil
}
