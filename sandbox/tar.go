package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// TarEntry is one file for a tar, or the reason why the file is absent.
type TarEntry struct {
	// Name is the name of the file in the tar, below the prefix.
	Name string
	// Path is the path of the file below the area. If Path is "", the tar gets a file with the content Content.
	Path    string
	Content []byte
	// SHA256 and Bytes are the expected checksum and size of the file; SHA256 is "" if they are unknown.
	SHA256 string
	Bytes  int64
	// Absent is the reason why the tar has no file for the entry; "" if the tar should have a file.
	Absent string
	// Sums is set if the text in Absent is a remark about several entries. The remark becomes a line of the manifest, but
	// is not counted as an absent file.
	Sums bool
	// Lost, if not nil, is called if a file whose SHA256 is known no longer exists or has changed. The call comes before
	// the next entry is requested.
	Lost func()
	// LeftOut, if not nil, is called if the tar leaves out a file that may exist, with the reason. The call comes before
	// the next entry is requested.
	LeftOut func(reason jjm.LeftReason, why string)
}

// TarInfo describes a finished tar.
type TarInfo struct {
	// Path is the path of the tar below the area.
	Path   string
	Bytes  int64
	SHA256 string
	// Files is the number of files in the tar without the manifest; Absent is the number of entries without a file.
	Files, Absent int
}

// OutputName returns the name of a collected file: stem, local job, and the last element
// of its own name (decision R24).
func OutputName(stem string, id jjm.LocalID, name string) string {
	return stem + "." + id.String() + "." + path.Base(name)
}

// OutputOf returns the local job in a name that [OutputName] made. It returns false for other names.
func OutputOf(name string) (jjm.LocalID, bool) {
	words := strings.SplitN(name, ".", 4) // a stem has no dot
	if len(words) < 4 || strings.Contains(name, "/") {
		return jjm.LocalID{}, false
	}
	ref, err := jjm.ParseRef(words[1] + "." + words[2])
	if err != nil || !ref.Locals || ref.First != ref.Last {
		return jjm.LocalID{}, false
	}
	return jjm.LocalID{Grid: ref.Grid, N: ref.First}, true
}

// ManifestName is the name of the last file of every tar, below its prefix: a JSON list of {path, size, sha256,
// absent}.
const ManifestName = "manifest.json"

// manifestLine is the line of the manifest about one entry.
type manifestLine struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	Absent string `json:"absent,omitempty"`
}

// WriteTar writes entries into a tar at dest, below the area, and appends a manifest with a line for each entry. The
// same entries and files result in the same bytes: the order is the order of the entries; owner 0, mode 0644, and the
// file's modification time in whole seconds (for an entry with Content, and for the manifest: the newest modification
// time of the files before it). A name that was used before gets a number.
//
// A file that cannot be read, is not regular, differs from SHA256 or Bytes, or changes during the read is absent: it is
// not in the tar, and the manifest has the reason. When the total size of the files would exceed maxBytes (0: no
// limit), further files are absent too; entries with Content do not count. Only an error of the sequence, of dest or of
// ctx stops WriteTar; dest then has no file, or still the old file.
func (a *Area) WriteTar(ctx context.Context, dest string, prefix string, entries iter.Seq2[TarEntry, error],
	maxBytes int64) (TarInfo, error) {
	t := tarring{area: a, prefix: prefix, maxBytes: maxBytes, names: TarNames{}}
	if text := badTarName(prefix); text != "" {
		return TarInfo{}, jjm.Errorf(jjm.Invalid, "sandbox: prefix of tar %s: %s", dest, text)
	}
	if err := a.fs.MkdirAll(path.Dir(dest), dirMode); err != nil {
		return TarInfo{}, a.wrap(err, "make folder of tar %s", dest)
	}
	err := a.replace(dest, fileMode, syncNamed, func(f *os.File) error {
		t.sink = newTarSink(f)
		defer t.sink.stop()
		t.tw = tar.NewWriter(t.sink)
		return t.run(ctx, entries)
	})
	if err != nil {
		return TarInfo{}, a.wrap(err, "write tar %s", dest)
	}
	t.info.Path, t.info.Bytes, t.info.SHA256 = dest, t.sink.size(), t.sink.sum()
	return t.info, nil
}

// tarring is the state of one call of WriteTar.
type tarring struct {
	area     *Area
	prefix   string
	maxBytes int64
	sink     *tarSink
	tw       *tar.Writer
	info     TarInfo
	bytes    int64     // total size of the files so far
	full     bool      // whether maxBytes is reached
	newest   time.Time // newest modification time of the files so far
	names    TarNames
	manifest bytes.Buffer
	hash     hash.Hash
}

// run writes all entries and the manifest, and flushes the tar.
func (t *tarring) run(ctx context.Context, entries iter.Seq2[TarEntry, error]) error {
	t.hash = sha256.New()
	t.newest = time.Unix(0, 0)
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.entry(ctx, e); err != nil {
			return err
		}
	}
	if more := t.info.Absent - maxAbsent; more > 0 {
		if err := t.note(manifestLine{Path: t.prefix + "/*",
			Absent: fmt.Sprintf("%d more files are absent", more)}); err != nil {
			return err
		}
	}
	if t.manifest.Len() == 0 {
		t.manifest.WriteByte('[')
	}
	t.manifest.WriteString("\n]\n")
	if err := t.content(t.prefix+"/"+ManifestName, t.manifest.Bytes()); err != nil {
		return err
	}
	if err := t.tw.Close(); err != nil {
		return err
	}
	return t.sink.flush()
}

// entry adds one entry to the tar and the manifest. A returned error means that dest could not be written.
func (t *tarring) entry(ctx context.Context, e TarEntry) error {
	line := manifestLine{Path: e.Name, Absent: e.Absent}
	if e.Sums {
		line.Path = t.prefix + "/" + e.Name
		return t.note(line)
	}
	if text := badTarName(e.Name); text != "" && e.Absent == "" {
		line.Absent = text
		e.leaveOut(jjm.LeftName, text)
	}
	if line.Absent == "" {
		line.Path = t.names.Unique(e.Name)
		if err := t.file(ctx, e, &line); err != nil {
			return err
		}
		switch {
		case line.Absent != "" && t.full:
			e.leaveOut(jjm.LeftTarSize, line.Absent)
		case line.Absent != "" && e.SHA256 != "" && e.Lost != nil:
			e.Lost()
		}
	}
	if line.Absent == "" {
		t.info.Files++
		line.Path = t.prefix + "/" + line.Path
		return t.note(line)
	}
	delete(t.names, line.Path)
	if t.info.Absent++; t.info.Absent > maxAbsent {
		return nil // the manifest's last line contains their number
	}
	line.Path, line.Size, line.SHA256 = t.prefix+"/"+line.Path, e.Bytes, e.SHA256
	return t.note(line)
}

// leaveOut calls LeftOut if it is set.
func (e *TarEntry) leaveOut(reason jjm.LeftReason, why string) {
	if e.LeftOut != nil {
		e.LeftOut(reason, why)
	}
}

// maxAbsent is the largest number of absent files that the manifest names one by one. A job can list any number of
// files that never existed, and the manifest is stored in memory.
const maxAbsent = 200_000

// note adds a line to the manifest. The manifest is stored as text, because a tar may have a million entries.
func (t *tarring) note(line manifestLine) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	sep := ",\n"
	if t.manifest.Len() == 0 {
		sep = "[\n"
	}
	t.manifest.WriteString(sep)
	t.manifest.Write(b)
	return nil
}

// file writes an entry that should have a file. It sets in line the size and the checksum of the file, or the reason
// why the file is absent.
func (t *tarring) file(ctx context.Context, e TarEntry, line *manifestLine) error {
	if e.Path == "" {
		sum := sha256.Sum256(e.Content)
		line.Size, line.SHA256 = int64(len(e.Content)), hex.EncodeToString(sum[:])
		if e.SHA256 != "" && e.SHA256 != line.SHA256 {
			line.Absent = "its SHA-256 is " + line.SHA256 + " instead"
			return nil
		}
		return t.content(t.prefix+"/"+line.Path, e.Content)
	}
	mark := t.sink.size()
	reason, err := t.stream(ctx, e, line)
	if reason == nil || err != nil {
		return err
	}
	line.Absent = reason.Error()
	// Part of the file may already be in the tar: remove that part, with its header.
	return t.sink.rewind(mark)
}

// content writes a file whose content is in memory.
func (t *tarring) content(name string, b []byte) error {
	if err := t.tw.WriteHeader(t.header(name, int64(len(b)), t.newest)); err != nil {
		return err
	}
	if _, err := t.tw.Write(b); err != nil {
		return err
	}
	return t.tw.Flush()
}

// header returns the tar header of a file.
func (t *tarring) header(name string, size int64, modified time.Time) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: modified.Truncate(time.Second)}
}

// TarNames counts, for each name, how often a file of a tar requested it.
type TarNames map[string]int

// Unique returns a name that no earlier file of the tar has: name itself, or name with a number.
func (t TarNames) Unique(name string) string {
	for {
		t[name]++
		n := t[name]
		if n == 1 {
			return name
		}
		name = fmt.Sprintf("%s.%d", name, n)
	}
}

// BadName returns the reason why a name is not valid for an output, "" if the name is valid. The name becomes part of
// the result, which is JSON, and people who unpack the tar must be able to type it.
func BadName(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "bad name: not UTF-8"
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return "bad name: control characters"
	case len(name) > maxOutputName:
		return fmt.Sprintf("bad name: longer than %d bytes", maxOutputName)
	}
	return ""
}

// maxOutputName is the largest length of an output's name in bytes: together with the folders above, the name becomes
// the name of a file in a dataset (jjm.CheckLFN).
const maxOutputName = 900

// badTarName returns the reason why a name is not allowed in a tar, "" if the name is allowed. Unpacking the tar must
// not write outside of the folder.
func badTarName(name string) string {
	switch {
	case !fs.ValidPath(name) || name == ".":
		return "bad name: want a relative path without . or .."
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return "bad name: control characters"
	case len(name) > 4096:
		return "bad name: longer than 4096 bytes"
	}
	return ""
}
