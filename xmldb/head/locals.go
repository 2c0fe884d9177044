package head

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"jjm/internal/jjm"
)

// ShardSize is the number of local jobs in a shard.
const ShardSize = 1000

// MaxShard is the largest number of bytes that are read of a shard: twice the size of 1000 local jobs with the largest
// additions by others.
const MaxShard = 128 << 20

// ShardFile returns the name of a shard within the folder of its grid job.
func ShardFile(n int) string { return fmt.Sprintf("jobs-%04d.xml", n) }

// Locals reads the local jobs that ref selects, in order, and returns at most limit of them. It omits local jobs that
// the record does not have, and sets only the fields that the record has. The errors have the same kinds as those of
// Read, except that a missing record is no error.
func Locals(dir string, ref jjm.Ref, limit int) ([]jjm.LocalJob, error) {
	var out []jjm.LocalJob
	for n := int(ref.First) / ShardSize; ref.Last < 0 || n <= int(ref.Last)/ShardSize; n++ {
		path := filepath.Join(dir, ref.Grid.String(), ShardFile(n))
		err := readShard(path, func(l jjm.LocalJob) bool {
			if l.ID.Grid == ref.Grid && ref.Has(l.ID.N) {
				out = append(out, l)
			}
			return len(out) < limit
		})
		if kind(err) == jjm.Gone || len(out) >= limit {
			break
		}
		if err != nil {
			return nil, jjm.Errorf(kind(err), "read local jobs of grid job %d: %s: %w", ref.Grid, path, err)
		}
	}
	return out, nil
}

// readShard calls fn for each local job of a shard until fn returns false.
func readShard(path string, fn func(jjm.LocalJob) bool) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	p := parser{d: xml.NewDecoder(io.LimitReader(f, MaxShard))}
	return p.shard(fn)
}

// errEnough stops the reading of a shard when the caller needs no more local jobs.
var errEnough = errors.New("enough")

// shard reads a document whose root is localjobs.
func (p *parser) shard(fn func(jjm.LocalJob) bool) error {
	if _, err := p.start("localjobs"); err != nil {
		return err
	}
	err := p.children(func(e xml.StartElement) error {
		if e.Name.Local != "localjob" {
			return p.d.Skip()
		}
		l, err := p.localJob(e)
		switch {
		case err != nil:
			return err
		case p.err != nil:
			return p.err
		case !fn(l):
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// localJob reads a local job to its end.
func (p *parser) localJob(e xml.StartElement) (jjm.LocalJob, error) {
	l := p.localAttrs(attrs(e))
	err := p.children(func(e xml.StartElement) error {
		a := attrs(e)
		switch e.Name.Local {
		case "message":
			return p.text(&l.Message)
		case "progress":
			l.Progress = jjm.Progress{Phase: a["phase"], Done: p.int(a, "progress", "done"),
				Total: p.int(a, "progress", "total")}
		case "part":
			l.Part = jjm.Part{Unit: a["unit"], First: p.int(a, "part", "first"), Count: p.int(a, "part", "count"),
				Serial: p.int(a, "part", "serial")}
			return p.children(func(arg xml.StartElement) error {
				if arg.Name.Local != "arg" {
					return p.d.Skip()
				}
				var word string
				err := p.text(&word)
				l.Part.Args = append(l.Part.Args, word)
				return err
			})
		}
		return p.d.Skip()
	})
	return l, err
}

// localAttrs reads the attributes of a local job.
func (p *parser) localAttrs(a map[string]string) jjm.LocalJob {
	const at = "localjob"
	id, err := jjm.ParseRef(a["id"])
	if err != nil || !id.Locals || id.First != id.Last {
		p.fail(fmt.Errorf("attribute id of %s: %.40q is not one local job", at, a["id"]))
	}
	l := jjm.LocalJob{ID: jjm.LocalID{Grid: id.Grid, N: id.First}, Phase: jjm.Phase(a["phase"]),
		Attempt: p.int32(a, at, "attempt"), BatchID: a["batch"], Host: a["host"],
		Submitted: p.time(a, at, "submitted"), Started: p.time(a, at, "started"), Ended: p.time(a, at, "ended"),
		Exit: -1, Tag: jjm.Tag(a["tag"]), Pos: p.int32(a, at, "pos"), NotBefore: p.time(a, at, "notBefore"),
		Kill: a["kill"] == "true", Cluster: a["cluster"], Step: p.int32(a, at, "step"),
		Counters: jjm.Counters{Early: int(p.int(a, at, "early")), LateHandled: int(p.int(a, at, "lateHandled")),
			LateUnhandled: int(p.int(a, at, "lateUnhandled"))},
		Again: jjm.Again{Times: int(p.int(a, at, "resubmitted")), Stopped: a["notResubmitted"]}}
	if err := l.State.UnmarshalText([]byte(a["state"])); err != nil {
		p.fail(fmt.Errorf("attribute state of %s: %w", at, err))
	}
	if a["exit"] != "" {
		l.Exit = int(p.int(a, at, "exit"))
	}
	if a["at"] != "" {
		l.Waits = &jjm.Waiting{Reason: a["waits"], Hold: a["hold"], Starts: p.time(a, at, "starts"), Source: a["said"],
			At: p.time(a, at, "at")}
	}
	if a["heldBy"] != "" {
		l.Holding = &jjm.Holding{By: a["heldBy"], Since: p.time(a, at, "heldSince")}
	}
	return l
}
