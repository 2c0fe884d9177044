package gridjob

import (
	"fmt"
	"io"
	"io/fs"

	"jjm"
	"jjm/internal/tree"
)

// inputBudget is how many bytes the inputs of one grid job may still have.
type inputBudget struct {
	limit, left int64 // 0 = no bound
}

// take counts bytes. The error is of kind Invalid: there are more than the site
// allows.
func (b *inputBudget) take(n int64) error {
	if b.limit == 0 {
		return nil
	}
	if b.left -= max(n, 0); b.left < 0 {
		return jjm.Errorf(jjm.Invalid,
			"the inputs have more than %d bytes in all, which is what this site allows (engine.max_input_bytes): "+
				"take fewer or smaller ones, or a dataset", b.limit)
	}
	return nil
}

// sizeOf is how large an open input says that it is, holes of sparse files included;
// 0 if it does not say.
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

// within returns inputs as open does, as long as they have no more bytes in all than
// limit; 0 means no bound. One that says that it is too large is not read at all, and
// one that grows is cut off.
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
		if _, folder := f.(*tree.Source); folder { // no more is taken than it says
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

// Read reads, and fails once the budget is used up.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if over := c.budget.take(int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

// checkInputs finds inputs that cannot be read, and too many bytes of them as far as
// the files say how large they are.
func checkInputs(spec *jjm.Spec, open func(string) (io.ReadCloser, error), limit int64) jjm.Problems {
	var ps jjm.Problems
	budget := inputBudget{limit, limit}
	for i, in := range spec.Inputs {
		f, err := open(in.Path)
		if err != nil {
			ps = append(ps, jjm.Problem{Field: fmt.Sprintf("inputs[%d].path", i), Text: err.Error()})
			continue
		}
		if err := budget.take(sizeOf(f)); err != nil {
			f.Close()
			return append(ps, jjm.Problem{Field: fmt.Sprintf("inputs[%d].path", i), Text: err.Error()})
		}
		if _, folder := f.(*tree.Source); folder {
			ps = append(ps, ofFolder(i, &in)...)
		}
		f.Close()
	}
	return ps
}

// ofFolder finds what is said of an input that means nothing of a folder.
func ofFolder(i int, in *jjm.Input) (ps jjm.Problems) {
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
