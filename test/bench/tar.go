package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"jjm/sandbox"
)

// TarArgs describe the content of the output tar: Files files of Bytes bytes below Root, as outputs of local jobs of
// grid job 1.
type TarArgs struct {
	Root         string
	Files, Bytes int
}

// fileName returns the path of a file below the work area.
func (a TarArgs) fileName(i int) string { return fmt.Sprintf("jobs/1/%dxxx/%d/out.dat", i/1000, i) }

const tarName = "jobs/1/output/bench.tar"

// Tarrer writes the files, and then a tar that contains the files.
type Tarrer struct {
	args TarArgs
	sums []string
}

// Make writes the files. Their content can be neither compressed nor deduplicated.
func (t *Tarrer) Make(args TarArgs, _ *int) error {
	return try(func() {
		t.args = args
		source, content := rand.NewChaCha8([32]byte{1}), make([]byte, args.Bytes)
		for i := range args.Files {
			_, _ = source.Read(content) // it never fails
			sum := sha256.Sum256(content)
			t.sums = append(t.sums, hex.EncodeToString(sum[:]))
			path := filepath.Join(args.Root, args.fileName(i))
			check(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)))
		}
	})
}

// Tarred is the cost of a tar.
type Tarred struct{ WallMS, CPUMS, PeakMB float64 }

// Tar writes the tar.
func (t *Tarrer) Tar(_ int, made *Tarred) error {
	return try(func() {
		area := must(sandbox.OpenArea(t.args.Root))
		began, cpu := time.Now(), processCPU()
		info := must(area.WriteTar(context.Background(), tarName, "bench", t.entries, 0))
		*made = Tarred{ms(time.Since(began)), ms(processCPU() - cpu), peakMB("self")}
		if info.Files != t.args.Files || info.Absent != 0 {
			check(fmt.Errorf("the tar has %d files and lacks %d", info.Files, info.Absent))
		}
		check(area.Close())
	})
}

// entries yields the entries of the tar.
func (t *Tarrer) entries(yield func(sandbox.TarEntry, error) bool) {
	for i := range t.args.Files {
		e := sandbox.TarEntry{Name: fmt.Sprintf("out.1.%d.dat", i), Path: t.args.fileName(i), SHA256: t.sums[i],
			Bytes: int64(t.args.Bytes)}
		if !yield(e, nil) {
			return
		}
	}
}

// gnuTars returns the shell commands with which the tar is compared: $1 is the tar, $2 the folder of the files. They
// sync the tar to the disk, because jjm does. The last one does the same work as jjm.
func gnuTars() []struct{ name, command string } {
	const sums = `tar -cf - -C "$2" --sort=none jobs | tee "$1" | sha256sum && sync "$1"`
	return []struct{ name, command string }{
		{"GNU tar", `tar -cf "$1" -C "$2" --sort=none jobs && sync "$1"`},
		{"GNU tar, sha256sum of the tar", sums},
		{"the same, and of each file", `find "$2" -type f -print0 | xargs -0 sha256sum >"$1.sums" && ` + sums},
	}
}

// tar measures the output tar and compares it with GNU tar.
func tar(b *bench) {
	root, out, s := must(os.MkdirTemp(b.dir, "tar-")), filepath.Join(b.dir, "gnu.tar"), series{}
	b.inChild(func(c *rpc.Client) {
		ask[int](c, "Tarrer.Make", TarArgs{Root: root, Files: b.size.files, Bytes: b.size.fileSize})
		for range b.size.rounds {
			t := ask[Tarred](c, "Tarrer.Tar", 0)
			check(os.Remove(filepath.Join(root, tarName)))
			s.add("wall", t.WallMS)
			s.add("CPU", t.CPUMS)
			s.add("peak", t.PeakMB)
			for _, gnu := range gnuTars() {
				_, c := spend(exec.CommandContext(b.ctx, "sh", "-c", gnu.command, "sh", out, root))
				s.add(gnu.name+"wall", c.wall)
				s.add(gnu.name+"CPU", c.cpu)
				check(os.Remove(out))
			}
		}
	})
	name := fmt.Sprintf("tar of %d files, %d MB: ", b.size.files, b.size.files*b.size.fileSize/1_000_000)
	for _, what := range []string{"wall", "CPU"} {
		for i, gnu := range gnuTars() {
			b.beside(name+what, s.median(what), "ms", gnu.name, s.median(gnu.name+what), float64(i/2)) // the last: at most 1
		}
	}
	b.tell(name+"peak memory", s.median("peak"), "MB")
}
