package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
)

// Pack copies the inputs of a grid job into a package named by its content. It returns that name and the names of the
// files in the order of the inputs. The same inputs result in the same package, which is stored once. open opens an
// input by its path, a folder as a [tree.Source]. The error is of kind Invalid if the name of an input is bad or used
// twice, or if its SHA-256 differs from the job file's. After an error no package is left. Without inputs there is no
// package, and pkg is "".
func (a *Area) Pack(ctx context.Context, inputs []jjm.Input, open func(path string) (io.ReadCloser, error)) (pkg string,
	files []string, err error) {
	files, err = inputNames(inputs)
	if err != nil || len(files) == 0 {
		return "", nil, err
	}
	if err := a.fs.MkdirAll("packages", dirMode); err != nil {
		return "", nil, a.wrap(err, "make packages")
	}
	tmp := tmpName("packages")
	if err := a.fs.Mkdir(tmp, dirMode); err != nil {
		return "", nil, a.wrap(err, "make package")
	}
	defer func() {
		if err != nil {
			a.discard(tmp)
		}
	}()
	index := make([]string, len(inputs))
	for i, in := range inputs {
		sum, err := a.packOne(ctx, tmp+"/"+files[i], in, open)
		if err != nil {
			return "", nil, a.wrap(err, "pack input %q", weburl.Shown(in.Path))
		}
		index[i] = fmt.Sprintf("%q %t %s\n", files[i], in.Executable, sum)
	}
	slices.Sort(index)
	sum := sha256.Sum256([]byte(strings.Join(index, "")))
	pkg = hex.EncodeToString(sum[:])
	return pkg, files, a.wrap(a.keep(tmp, PackageDir(pkg)), "keep package %s", pkg)
}

// keep renames a finished folder to its name. If a folder with that name exists, it has the same content, because the
// name is computed from the content, and keep removes tmp.
func (a *Area) keep(tmp, name string) error {
	if err := a.syncDir(tmp); err != nil {
		return err
	}
	err := a.fs.Rename(tmp, name)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		a.discard(tmp)
		return nil
	}
	if err != nil {
		return err
	}
	return a.syncDir(path.Dir(name))
}

// packOne copies one input into the package and returns a checksum of its content: for a file its SHA-256 in hex, for a
// folder the text of packTree. If the job file names the SHA-256 of a file, a different checksum is an error of kind
// Invalid.
func (a *Area) packOne(ctx context.Context, name string, in jjm.Input,
	open func(string) (io.ReadCloser, error)) (string, error) {
	src, err := open(in.Path)
	if err != nil {
		return "", err
	}
	defer src.Close()
	if t, ok := src.(*tree.Source); ok {
		return a.packTree(ctx, name, t)
	}
	sum, err := a.copyIn(ctx, name, modeOf(in.Executable), src)
	if err != nil {
		return sum, err
	}
	if in.SHA256 != "" && !strings.EqualFold(sum, in.SHA256) {
		return sum, jjm.Errorf(jjm.Invalid, "its SHA-256 is %s, the job file says %.80s: correct one of them", sum, in.SHA256)
	}
	return sum, nil
}

// modeOf returns the mode of an input file.
func modeOf(executable bool) os.FileMode {
	if executable {
		return execMode
	}
	return fileMode
}

// copyIn copies a stream to a new file and returns its SHA-256 in hex.
func (a *Area) copyIn(ctx context.Context, name string, perm os.FileMode, src io.Reader) (string, error) {
	h := sha256.New()
	err := a.create(name, perm, syncFile, func(f *os.File) error {
		_, err := io.CopyBuffer(io.MultiWriter(f, h), ctxReader{ctx, src}, make([]byte, writeBuffer))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// ctxReader is a reader that fails when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// inputNames returns the names of the inputs in the job's directory, or all problems with the names.
func inputNames(inputs []jjm.Input) ([]string, error) {
	names := make([]string, len(inputs))
	first := make(map[string]int, len(inputs))
	var problems jjm.Problems
	for i, in := range inputs {
		name := in.Name
		if name == "" {
			name = path.Base(in.Path)
		}
		names[i] = name
		text := badName(name)
		if j, twice := first[name]; twice && text == "" {
			text = fmt.Sprintf("%q is the name of inputs[%d] too: give one of them another name", name, j)
		}
		if text != "" {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("inputs[%d].name", i), Text: text})
		}
		first[name] = i
	}
	return names, problems.Err()
}

// badName returns the reason why name is not valid for an input, "" if the name is valid. 255 bytes is NAME_MAX of
// Linux file systems.
func badName(name string) string {
	switch {
	case name == "" || name == "." || name == ".." || strings.Contains(name, "/"):
		return fmt.Sprintf("%.100q: want a plain file name, without a folder", name)
	case len(name) > 255:
		return fmt.Sprintf("%.40q...: want at most 255 bytes", name)
	case isTmp(name):
		return fmt.Sprintf("%.100q: names that begin with %s are reserved", name, tmpPrefix)
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Sprintf("%.100q: want no control characters", name)
	}
	return ""
}
