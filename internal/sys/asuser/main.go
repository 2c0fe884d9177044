package asuser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
	"jjm/internal/sys/diskuse"
	"jjm/internal/sys/rights"
	"jjm/internal/sys/run"
	"jjm/internal/sys/tree"
)

// word is the argument that makes this program a helper, and socketFD its socket.
const (
	word     = "as-user"
	socketFD = 3
)

// IsHelper reports whether this process was started as a helper or a guard. If so, main must call Main before anything
// else.
func IsHelper(args []string) bool { return len(args) == 3 && args[1] == word || isGuard(args) }

// Main runs a helper or a guard until the daemon closes the socket, and returns the exit code of the process. A helper
// first becomes its account. The account can then stop and kill the helper, but cannot trace it or read its memory.
func Main(args []string) int {
	if isGuard(args) {
		return guardMain()
	}
	if become(args) != nil {
		return 1 // a person called the program
	}
	f := os.NewFile(socketFD, "daemon")
	if f == nil {
		return 1
	}
	c, err := net.FileConn(f)
	f.Close()
	conn, ok := c.(*net.UnixConn)
	if err != nil || !ok {
		return 1
	}
	h := &helper{conn: conn, roots: map[string]*os.Root{}, runs: map[int64]context.CancelFunc{}}
	h.serve()
	return 0
}

// become changes this process to the account that args[2] names.
func become(args []string) error {
	who, err := run.ParseAccount(args[2])
	if err == nil {
		err = who.Become()
	}
	syscall.Umask(0o022)
	return err
}

// helper is the state of the helper process.
type helper struct {
	conn *net.UnixConn
	send sync.Mutex

	mu    sync.Mutex
	roots map[string]*os.Root
	runs  map[int64]context.CancelFunc
}

// serve answers requests until the daemon closes the socket. Each request has its own
// goroutine, so that a slow file system does not delay the answer to a ping.
func (h *helper) serve() {
	buf := make([]byte, maxPacket+1)
	for {
		var req request
		files, err := receive(h.conn, buf, &req)
		if err != nil {
			return // the end of this process kills its commands
		}
		if req.Long {
			if files, err = readLong(files, &req); err != nil {
				return
			}
		}
		switch req.Op {
		case "ping":
			h.reply(reply{ID: req.ID})
		case "cancel":
			h.cancel(req.ID)
		default:
			go h.do(req, files)
		}
	}
}

// readLong reads a long request from the first descriptor (see wire.go) and returns the other descriptors.
func readLong(files []*os.File, req *request) ([]*os.File, error) {
	if len(files) == 0 {
		return nil, errors.New("a long request without its file")
	}
	text, err := io.ReadAll(io.NewSectionReader(files[0], 0, maxText))
	files[0].Close()
	if err == nil {
		*req = request{}
		err = json.Unmarshal(text, req)
	}
	return files[1:], err
}

// reply sends a reply to the daemon, with open files.
func (h *helper) reply(r reply, files ...*os.File) {
	h.send.Lock()
	defer h.send.Unlock()
	_ = send(h.conn, r, files...) // serve notices if the daemon is gone
}

// cancel stops the command of the run request with this id, if it still runs.
func (h *helper) cancel(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.runs[id]; cancel != nil {
		cancel()
	}
}

// do executes one request and closes its files.
func (h *helper) do(req request, files []*os.File) {
	defer func() { closeAll(files) }()
	switch req.Op {
	case "run":
		h.run(req, files)
	case "stream":
		h.stream(req, files)
	case "tree":
		h.tree(req, files)
	case "usage":
		use, err := h.usage(req)
		h.reply(reply{ID: req.ID, Err: failureOf(err), Use: &use})
	default:
		f, info, err := h.act(req)
		r := reply{ID: req.ID, Err: failureOf(err), Info: info}
		if f != nil {
			defer f.Close()
			h.reply(r, f)
			return
		}
		h.reply(r)
	}
}

// run runs a command whose standard streams are the three descriptors.
func (h *helper) run(req request, files []*os.File) {
	if len(files) != 3 {
		h.reply(reply{ID: req.ID, Err: failureOf(jjm.Errorf(jjm.Busy, "run: %d streams: want 3", len(files)))})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.mu.Lock()
	h.runs[req.ID] = cancel
	h.mu.Unlock()
	out, err := run.RunFiles(ctx, run.Files{Argv: req.Argv, Dir: req.Dir, Env: req.Env, Std: [3]*os.File(files),
		Limit: req.Limit, MaxMemory: req.Memory},
		func() {
			closeAll(files) // otherwise the reader would wait until this process closes its copies
			h.reply(reply{ID: req.ID, Started: true})
		})
	h.mu.Lock()
	delete(h.runs, req.ID)
	h.mu.Unlock()
	h.reply(reply{ID: req.ID, Err: failureOf(err), Exit: out.Exit, Signal: out.Signal, Wall: out.Wall})
}

// stream copies a regular file into the descriptor. It sends two replies: one at the start with the size, and one at
// the end with the number of bytes.
func (h *helper) stream(req request, files []*os.File) {
	if len(files) != 1 {
		h.reply(reply{ID: req.ID, Err: failureOf(fmt.Errorf("stream: %d descriptors: want 1", len(files)))})
		return
	}
	f, err := rights.Regular(req.Name)
	if err != nil {
		h.reply(reply{ID: req.ID, Err: failureOf(err)})
		return
	}
	defer f.Close()
	var size int64
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	h.reply(reply{ID: req.ID, Started: true, Bytes: size})
	n, err := io.CopyBuffer(struct{ io.Writer }{files[0]}, struct{ io.Reader }{f}, make([]byte, 256<<10))
	// The reply is sent before files are closed, because a reader that reaches the end expects the reply.
	h.reply(reply{ID: req.ID, Err: failureOf(err), Bytes: n})
}

// tree writes a folder as a tar into the descriptor. It sends the same replies as stream.
func (h *helper) tree(req request, files []*os.File) {
	if len(files) != 1 {
		h.reply(reply{ID: req.ID, Err: failureOf(fmt.Errorf("tree: %d descriptors: want 1", len(files)))})
		return
	}
	t, err := tree.Open(req.Name, tree.Most{Entries: req.MaxFiles, Bytes: req.MaxBytes})
	if err != nil {
		h.reply(reply{ID: req.ID, Err: failureOf(err)})
		return
	}
	defer func() { _ = t.Close() }()
	h.reply(reply{ID: req.ID, Started: true, Bytes: t.Bytes()})
	n, err := t.Write(struct{ io.Writer }{files[0]})
	// The reply is sent before files are closed, because a reader that reaches the end expects the reply.
	h.reply(reply{ID: req.ID, Err: failureOf(err), Bytes: n})
}

// usage counts the files and bytes below a folder of an area.
func (h *helper) usage(req request) (diskuse.Use, error) {
	r, err := h.root(req.Root)
	if err != nil {
		return diskuse.Use{}, err
	}
	return diskuse.Count(r, req.Name, diskuse.Most{Bytes: req.MaxBytes, Files: req.MaxFiles, Time: req.Limit})
}

// root returns the area at path. It opens the area at the first request.
func (h *helper) root(path string) (*os.Root, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.roots[path]; r != nil {
		return r, nil
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("area %q: want an absolute path", path)
	}
	r, err := os.OpenRoot(path + "/.") // "/." prevents opening a pipe, which would wait for the pipe's other end
	if err == nil {
		h.roots[path] = r
	}
	return r, err
}

// grant sets the rights that other accounts have to a file or folder of this account.
func grant(r *os.Root, req request) error {
	flag := syscall.O_NONBLOCK
	if req.Folder {
		flag = syscall.O_DIRECTORY
	}
	f, err := r.OpenFile(req.Name, os.O_RDONLY|flag, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	err = acl.GrantOwn(f, req.Access, req.UIDs...)
	if errors.Is(err, acl.ErrUnsupported) {
		err = unix.EOPNOTSUPP // an error number, which the reply can carry
	}
	return err
}

// act executes one operation on files below an area.
func (h *helper) act(req request) (f *os.File, info *fileInfo, err error) {
	r, err := h.root(req.Root)
	if err != nil {
		return nil, nil, err
	}
	stat := func(i os.FileInfo, err error) (*os.File, *fileInfo, error) {
		if err != nil {
			return nil, nil, err
		}
		return nil, infoOf(i), nil
	}
	switch req.Op {
	case "open":
		f, err = r.OpenFile(req.Name, req.Flag, req.Perm)
	case "stat":
		return stat(r.Stat(req.Name))
	case "lstat":
		return stat(r.Lstat(req.Name))
	case "mkdir":
		err = r.Mkdir(req.Name, req.Perm)
	case "mkdirall":
		err = r.MkdirAll(req.Name, req.Perm)
	case "link":
		err = r.Link(req.Name, req.To)
	case "symlink":
		err = r.Symlink(req.Name, req.To)
	case "rename":
		err = r.Rename(req.Name, req.To)
	case "remove":
		err = r.Remove(req.Name)
	case "removeall":
		err = r.RemoveAll(req.Name)
	case "chmod":
		err = r.Chmod(req.Name, req.Perm)
	case "grant":
		err = grant(r, req)
	default:
		err = fmt.Errorf("operation %q is not known", req.Op)
	}
	return f, nil, err
}
