package asuser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
	"jjm/internal/sys/diskuse"
)

// One packet of a sequenced-packet socket (unix(7)) is one message. If a request does not fit into a packet, it is
// written to a memory file. The packet is then {"long":true}, and the memory file is its first descriptor.

// maxPacket, in bytes, is well below the default send buffer (212 992 bytes). maxText is the maximum length of a
// request in bytes: the arguments of a command may have 2 MiB (execve(2)), and more in JSON. maxFiles is the maximum
// number of descriptors of a message.
const (
	maxPacket = 48 << 10
	maxText   = 8 << 20
	maxFiles  = 4
)

// request is a message of the daemon. Op determines which fields are set.
type request struct {
	ID int64 `json:"id"`
	// Op is ping, cancel (the run with the same ID), run, stream, tree, usage, or an operation
	// on files below Root.
	Op   string      `json:"op"`
	Root string      `json:"root,omitempty"`
	Name string      `json:"name,omitempty"`
	To   string      `json:"to,omitempty"`
	Flag int         `json:"flag,omitempty"`
	Perm fs.FileMode `json:"perm,omitempty"`
	// Mount is for the guard: the mount on which an opened file must be, as a mount ID of /proc/self/mountinfo.
	Mount int `json:"mount,omitempty"`
	// Folder, Access and UIDs belong to grant.
	Folder bool     `json:"folder,omitempty"`
	Access acl.Perm `json:"access,omitempty"`
	UIDs   []int    `json:"uids,omitempty"`
	// MaxBytes and MaxFiles belong to usage and tree, Limit to usage.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	MaxFiles int64 `json:"max_files,omitempty"`
	// Argv, Dir, Env and Limit belong to run.
	Argv  []string      `json:"argv,omitempty"`
	Dir   string        `json:"dir,omitempty"`
	Env   []string      `json:"env,omitempty"`
	Limit time.Duration `json:"limit,omitempty"`
	// Memory belongs to run: the cap of the command's private memory in bytes.
	Memory int64 `json:"memory,omitempty"`
	// Long means that the request is in a memory file.
	Long bool `json:"long,omitempty"`
}

// reply is a message of the helper. A run, a stream and a tree have two replies: one with Started, and one at the end.
type reply struct {
	ID      int64         `json:"id"`
	Started bool          `json:"begun,omitempty"`
	Err     *failure      `json:"err,omitempty"`
	Exit    int           `json:"exit,omitempty"`
	Signal  int           `json:"signal,omitempty"`
	Wall    time.Duration `json:"wall,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"`
	Use     *diskuse.Use  `json:"use,omitempty"`
	Info    *fileInfo     `json:"info,omitempty"`
}

// failure carries an error across the socket, with enough information for errors.Is and jjm.KindOf.
type failure struct {
	Op    string   `json:"op,omitempty"`
	Path  string   `json:"path,omitempty"`
	Errno int      `json:"errno,omitempty"`
	Text  string   `json:"text,omitempty"`
	Kind  jjm.Kind `json:"kind,omitempty"`
}

// failureOf returns the failure to send for an error, nil for nil.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error(), Kind: jjm.KindOf(err)}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		f.Op, f.Path, f.Text = path.Op, path.Path, path.Err.Error()
	case errors.As(err, &link):
		f.Op, f.Path, f.Text = link.Op, link.New, link.Err.Error()
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	return f
}

// err returns the error that a received failure stands for. It limits the length of the text, because the account may
// have written it.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	text := f.Text
	if len(text) > 1000 {
		text = text[:1000]
	}
	var err error = errors.New(text)
	if f.Errno > 0 && f.Errno < 4096 { // MAX_ERRNO of Linux, err.h
		err = syscall.Errno(f.Errno)
	}
	if f.Op != "" {
		err = &fs.PathError{Op: f.Op, Path: f.Path, Err: err}
	}
	if f.Kind != jjm.Unclassified {
		err = jjm.Errorf(f.Kind, "%w", err)
	}
	return err
}

// fileInfo is an os.FileInfo that crosses the socket.
type fileInfo struct {
	Base  string      `json:"name"`
	Bytes int64       `json:"size"`
	Bits  fs.FileMode `json:"mode"`
	Time  time.Time   `json:"time"`
}

// infoOf returns the information to send for a file.
func infoOf(i os.FileInfo) *fileInfo {
	return &fileInfo{i.Name(), i.Size(), i.Mode(), i.ModTime()}
}

// Name, Size, Mode, ModTime, IsDir and Sys implement os.FileInfo.
func (i *fileInfo) Name() string       { return i.Base }
func (i *fileInfo) Size() int64        { return i.Bytes }
func (i *fileInfo) Mode() fs.FileMode  { return i.Bits }
func (i *fileInfo) ModTime() time.Time { return i.Time }
func (i *fileInfo) IsDir() bool        { return i.Bits.IsDir() }
func (i *fileInfo) Sys() any           { return nil }

// send writes one message and its descriptors.
func send(c *net.UnixConn, msg any, files ...*os.File) error {
	text, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	if len(text) > maxPacket {
		f, err := memory(text)
		if err != nil {
			return err
		}
		defer f.Close()
		files = append([]*os.File{f}, files...)
		text = []byte(`{"long":true}`)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(text, rights, nil)
	return err
}

// memory returns a new memory file that contains text. Its position is the start of the text.
func memory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("jjm", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err = f.WriteAt(text, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// receive reads one message into msg, and returns its descriptors. buf must have maxPacket+1 bytes. receive returns an
// error if the message is truncated.
func receive(c *net.UnixConn, buf []byte, msg any) ([]*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
	files := descriptors(oob[:oobn])
	switch {
	case err != nil:
	case n == 0:
		err = io.EOF
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("the message is too long")
	default:
		err = json.Unmarshal(buf[:n], msg)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

// descriptors returns the files of a control message. They are close-on-exec.
func descriptors(oob []byte) []*os.File {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files
}

// closeAll closes all files that are not nil.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
