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

	"jjm"
)

// TarEntry is one file for a tar, or the reason why it is not there.
type TarEntry struct {
	// Name is its name in the tar, below the prefix.
	Name string
	// Path is where it is, below the area; Content is the file itself instead.
	Path    string
	Content []byte
	// SHA256 and Bytes are what the file should be; "" when not known.
	SHA256 string
	Bytes  int64
	// Absent says why there is no file.
	Absent string
	// Lost, unless nil, is called before the next entry is asked for if a file
	// whose SHA256 is known is gone, or is not what it was.
	Lost func()
}

// TarInfo describes a finished tar.
type TarInfo struct {
	// Path is its path below the area.
	Path   string
	Bytes  int64
	SHA256 string
	// Files are the files in it, the manifest excepted; Absent the entries of
	// the manifest that have no file.
	Files, Absent int
}

// OutputName is the name of a collected file: stem, local job, and the last
// element of its own name (decision R24).
func OutputName(stem string, id jjm.LocalID, name string) string {
	return stem + "." + id.String() + "." + path.Base(name)
}

// OutputOf returns the local job whose output a name of [OutputName] is.
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

// ManifestName is the last file of every tar, below its prefix: a JSON list of
// {path, size, sha256, absent}.
const ManifestName = "manifest.json"

type manifestLine struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	Absent string `json:"absent,omitempty"`
}

// WriteTar streams entries into a tar at dest, below the area, and appends a
// manifest that accounts for each of them. The same entries and files give the
// same bytes: order is that of the entries; owner 0, mode 0644, and the file's
// modification time in whole seconds (an entry with Content, and the manifest:
// the newest of the files before it). A name given twice gets a number.
//
// A file that cannot be read, is not a regular file, is not what SHA256 and
// Bytes say, or changes while it is read leaves nothing in the tar but its
// reason in the manifest. Once the files together would exceed maxBytes (0: no
// cap), further files are absent too; entries with Content are not capped. Only
// an error of the sequence, of dest or of ctx stops WriteTar; then there is no
// file at dest, or the old one.
func (a *Area) WriteTar(ctx context.Context, dest string, prefix string, entries iter.Seq2[TarEntry, error],
	maxBytes int64) (TarInfo, error) {
	t := tarring{area: a, prefix: prefix, maxBytes: maxBytes, names: map[string]int{}}
	if text := badTarName(prefix); text != "" {
		return TarInfo{}, jjm.Errorf(jjm.Invalid, "sandbox: prefix of tar %s: %s", dest, text)
	}
	if err := a.fs.MkdirAll(path.Dir(dest), dirMode); err != nil {
		return TarInfo{}, wrap(err, "make folder of tar %s", dest)
	}
	err := a.replace(dest, fileMode, syncNamed, func(f *os.File) error {
		t.sink = newTarSink(f)
		defer t.sink.stop()
		t.tw = tar.NewWriter(t.sink)
		return t.run(ctx, entries)
	})
	if err != nil {
		return TarInfo{}, wrap(err, "write tar %s", dest)
	}
	t.info.Path, t.info.Bytes, t.info.SHA256 = dest, t.sink.size(), t.sink.sum()
	return t.info, nil
}

// tarring is one run of WriteTar.
type tarring struct {
	area     *Area
	prefix   string
	maxBytes int64
	sink     *tarSink
	tw       *tar.Writer
	info     TarInfo
	bytes    int64          // of files, against maxBytes
	full     bool           // the cap was reached
	newest   time.Time      // of the files so far
	names    map[string]int // uses of each name
	manifest bytes.Buffer
	hash     hash.Hash
}

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

// entry puts one entry into tar and manifest. Its error is one of dest.
func (t *tarring) entry(ctx context.Context, e TarEntry) error {
	line := manifestLine{Path: e.Name, Absent: e.Absent}
	if text := badTarName(e.Name); text != "" && e.Absent == "" {
		line.Absent = text
	}
	if line.Absent == "" {
		line.Path = t.unique(e.Name)
		if err := t.file(ctx, e, &line); err != nil {
			return err
		}
		if line.Absent != "" && e.SHA256 != "" && !t.full && e.Lost != nil {
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
		return nil // told in one line, at the end
	}
	line.Path, line.Size, line.SHA256 = t.prefix+"/"+line.Path, e.Bytes, e.SHA256
	return t.note(line)
}

// maxAbsent is how many files that are not in the tar its manifest names one by one: a
// job can list what never was, and a line of the manifest is kept in memory.
const maxAbsent = 200_000

// note adds a line to the manifest. It is kept as text: a tar may have a
// million entries.
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

// file writes an entry that should have a file; line says how it went.
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
	// Part of the file may be in the tar: take it back, with its header.
	return t.sink.rewind(mark)
}

// content writes a file from memory.
func (t *tarring) content(name string, b []byte) error {
	if err := t.tw.WriteHeader(t.header(name, int64(len(b)), t.newest)); err != nil {
		return err
	}
	if _, err := t.tw.Write(b); err != nil {
		return err
	}
	return t.tw.Flush()
}

func (t *tarring) header(name string, size int64, modified time.Time) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: modified.Truncate(time.Second)}
}

// unique returns a name that no earlier file of the tar has.
func (t *tarring) unique(name string) string {
	for {
		t.names[name]++
		n := t.names[name]
		if n == 1 {
			return name
		}
		name = fmt.Sprintf("%s.%d", name, n)
	}
}

// badTarName says why a name may not be in a tar, or "": whoever unpacks it
// must not be led out of his folder.
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
