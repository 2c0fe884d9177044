package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// leave writes a fragment of a record into the drop folder, as a program outside of jjm does. The file belongs to the
// account uid.
func (w *world) leave(name, text string, uid int) {
	w.t.Helper()
	tmp := filepath.Join(w.dir, "drop", "."+name)
	w.must(os.WriteFile(tmp, []byte(text), 0o644))
	if uid != os.Getuid() {
		w.must(os.Chown(tmp, uid, -1))
	}
	w.must(os.Rename(tmp, filepath.Join(w.dir, "drop", name)))
}

// foreign returns an account and another account's user, about whose job the first account leaves a fragment. If the
// test does not run as root, it cannot give files to another account; the first account is then the test's own, and the
// other is bob.
func foreign() (uid int, victim callerOf) {
	if os.Getuid() == 0 {
		return 70002, alice
	}
	return os.Getuid(), bob
}

func TestFragment_OfTheOwnerStaysInTheRecord(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		w.leave("a.xml", fmt.Sprintf(`<fragment job="%s.1"><detector done="117" total="250">d0gstar</detector></fragment>`,
			id), os.Getuid())
		w.leave("b.xml", fmt.Sprintf(`<fragment job="%s"><campaign name="run II"/></fragment>`, id), os.Getuid())
		w.pass(time.Minute)
		shows := func(when string) {
			t.Helper()
			for path, want := range map[string]string{
				"//localjob[@id='" + id.String() + ".1']/detector/@done": "117",
				"//campaign/@name": "run II",
			} {
				got, err := w.records.Query(id, path)
				if err != nil || !slices.Equal(got, []string{want}) {
					t.Errorf("%s: %s is %q, %v; want %s", when, path, got, err, want)
				}
			}
		}
		shows("at first")
		if left, _ := filepath.Glob(filepath.Join(w.dir, "drop", "*.xml")); len(left) > 0 {
			t.Errorf("still in the drop folder: %v", left)
		}
		w.progress(w.locals(id)[1], "d0gstar", 1, 2) // this progress makes the daemon write the shard again
		w.pass(time.Minute)
		shows("after rewriting")
		w.reopen()
		w.pass(time.Minute)
		shows("after a restart")
		w.final(time.Hour, id)
		shows("at the end")
		w.verify(id, done(3))
		if files, err := tarFiles(w.tarBytes(id)); err != nil ||
			!strings.Contains(files["mc/record/jobs-0000.xml"], `done="117"`) {
			t.Errorf("the tar's record lacks the fragment: %v", err)
		}
		w.verifyQuiet()
	})
}

func TestFragment_LeftWhileTheDaemonWasDownIsTaken(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		w.running(id, 1)
		w.shut()
		w.leave("a.xml", fmt.Sprintf(`<fragment job="%s.0"><note>late</note></fragment>`, id), os.Getuid())
		w.open()
		w.pass(time.Minute)
		if got, err := w.records.Query(id, "//localjob/note"); err != nil || len(got) != 1 {
			t.Errorf("%q, %v", got, err)
		}
		w.final(time.Hour, id)
	})
}

func TestFragment_AnInvalidOneIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	uid, victim := foreign()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(victim, mc(2))
		w.until(10*time.Minute, "running", func() bool { return w.lookup(id).Counts.Running == 2 })
		bad := map[string]string{
			"theirs.xml": `<fragment job="1.0"><evil/></fragment>`,
			"gone.xml":   `<fragment job="99"><evil/></fragment>`,
			"beyond.xml": `<fragment job="1.2"><evil/></fragment>`,
			"core.xml":   `<fragment job="1.0"><localjob id="1.0" state="completed"/></fragment>`,
			"bomb.xml":   `<!DOCTYPE f [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><fragment job="1.0"><evil>&b;</evil></fragment>`,
			"deep.xml": `<fragment job="1.0">` + strings.Repeat("<evil>", 5000) + strings.Repeat("</evil>", 5000) +
				`</fragment>`,
			"garbage.xml": "not XML at all \x00",
			"large.xml":   `<fragment job="1.0"><evil>` + strings.Repeat("x", 1<<20) + `</evil></fragment>`,
		}
		for name, text := range bad {
			w.leave(name, strings.ReplaceAll(text, `"1.`, `"`+id.String()+`.`), uid)
		}
		w.pass(time.Minute)
		for name := range bad {
			why, err := os.ReadFile(filepath.Join(w.dir, "drop", "refused", name+".why"))
			if err != nil || len(why) < 10 {
				t.Errorf("%s: reason %q, %v", name, why, err)
			}
		}
		if why, _ := os.ReadFile(filepath.Join(w.dir, "drop", "refused", "theirs.xml.why")); !strings.Contains(string(why),
			"belongs to "+victim.User) {
			t.Errorf("reason of the foreign one: %q", why)
		}
		got, err := w.engine.Record(context.Background(), callerOf{Admin: true}, id, "//evil")
		if err != nil || len(got) != 0 {
			t.Errorf("in the record: %q, %v", got, err)
		}
		w.final(time.Hour, id)
		w.verify(id, done(2))
	})
}

func TestFragment_OfAFinishedGridJobIsRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		w.final(time.Hour, id)
		w.leave("a.xml", fmt.Sprintf(`<fragment job="%s.0"><note>late</note></fragment>`, id), os.Getuid())
		w.pass(time.Minute)
		if _, err := os.Stat(filepath.Join(w.dir, "drop", "refused", "a.xml.why")); err != nil {
			t.Error(err)
		}
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 1})
	})
}

// The drop folder is removed. The daemon creates and opens it again, and takes fragments from the new folder.
func TestDrop_AReplacedFolderIsOpenedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		w.running(id, 1)
		w.must(os.RemoveAll(filepath.Join(w.dir, "drop")))
		w.until(time.Minute, "the folder again", func() bool {
			_, err := os.Stat(filepath.Join(w.dir, "drop", "refused"))
			return err == nil
		})
		w.leave("a.xml", fmt.Sprintf(`<fragment job="%s"><campaign name="run II"/></fragment>`, id), os.Getuid())
		w.until(time.Minute, "the fragment in the record", func() bool {
			got, err := w.records.Query(id, "//campaign/@name")
			return err == nil && slices.Equal(got, []string{"run II"})
		})
	})
}
