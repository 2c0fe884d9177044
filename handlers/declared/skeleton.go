package declared

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"jjm/internal/jjm"
)

// skeleton holds the files of a new type, in one folder for each kind. The files are valid after NAME is replaced in
// their names and texts by the name of the type, and FOLDER by the path of the folder into which they are written.
//
//go:embed skeleton
var skeleton embed.FS

// The kinds of types that Begin can write.
const (
	KindTOML   = "toml"   // a declaration, and the script of its local jobs
	KindFiles  = "files"  // the same for a type that reads files, and three files to read
	KindPython = "python" // a program that describes the type, plans jobs, and runs as their local jobs
)

// Begun contains the paths of the files of a new type.
type Begun struct {
	Type string   // path of the file that declares the type
	Job  string   // path of the job file
	All  []string // paths of all files
}

// Begin writes the files of a new type and a job file into a folder. kind is KindTOML, KindFiles or KindPython. The
// error is of kind Invalid if the name is not a valid type name, and of kind Conflict if one of the files already
// exists. After an error Begin leaves no files.
func Begin(dir, name, kind string) (_ Begun, err error) {
	if !typeName.MatchString(name) {
		return Begun{}, jjm.Errorf(jjm.Invalid, "%.40q: want a name of small letters, digits, - and _, such as zmumu", name)
	}
	entries, err := skeleton.ReadDir("skeleton/" + kind)
	if err != nil {
		return Begun{}, err
	}
	folder, err := filepath.Abs(dir)
	if err != nil {
		return Begun{}, err
	}
	words := strings.NewReplacer("NAME", name, "FOLDER", inTOML.Replace(folder))
	begun := Begun{Type: filepath.Join(dir, name+suffix), Job: filepath.Join(dir, name+jobSuffix)}
	for _, e := range entries {
		path := filepath.Join(dir, words.Replace(e.Name()))
		if err := write(path, "skeleton/"+kind+"/"+e.Name(), words); err != nil {
			for _, path := range begun.All {
				_ = os.Remove(path)
			}
			return Begun{}, err
		}
		begun.All = append(begun.All, path)
	}
	return begun, nil
}

// inTOML writes a path so that it can stand between the quotation marks of a TOML text.
var inTOML = strings.NewReplacer("\\", "\\\\", "\"", "\\\"")

// write writes a new file from a file of the skeleton, with words replaced. After an error it leaves no file.
func write(path, from string, words *strings.Replacer) error {
	text, err := skeleton.ReadFile(from)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if ext := filepath.Ext(path); ext == ".sh" || ext == ".py" {
		mode = 0o755
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return jjm.Errorf(jjm.Conflict, "%s already exists: choose another name, or another folder", path)
	}
	if err != nil {
		return err
	}
	_, err = words.WriteString(f, string(text))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
