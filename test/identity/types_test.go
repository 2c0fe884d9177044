package identity_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"jjm/internal/testkit/site"
)

// askedProgram is the program of a type. Its plan contains the input of the program. It runs until the file "go"
// exists, and writes down how many such programs run for its account. It counts only files whose process exists,
// because a program that is killed at its time limit leaves its file behind.
const askedProgram = `#!/bin/sh
read -r request
case $request in *'"describe"'*)
	echo '{"protocol": 1, "summary": "x", "example": "type = \"asked\""}'; exit
esac
open=$(for f in /proc/$$/fd/*; do readlink "$f"; done | paste -sd' ' -)
mine=FOLDER/$(id -u)
mkdir -p "$mine" && : >"$mine/$$"
until [ -e FOLDER/go ]; do sleep 0.1; done
alive=0
for f in "$mine"/*; do
	if [ -d "/proc/${f##*/}" ]; then alive=$((alive + 1)); fi
done
echo "$alive" >>FOLDER/at-once
rm "$mine/$$"
printf '{"plan": {"rows": [["a"]], "command": ["echo"], "why": ["I am %s", "environment: %s", "open: %s", "in %s"]}}\n' \
	"$(id -un):$(id -gn):$(id -Gn)" "$(env | sort | paste -sd' ' -)" "$open" "$(pwd)"
`

// The program of a type runs as the owner of the job file that it plans, and inherits nothing from the daemon. At most
// two programs run simultaneously for an account, and no account waits for the programs of another account.
func TestTypes_AProgramRunsAsTheOwnerWithNothingOfTheDaemons(t *testing.T) {
	t.Parallel()
	alice, bob := site.Account(t), site.Account(t)
	folder, err := os.MkdirTemp("/var/tmp", "jjmtypes")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	scratch := filepath.Join(folder, "scratch")
	put := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("asked.toml", "name = \"asked\"\nprogram = \"asked.sh\"\n", 0o644)
	put("asked.sh", strings.ReplaceAll(askedProgram, "FOLDER", scratch), 0o755)
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	held, err := os.Create(filepath.Join(folder, "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	s := house{site.New(t, &bin, site.Settings{RunAs: asOwner, Clusters: site.Local,
		Open: slices.Repeat([]*os.File{held}, 20),
		Top:  "job_types = \"" + folder + "\""})}
	s.Must(os.Mkdir(scratch, 0o777))
	s.Must(os.Chmod(scratch, 0o777))

	var all sync.WaitGroup
	said := make([]string, 6)
	for i := range said {
		p := alice
		if i == len(said)-1 {
			p = bob
		}
		file := filepath.Join(s.Home(p), "asked"+strconv.Itoa(i)+".toml") // a new file that no program has read
		s.Must(os.WriteFile(file, []byte("type = \"asked\"\n"), 0o644))
		all.Go(func() { said[i] = planned(s, p, file) })
	}
	count := func(p site.Person) (alive int) {
		files, _ := filepath.Glob(filepath.Join(scratch, strconv.Itoa(p.UID), "*"))
		for _, f := range files {
			if _, err := os.Stat(filepath.Join("/proc", filepath.Base(f))); err == nil {
				alive++
			}
		}
		return alive
	}
	s.Until("two run for alice, and one for bob", func() bool { return count(alice) == 2 && count(bob) == 1 })
	s.Must(os.WriteFile(filepath.Join(scratch, "go"), nil, 0o644))
	all.Wait()
	noted, err := os.ReadFile(filepath.Join(scratch, "at-once"))
	if err != nil || strings.Trim(string(noted), "12\n") != "" {
		t.Errorf("programs that ran at once for an account: %q, %v", noted, err)
	}
	for _, want := range []string{"I am " + bob.Name + ":" + bob.Name + ":" + bob.Name, "in " + folder,
		"environment: HOME=/nonexistent LANG=C.UTF-8 LOGNAME=" + bob.Name + " PATH=/usr/local/bin:/usr/bin:/bin PWD=" +
			folder +
			" USER=" + bob.Name + "\n"} {
		if !strings.Contains(said[len(said)-1], want) {
			t.Errorf("no %q in\n%s", want, said[len(said)-1])
		}
	}
	_, open, _ := strings.Cut(said[len(said)-1], "open: ")
	open, _, _ = strings.Cut(open, "\n")
	request := "/memfd:jjm (deleted)" // the name of the program's standard input
	for _, f := range strings.Fields(strings.ReplaceAll(open, request, "")) {
		if !strings.HasPrefix(f, "pipe:") && f != "/dev/null" && f != filepath.Join(folder, "asked.sh") {
			t.Errorf("it has %s open, all: %s", f, open)
		}
	}
	if !strings.Contains(open, request) {
		t.Errorf("its standard input is something else: %s", open)
	}
}

// planned returns the output of a dry run. It repeats the dry run while the programs of the account exceed their time
// limit, or wait for a place, because a slow machine needs longer to start the programs of all accounts.
func planned(s house, p site.Person, file string) string {
	for {
		out, err := s.JJM(p, "submit", "--dry-run", file)
		busy := err != nil && (strings.Contains(err.Error(), "it did not end within 20 s") ||
			strings.Contains(err.Error(), "programs of job types run for "+p.Name+" already"))
		if !busy {
			if err != nil {
				s.T.Error(err)
			}
			return out
		}
	}
}
