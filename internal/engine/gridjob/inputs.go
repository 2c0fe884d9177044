package gridjob

import (
	"fmt"
	"io"
	"io/fs"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
)

// inputBudget compares the bytes of the inputs of one grid job with the site's limit.
type inputBudget struct {
	limit, left int64 // in bytes; 0 = no limit
}

// take subtracts n bytes from the budget. The error is of kind Invalid if the limit is exceeded.
func (b *inputBudget) take(n int64) error {
	if b.limit == 0 {
		return nil
	}
	if b.left -= max(n, 0); b.left < 0 {
		return jjm.Errorf(jjm.Invalid,
			"the inputs have more than the %d bytes in all that this site allows (engine.max_input_bytes): "+
				"use fewer or smaller ones, or a dataset", b.limit)
	}
	return nil
}

// spent reports whether the limit was exceeded.
func (b *inputBudget) spent() bool { return b.left < 0 }

// sizeOf returns the size of an open input from its metadata, including the holes of sparse
// files; 0 if the metadata has no size.
func sizeOf(f io.Reader) int64 {
	switch f := f.(type) {
	case interface{ Size() int64 }:
		return f.Size()
	case interface{ Stat() (fs.FileInfo, error) }:
		if info, err := f.Stat(); err == nil {
			return info.Size()
		}
	}
	return 0
}

// within returns a function that opens inputs with open until the inputs have more than limit bytes in all; 0 means no
// limit. If the metadata of an input already shows that it is too large, the input is not read. An input that grows
// beyond the limit while it is read ends with an error.
func within(limit int64, open func(string) (io.ReadCloser, error)) func(string) (io.ReadCloser, error) {
	b := &inputBudget{limit, limit}
	return func(path string) (io.ReadCloser, error) {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		ahead := *b
		if err := ahead.take(sizeOf(f)); err != nil {
			f.Close()
			return nil, err
		}
		if _, folder := f.(*tree.Source); folder { // a folder is never read beyond its size
			*b = ahead
			return f, nil
		}
		return &counted{f, b}, nil
	}
}

// counted is an input whose bytes are counted as they are read.
type counted struct {
	io.ReadCloser
	budget *inputBudget
}

// Read returns an error when the budget is used up.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if over := c.budget.take(int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

// checkInputs returns problems for inputs that cannot be opened, and a problem if all files and folders together exceed
// the site's limit. added are the inputs that the job type adds. It contacts no servers.
func (js *Jobs) checkInputs(owner jjm.Owner, base string, spec *jjm.Spec, added []jjm.Input) (ps jjm.Problems) {
	limit := js.b.Conf().MaxInputBytes
	open, budget := js.types.Packable(owner, base), &inputBudget{limit, limit}
	check := func(i int, in *jjm.Input) jjm.Problems {
		if weburl.Is(in.Path) {
			return js.remote.Check(owner, base, i, in)
		}
		return checkInput(i, in, open, budget)
	}
	for i := range spec.Inputs {
		ps = append(ps, check(i, &spec.Inputs[i])...)
	}
	for i := range added {
		for _, p := range check(i, &added[i]) {
			ps = append(ps, jjm.Problem{Field: "type", Text: fmt.Sprintf(
				"its input %s cannot be packed: %s: ask the site's administrator", weburl.Shown(added[i].Path), p.Text)})
		}
	}
	return ps
}

// checkInput returns the problems of input i, which is a file or a folder, and subtracts its size from the budget.
func checkInput(i int, in *jjm.Input, open func(string) (io.ReadCloser, error), budget *inputBudget) jjm.Problems {
	if budget.spent() {
		return nil // another problem says that all inputs together are too large
	}
	f, err := open(in.Path)
	if err == nil {
		defer f.Close()
		err = budget.take(sizeOf(f))
	}
	if err != nil {
		return jjm.Problems{{Field: fmt.Sprintf("inputs[%d].path", i), Text: err.Error()}}
	}
	if _, folder := f.(*tree.Source); folder {
		return checkFolder(i, in)
	}
	return nil
}

// checkFolder returns problems for settings of an input that mean nothing for a folder.
func checkFolder(i int, in *jjm.Input) (ps jjm.Problems) {
	bad := func(key, text string) {
		ps = append(ps, jjm.Problem{Field: fmt.Sprintf("inputs[%d].%s", i, key), Text: text})
	}
	if in.Executable {
		bad("executable", in.Path+" is a folder, whose files keep their modes: leave it out, or chmod them")
	}
	if in.SHA256 != "" {
		bad("sha256", in.Path+" is a folder, which has no checksum: leave it out, or pack it in an archive")
	}
	return ps
}
