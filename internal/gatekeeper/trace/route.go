package trace

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
)

// Vias names the paths that a trace can take.
const Vias = "gram, blahp, arc, spool or socket"

// said is the text that the job prints.
const said = "jjm trace"

// tarName is the name by which a gatekeeper requests the tar.
const tarName = "jjm-output.tar"

// route carries out the steps of one gatekeeper's path.
type route interface {
	// installed checks the gatekeeper's scripts, and returns a text about the scripts that it found.
	installed(context.Context) (string, error)
	// requestKey returns the request key of the job.
	requestKey() string
	// submit submits the job, and returns the handle, which is the gatekeeper's name for the job.
	submit(context.Context) (jjm.Handle, error)
	// poll requests the state of the job in the same way as the gatekeeper. text describes the answer for people; over is
	// true if the answer shows that the job has ended.
	poll(context.Context) (text string, over bool, err error)
	// openTar opens the tar of the ended job at the place where the gatekeeper expects the tar. where describes this place
	// for people.
	openTar(context.Context) (r io.ReadCloser, where string, err error)
	// cancel cancels the job in the same way as the gatekeeper.
	cancel(context.Context) error
}

// routeOf returns the route for a word of Vias, or nil if the word is unknown.
func (t *tracer) routeOf(via string) route {
	switch via {
	case "socket":
		return &direct{t, t.spool}
	case "spool":
		closed := *t.spool
		closed.Socket = filepath.Join(os.DevNull, "no-socket")
		return &direct{t, &closed}
	case "blahp":
		return &blahpRoute{scripts{t, cmp.Or(t.Dir, "/usr/libexec/blahp"), patience}}
	case "arc":
		return &arcRoute{scripts{t, cmp.Or(t.Dir, "/usr/share/arc"), arcPatience}}
	case "gram":
		return &gramRoute{scripts{t, cmp.Or(t.Dir, "/usr/share/globus"), patience}}
	}
	return nil
}

// checkTar reads the tar to its end.
func (t *tracer) checkTar(ctx context.Context) (string, error) {
	r, where, err := t.openTar(ctx)
	if err == nil {
		var files int
		files, err = count(r)
		err = errors.Join(err, r.Close())
		if err == nil && files > 0 {
			return fmt.Sprintf("%s has %s", where, jjm.Count(files, "file")), nil
		}
		err = cmp.Or(err, errors.New("it has no files"))
	}
	return "", &Fault{Tried: "read the tar", On: where, Text: err.Error(),
		Remedy: "jjm log ID after a run with --keep tells whether it was made; its folder must be writable by the account"}
}

// count reads a tar to its end and returns the number of its members.
func count(r io.Reader) (files int, err error) {
	for in := tar.NewReader(r); ; files++ {
		if _, err = in.Next(); errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r)
			return files, err
		}
		if err != nil {
			return files, err
		}
	}
}

// direct is the route of a trace that uses no scripts. It sends requests to the daemon's socket. If the socket of its
// client does not exist, the client writes the requests to the daemon's spool instead.
type direct struct {
	t      *tracer
	client *gatekeeper.Client
}

func (d *direct) installed(context.Context) (string, error) { return "no script is needed", nil }

func (d *direct) requestKey() string { return d.t.key }

func (d *direct) submit(ctx context.Context) (jjm.Handle, error) {
	spec := map[string]any{"type": "script", "name": "trace", "params": map[string]any{"command": []string{"/bin/echo",
		said}}}
	if d.t.Cluster != "" {
		spec["clusters"] = []string{d.t.Cluster}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	r, err := d.client.Submit(ctx, gatekeeper.Job{Name: "trace.json", Text: string(text), BaseDir: d.t.folder,
		Key: d.t.key, Origin: &jjm.Origin{Gatekeeper: "trace"}})
	if err != nil {
		return "", &Fault{Tried: "submit a job", On: d.client.Socket, Text: err.Error(),
			Remedy: "jjm health tells whether the site is well, jjm submit --dry-run FILE what is wrong with a job file"}
	}
	return r.Handle, nil
}

func (d *direct) poll(ctx context.Context) (text string, over bool, err error) {
	l := d.t.spool.Lookup(ctx, string(d.t.handle))[0]
	if l.Error != nil {
		return "", false, &Fault{Tried: "look the job up", On: string(d.t.handle), Text: l.Error.Text}
	}
	return fmt.Sprintf("lookup reports %s, exit code %d", l.Status, l.Exit), gatekeeper.Final(l), nil
}

func (d *direct) openTar(ctx context.Context) (io.ReadCloser, string, error) {
	id := d.t.seen.Lookup.ID.String()
	_, r, err := client.Open(ctx, d.t.daemon, wire.VerbOutput(), wire.OutputRequest{One: wire.OneRef(id)})
	return r, cmp.Or(d.t.seen.Lookup.Tar, "the tar of grid job "+id), err
}

func (d *direct) cancel(ctx context.Context) error {
	if e := d.t.spool.Kill(ctx, string(d.t.handle))[0].Error; e != nil && e.Kind != jjm.Gone {
		return &Fault{Tried: "kill the job", On: string(d.t.handle), Text: e.Text, Remedy: "jjm kill " + string(d.t.handle)}
	}
	return nil
}
