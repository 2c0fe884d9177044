package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"jjm/sandbox"
)

// leftovers creates, in a folder, one file of each kind that an application can leave behind and that could block a
// reader. It returns the paths by kind. It creates devices only if the test runs as root.
func leftovers(t *testing.T, dir string) map[string]string {
	t.Helper()
	kinds := map[string]string{}
	at := func(kind string) string {
		kinds[kind] = filepath.Join(dir, strings.ReplaceAll(kind, " ", "-"))
		return kinds[kind]
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("a socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetUnlinkOnClose(false)
	err = errors.Join(socket.Close(), syscall.Mkfifo(at("a pipe"), 0o600), os.Mkdir(at("a folder"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "far"), 0o600), os.Symlink(filepath.Join(dir, "far"), at("a link to a pipe")),
		os.Symlink("loop-a", at("a link loop")), os.Symlink("/dev/zero", at("a link to a device")))
	if os.Geteuid() == 0 {
		err = errors.Join(err, unix.Mknod(at("a device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5)))) // null(4): zero
	}
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// The wrapper opens several files after the end of the application. If the application puts a pipe or a device in the
// place of one of these files, this does not block the wrapper, and the wrapper reports how the attempt ended.
func TestLeftovers_NoneBlocksTheWrapper(t *testing.T) {
	places := map[string]struct {
		script string // $1 is the file
		set    func(s *site)
	}{
		"among outputs":         {`mv "$1" x`, func(s *site) { s.job.Outputs = []string{"*", "x"} }},
		"in a pattern's folder": {`mv "$1" x`, func(s *site) { s.job.Outputs = []string{"*/*", "x/*", "*/*/y"} }},
		"named by SUCCEEDED":    {`mv "$1" x; "$GBS_LOG" SUCCEEDED x`, func(*site) {}},
		"named by RETURN_FILE":  {`"$GBS_LOG" RETURN_FILE "$1"`, func(*site) {}},
		"in place of work": {`cd ..; rm -r work; mv "$1" work`,
			func(s *site) { s.job.Outputs = []string{"*/*", "x"} }},
		"in place of the log":      {`rm ../job.glf; mv "$1" ../job.glf`, func(s *site) { s.as[0].Log = true }},
		"in place of stdout":       {`rm ../stdout; mv "$1" ../stdout`, func(s *site) { s.as[0].Log = true }},
		"in place of the log file": {`mv "$1" ../log.tgz`, func(s *site) { s.as[0].Log = true }},
		"in place of the heartbeat": {`rm -f ../heartbeat; mv "$1" ../heartbeat`,
			func(*site) {}},
		"in place of the type's question": {`mv "$1" ../analyse.json`,
			func(s *site) { s.as[0].Analyse = []string{"/bin/sh", "-c", "cat >/dev/null; echo {}"} }},
		"in place of the type's complaints": {`mv "$1" ../analyse.stderr`,
			func(s *site) { s.as[0].Analyse = []string{"/bin/sh", "-c", "cat >/dev/null; exit 1"} }},
		"in place of returned": {`mv "$1" ../returned; echo >../y; "$GBS_LOG" RETURN_FILE /etc/hostname`, func(*site) {}},
		"in place of progress": {`mv "$1" "$JJM_AREA/bulks/` + string(testTag) + `/progress/0"`, func(*site) {}},
		"in place of what it adds to the record": {
			`mv "$1" "$JJM_AREA/bulks/` + string(testTag) + `/fragments/0"`, func(*site) {}},
		"in place of the result": {`mv "$1" "$JJM_AREA/bulks/` + string(testTag) + `/done/.tmp-x"`, func(*site) {}},
	}
	for place, p := range places {
		for kind := range leftovers(t, t.TempDir()) {
			t.Run(kind+" "+place, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, "")
				s.as[0].Argv = []string{"/bin/sh", "-c", p.script, "sh", leftovers(t, t.TempDir())[kind]}
				p.set(s)
				s.run(exitOK)
				if r := s.result(); r.Ended == 0 {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// On a worker that does not see the work area, files that the application leaves behind do not block the wrapper
// either.
func TestLeftovers_NoneBlocksTheParcel(t *testing.T) {
	for kind := range leftovers(t, t.TempDir()) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			s.as[0].Argv = []string{"/bin/sh", "-c", `mv "$1" "$JJM_AREA/../` + sandbox.ParcelName + `"`, "sh",
				leftovers(t, t.TempDir())[kind]}
			s.carried(exitOK, s.bringAll)
			if r, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0); err != nil || r == nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// The wrapper follows relative and absolute links that stay within the job's folder. For a link that leads out of it,
// the result has the reason why the file is left out.
func TestLinks_ThatStayInsideAreFollowed(t *testing.T) {
	const out = "a symbolic link leads out of the job's directory"
	for name, c := range map[string]struct {
		script   string
		patterns []string
		want     []string
	}{
		"absolute": {`echo real >real.txt; ln -s "$PWD/real.txt" abs.txt`, []string{"*.txt"},
			[]string{"work/abs.txt 5", "work/real.txt 5"}},
		"by the home":            {`echo real >r; ln -s "$GBS_HOME/r" a`, []string{"a"}, []string{"work/a 5"}},
		"by the path of getcwd":  {`echo real >r; ln -s "$(pwd -P)/r" a`, []string{"a"}, []string{"work/a 5"}},
		"through several":        {`echo real >r; ln -s "$PWD/r" a; ln -s "$PWD/a" b; ln -s b c`, []string{"c"}, []string{"work/c 5"}},
		"of a folder":            {`mkdir d; echo real >d/r; ln -s "$PWD/d" e`, []string{"e/*"}, []string{"work/e/r 5"}},
		"of a folder, to a name": {`mkdir d; echo real >d/r; ln -s "$PWD/d" e`, []string{"e/r"}, []string{"work/e/r 5"}},
		"from a deep folder": {`mkdir -p d/e; echo real >r; ln -s "$PWD/r" d/e/a`, []string{"*/e/a"},
			[]string{"work/d/e/a 5"}},
		"beside work": {`echo real >../r; ln -s "$(dirname "$PWD")/r" a`, []string{"a"}, []string{"work/a 5"}},
		"named by SUCCEEDED": {`echo real >r; ln -s "$PWD/r" a; "$GBS_LOG" SUCCEEDED a`, nil,
			[]string{"work/a 5"}},
		"named by RETURN_FILE": {`echo real >r; ln -s "$PWD/r" a; "$GBS_LOG" RETURN_FILE "$PWD/a"`, nil,
			[]string{"work/a 5"}},
		"to a missing file": {`ln -s "$PWD/r" a`, []string{"a"}, []string{"work/a: missing"}},
		"to a pipe": {`mkfifo p; ln -s "$PWD/p" a`, []string{"a"},
			[]string{"work/a: is a fifo, not a regular file"}},
		"to itself":             {`ln -s "$PWD/a" a`, []string{"a"}, []string{"work/a: too many levels of symbolic links"}},
		"out":                   {`ln -s /etc/passwd a`, []string{"*"}, []string{"work/a: " + out}},
		"out of a folder":       {`ln -s /etc a`, []string{"a/*"}, []string{"work/a: " + out}},
		"out behind one inside": {`ln -s /etc/passwd b; ln -s "$PWD/b" a`, []string{"a"}, []string{"work/a: " + out}},
		"to a folder's neighbour": {`mkdir "$PWD-2"; echo >"$PWD-2/x"; ln -s "$JJM_AREA/jobs" a`, []string{"a"},
			[]string{"work/a: " + out}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real := filepath.Join(t.TempDir(), "real")
			linked := real + ".link"
			if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, linked)); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{t.TempDir(), linked} {
				s := newSiteAt(t, dir, c.script)
				s.as[0].Outputs = c.patterns
				s.run(exitOK)
				if diff := cmp.Diff(c.want, summary(s.result().Outputs)); diff != "" {
					t.Errorf("outputs (-want +got):\n%s", diff)
				}
				collectable(t, s)
			}
		})
	}
}

// collectable requires that the daemon can also open the files that the wrapper collected.
func collectable(t *testing.T, s *site) {
	t.Helper()
	for _, o := range s.result().Outputs {
		var entries []sandbox.TarEntry
		if o.Absent == "" {
			p, err := sandbox.OutputPath(s.as[0].AttemptID(), o.Name)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, sandbox.TarEntry{Name: "x", Path: p, SHA256: o.SHA256, Bytes: o.Bytes})
		}
		info, err := s.area.WriteTar(t.Context(), fmt.Sprintf("tar-%s", t.Name()[len("TestLinks"):][:1]), "p", func(
			yield func(sandbox.TarEntry, error) bool) {
			for _, e := range entries {
				yield(e, nil)
			}
		}, 0)
		if err != nil || info.Absent != 0 || info.Files != len(entries) {
			t.Errorf("the tar of %s: %+v, %v", o.Name, info, err)
		}
	}
}

// The search for a pattern stops with an error if links multiply the names without end, or if no time is left.
func TestGlob_OfFoldersThatLinksMultiplyIsGivenUp(t *testing.T) {
	s := newSite(t, `i=0; while [ $i -lt 100 ]; do ln -s . l$i; i=$((i+1)); done`)
	s.job.Outputs = []string{"*/*/*/*/*"}
	s.run(exitOK)
	r := s.result()
	if len(r.Unmet) != 1 || !strings.HasPrefix(r.Unmet[0].Why, "more than ") {
		t.Errorf("%+v", r.Unmet)
	}
}
