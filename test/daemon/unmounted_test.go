package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/needs"
)

// TestUnmounted_AWorkAreaIsToldAndFailsNothing: the work area is unmounted under the daemon while one local job runs
// and others wait in the embedded batch system. When a slot is free, no job starts without the work area, because each
// start would fail with 127. All jobs continue when the work area is mounted again.
func TestUnmounted_AWorkAreaIsToldAndFailsNothing(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to mount a file system")
	dir := shortDir(t)
	work, kept := filepath.Join(dir, "work"), filepath.Join(dir, "kept")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(work, 0o755))
	must(os.Mkdir(kept, 0o755))
	needs.Tmpfs(t, kept, "size=64m,mode=755")
	mount := func() { t.Helper(); must(unix.Mount(kept, work, "", unix.MS_BIND, "")) }
	unmount := func() { t.Helper(); must(unix.Unmount(work, unix.MNT_DETACH)) }
	mount()
	t.Cleanup(func() { _ = unix.Unmount(work, unix.MNT_DETACH) })
	d := start(t, onWork(work)+"[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 1\n")
	file := filepath.Join(d.dir, "go")
	d.write("job.toml", strings.NewReplacer("count = 1", "count = 3", `"true"`,
		`"/bin/sh", "-c", "until test -e `+file+`; do sleep 0.1; done"`).Replace(quickJob))
	if out, code := d.says("submit", "job.toml"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	status := func() string {
		out, _ := d.says("status", "1", "--json")
		return strings.Join(strings.Fields(out), "")
	}
	d.eventually("one runs and the others wait", func() bool {
		out := status()
		return strings.Contains(out, `"running":1`) && strings.Contains(out, `"submitted":2`)
	})
	unmount()
	d.logs("the work area was replaced: " + work)
	if out, _ := d.says("clusters"); !strings.Contains(out, "the work area was replaced: "+work) {
		t.Errorf("jjm clusters says nothing:\n%s", out)
	}
	if out, code := d.says("submit", "job.toml"); code == 0 {
		t.Errorf("new work is taken:\n%s", out)
	}
	if out, code := d.says("kill", "1.0"); code != 0 { // this frees the slot
		t.Errorf("exit %d\n%s", code, out)
	}
	d.eventually("its end", func() bool {
		return !strings.Contains(status(), `"running":1`)
	})
	d.logs("about=\"starting jobs\"")
	mount()
	d.logs("what was lost is back")
	must(os.WriteFile(file, nil, 0o600))
	d.eventually("the others are completed", func() bool {
		return strings.Contains(status(), `"completed":2`)
	})
	if out, _ := d.says("history", "1"); strings.Contains(out, "127") || strings.Contains(out, "attempt 1") {
		t.Errorf("a start failed meanwhile:\n%s", out)
	}
}
