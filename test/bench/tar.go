package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"jjm/sandbox"
)

// tarArgs describe the content of the output tar: Files files of Bytes bytes below Root, as outputs of local jobs of
// grid job 1.
type tarArgs struct {
	Root         string
	Files, Bytes int
}

// fileName returns the path of a file below the work area.
func (a tarArgs) fileName(i int) string { return fmt.Sprintf("jobs/1/%dxxx/%d/out.dat", i/1000, i) }

const tarName = "jobs/1/output/bench.tar"

// tarrer is a child that writes the files, and then a tar that contains the files.
type tarrer struct {
	area *sandbox.Area
	args tarArgs
	sums []string
}

func (t *tarrer) close() error {
	if t.area == nil {
		return nil
	}
	return t.area.Close()
}

func (t *tarrer) answer(ctx context.Context, do string, arg func(into any) error) (any, error) {
	switch do {
	case "make":
		if err := arg(&t.args); err != nil {
			return nil, err
		}
		return nil, t.make()
	case "tar":
		var made tarred
		err := profiled("tar", func() (err error) {
			made, err = t.tar(ctx)
			return err
		})
		return made, err
	}
	return nil, fmt.Errorf("a tarrer cannot %q", do)
}

// make writes the files. Their content can be neither compressed nor deduplicated.
func (t *tarrer) make() (err error) {
	if t.area, err = sandbox.OpenArea(t.args.Root); err != nil {
		return err
	}
	source := rand.NewChaCha8([32]byte{1})
	content := make([]byte, t.args.Bytes)
	for i := range t.args.Files {
		_, _ = source.Read(content) // never fails
		sum := sha256.Sum256(content)
		t.sums = append(t.sums, hex.EncodeToString(sum[:]))
		path := filepath.Join(t.args.Root, t.args.fileName(i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// tarred is the cost of a tar.
type tarred struct {
	WallMS, CPUMS, PeakMB float64
	Bytes                 int64
}

func (t *tarrer) tar(ctx context.Context) (tarred, error) {
	began, cpu := time.Now(), processCPU()
	info, err := t.area.WriteTar(ctx, tarName, "bench", t.entries(), 0)
	if err != nil {
		return tarred{}, err
	}
	if info.Files != t.args.Files || info.Absent != 0 {
		return tarred{}, fmt.Errorf("the tar has %d files and lacks %d", info.Files, info.Absent)
	}
	made := tarred{WallMS: ms(time.Since(began)), CPUMS: ms(processCPU() - cpu), Bytes: info.Bytes}
	made.PeakMB, err = peakMB("self")
	return made, err
}

func (t *tarrer) entries() iter.Seq2[sandbox.TarEntry, error] {
	return func(yield func(sandbox.TarEntry, error) bool) {
		for i := range t.args.Files {
			e := sandbox.TarEntry{Name: fmt.Sprintf("out.1.%d.dat", i), Path: t.args.fileName(i),
				SHA256: t.sums[i], Bytes: int64(t.args.Bytes)}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// The shell commands with which the tar is compared: $1 is the tar, $2 the folder of the files. They sync the tar to
// the disk, because jjm does.
const (
	gnuTar  = `tar -cf "$1" -C "$2" --sort=none jobs && sync "$1"`
	gnuSums = `tar -cf - -C "$2" --sort=none jobs | tee "$1" | sha256sum && sync "$1"`
	gnuAll  = `find "$2" -type f -print0 | xargs -0 sha256sum >"$1.sums" && ` + gnuSums
)

// tar measures the output tar and compares it with GNU tar.
func (b *bench) tar() error {
	root, err := b.folder("tar")
	if err != nil {
		return err
	}
	out, err := b.folder("gnu")
	if err != nil {
		return err
	}
	c, err := b.child("tar")
	if err != nil {
		return err
	}
	if err := c.ask("make", tarArgs{Root: root, Files: b.size.files, Bytes: b.size.fileSize}, nil); err != nil {
		return err
	}
	runs := map[string][]tarred{}
	for range b.size.rounds {
		var ours tarred
		if err := c.ask("tar", nil, &ours); err != nil {
			return err
		}
		runs[""] = append(runs[""], ours)
		if err := os.Remove(filepath.Join(root, tarName)); err != nil {
			return err
		}
		for _, script := range []string{gnuTar, gnuSums, gnuAll} {
			theirs, err := b.gnu(script, filepath.Join(out, "gnu.tar"), root)
			if err != nil {
				return err
			}
			runs[script] = append(runs[script], theirs)
		}
	}
	_, err = c.close()
	b.tellTar(runs)
	return err
}

// gnu runs a shell command. The CPU time includes all processes of the command.
func (b *bench) gnu(script, out, root string) (tarred, error) {
	cmd := exec.CommandContext(b.ctx, "sh", "-c", script, "sh", out, root)
	var text bytes.Buffer
	cmd.Stderr = &text
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return tarred{}, fmt.Errorf("%s: %w: %s", script, err, text.Bytes())
	}
	t := tarred{WallMS: ms(time.Since(began)), CPUMS: ms(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())}
	return t, os.Remove(out)
}

func (b *bench) tellTar(runs map[string][]tarred) {
	of := func(script string, f func(tarred) float64) float64 {
		var all []float64
		for _, r := range runs[script] {
			all = append(all, f(r))
		}
		return median(all)
	}
	name := fmt.Sprintf("tar of %d files, %d MB: ", b.size.files, b.size.files*b.size.fileSize/1_000_000)
	for _, what := range []struct {
		name string
		f    func(tarred) float64
	}{{"wall", func(t tarred) float64 { return t.WallMS }}, {"CPU", func(t tarred) float64 { return t.CPUMS }}} {
		ours := of("", what.f)
		b.beside("tar", name+what.name, ours, "ms", "GNU tar", of(gnuTar, what.f), 0)
		b.beside("tar", name+what.name, ours, "ms", "GNU tar, sha256sum of the tar", of(gnuSums, what.f), 0)
		b.beside("tar", name+what.name, ours, "ms", "the same, and of each file", of(gnuAll, what.f), 1)
	}
	b.tell("tar", name+"peak memory", of("", func(t tarred) float64 { return t.PeakMB }), "MB")
}
