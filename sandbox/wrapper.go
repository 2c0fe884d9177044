package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"jjm/internal/jjm"
)

// The names of the wrapper in its folder. WrapperName is the program; LogHelper, ProgressHelper and RecordHelper are
// links to the program, which applications call as $GBS_LOG, $JJM_PROGRESS and $JJM_RECORD.
const (
	WrapperName    = "jjm-wrapper"
	LogHelper      = "gbs_log"
	ProgressHelper = "jjm_progress"
	RecordHelper   = "jjm_record"
)

// Helpers returns the names under which applications call the wrapper.
func Helpers() []string { return []string{LogHelper, ProgressHelper, RecordHelper} }

// InstallWrapper copies the wrapper's program into the area, into a folder named by the program's content; submitted
// jobs therefore keep their version after an upgrade. It returns the folder's absolute path. The error is of kind
// Conflict if the folder exists and has no complete wrapper.
func (a *Area) InstallWrapper(binary string) (binDir string, err error) {
	src, err := os.Open(binary)
	if err != nil {
		return "", a.wrap(err, "install wrapper")
	}
	defer src.Close()
	h := sha256.New()
	size, err := io.Copy(h, src)
	if err != nil {
		return "", a.wrap(err, "install wrapper: read %s", binary)
	}
	dir := "bin/" + hex.EncodeToString(h.Sum(nil))[:12]
	binDir = filepath.Join(a.root, dir)
	if info, err := a.fs.Lstat(dir + "/" + WrapperName); err == nil && info.Mode().IsRegular() && info.Size() == size {
		return binDir, nil
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", a.wrap(err, "install wrapper: read %s", binary)
	}
	return binDir, a.wrap(a.installAs(dir, src), "install wrapper as %s", dir)
}

// installAs installs the wrapper from src as the folder dir. The error is of kind Conflict if dir exists, because it
// then lacks a complete wrapper.
func (a *Area) installAs(dir string, src io.Reader) (err error) {
	if err := a.fs.MkdirAll("bin", dirMode); err != nil {
		return err
	}
	if _, err := a.fs.Lstat(dir); err == nil {
		return jjm.Errorf(jjm.Conflict, "the folder exists without a whole wrapper in it: remove it")
	}
	tmp := tmpName("bin")
	if err := a.fs.Mkdir(tmp, dirMode); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.discard(tmp)
		}
	}()
	if err := a.copyProgram(tmp+"/"+WrapperName, src); err != nil {
		return err
	}
	for _, name := range Helpers() {
		if err := a.fs.Symlink(WrapperName, tmp+"/"+name); err != nil {
			return err
		}
	}
	return a.keep(tmp, dir)
}

// copyProgram copies a program that may be started immediately. During the copy, no child process is started
// (ForkLock): a child would inherit the file open for writing until its exec, and execve(2) of the copy would fail with
// ETXTBSY. A remote FS may have to start a child to write the copy. In that case jobs start only seconds later, and the
// embedded batch system repeats a failed start.
func (a *Area) copyProgram(name string, src io.Reader) error {
	if _, ok := a.fs.(remote); ok {
		_, err := a.copyIn(context.Background(), name, execMode, src)
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	_, err := a.copyIn(context.Background(), name, execMode, src)
	return err
}
