package conformance

import (
	"os"
	"path/filepath"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func identityChecks() []Check {
	return []Check{
		{Name: "jobs know who they are", Bearable: true, files: true, test: (*suite).identity,
			Part:   "[job] and [ids]",
			Proves: "JJM_INDEX and JJM_BATCH_ID are set, equal the report's, and the id belongs to the bulk's"},
		{Name: "odd names pass unchanged", Bearable: true, files: true, test: (*suite).oddNames,
			Part:   "[submit]",
			Proves: "blanks, quotes, variables and umlauts in arguments, folder and output names"},
		{Name: "hostile text is refused or passes unchanged", Bearable: true, files: true, test: (*suite).hostileText,
			Part:   "[submit]",
			Proves: "no argument or folder is expanded, cut or executed by the batch system: macros, newlines, colons"},
		{Name: "the environment of the daemon changes nothing", Alone: true, test: (*suite).hostileEnv,
			Proves: "variables that change the output or defaults of the commands have no effect on jjm"},
	}
}

// belongs reports whether a job's id is its bulk's id, followed by nothing or by a character that is not a digit.
func belongs(job, bulk string) bool {
	rest, ok := strings.CutPrefix(job, bulk)
	return ok && bulk != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

func (s *suite) identity() {
	b := s.shell(s.fit(3), `echo "$JJM_INDEX $JJM_BATCH_ID" > id.$JJM_INDEX.new && mv id.$JJM_INDEX.new id.$JJM_INDEX`)
	receipt := s.submit(b)
	for i, r := range s.wait(b) {
		index := string(rune('0' + i))
		words := strings.Fields(s.file("id." + index))
		if len(words) != 2 || words[0] != index || words[1] != r.ID {
			s.Errorf("job %d sees JJM_INDEX and JJM_BATCH_ID as %q, and is listed as %q", i, strings.Join(words, " "), r.ID)
		}
		if !belongs(r.ID, receipt.ID) {
			s.Errorf("the id %q of job %d is none of bulk %q", r.ID, i, receipt.ID)
		}
	}
}

// folder creates a folder with a name that is often unusual, makes it writable for all accounts, and returns its path.
func (s *suite) folder(name string) string {
	s.Helper()
	dir := s.path(name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		s.Fatalf("%v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // independent of the umask
		s.Fatalf("%v", err)
	}
	return dir
}

// printArgs is a script that writes its arguments to a file in the folder in which it
// starts.
const printArgs = `for a in "$@"; do printf '%s|' "$a"; done > 'out; put'.new && mv 'out; put'.new 'out; put'`

func (s *suite) oddNames() {
	args := []string{"two words", "", "$HOME `id` \\n", "a'b\"c", "*", "-n", "ü\tß", "%d %s", ";exit 9"}
	b := s.shell(1, printArgs, args...)
	b.Dir = s.folder("a folder, 'odd' & \"odder\" $HOME ü")
	s.submit(b)
	s.sawArgs(b, args)
}

// sawArgs checks that the job of b has written its arguments correctly.
func (s *suite) sawArgs(b adapters.Bulk, args []string) {
	s.Helper()
	if r := s.wait(b)[0]; r.State != jjm.BatchEndedOK {
		s.Errorf("in folder %q, want OK: %+v", b.Dir, r)
		return
	}
	text, err := os.ReadFile(filepath.Join(b.Dir, "out; put"))
	if want := strings.Join(args, "|") + "|"; err != nil || string(text) != want {
		s.Errorf("in folder %q the job saw %q, error %v, want %q", b.Dir, text, err, want)
	}
}

func (s *suite) hostileText() {
	ordinary := s.shell(1, "exit 0")
	s.submit(ordinary) // if this job is rejected too, the text of the other jobs is not the cause
	plain := []string{"x"}
	tests := []struct {
		what, dir string
		args      []string
	}{
		{"macros in arguments", "macros of arguments", []string{
			"%j %A_%a %x", "$(Cluster)", "$$(Name) $ENV(HOME)", "$TASK_ID", "^array_index^", "%__ID__%"}},
		{"line ends in arguments", "line ends", []string{
			"a\nb", "end\n", "\r", "#PBS -N evil", "\n#SBATCH --begin=now+1hour\n#$ -h\n"}},
		{"a long argument", "long", []string{strings.Repeat("0123456789abcdef", 1000), "\\", "\"", "'", "a\\"}},
		{"odd bytes in arguments", "odd bytes", []string{
			"\x01\x1b[2J", "\xff\xfe", "--", "-", "=", "~", "{a,b}", "!x"}},
		{"a folder's name of macros", "%j-%A-$(Process)-$TASK_ID-%d", plain},
		{"a folder's name with marks", "host:path,with=marks;touch pwned", plain},
		{"a folder's name of two lines", "two\nlines", plain},
		{"a folder's name like an option", "-n", plain},
	}
	var ran []func()
	for _, tt := range tests {
		b := s.shell(1, printArgs, tt.args...)
		b.Dir = s.folder(tt.dir)
		s.made = append(s.made, b.Tag)
		r, err := s.Adapter.Submit(s.Context(), b)
		if err != nil {
			s.wantKind(tt.what, err, jjm.Invalid)
			s.Logf("%s: refused: %v", tt.what, err)
			continue
		}
		if s.Adapter.Capabilities().TwoPhase {
			s.control(adapters.Release, refs(b, r)...)
		}
		ran = append(ran, func() { s.sawArgs(b, tt.args) })
	}
	s.wait(ordinary)
	for _, look := range ran {
		look()
	}
}

func (s *suite) hostileEnv() {
	for name, value := range map[string]string{
		"SBATCH_JOB_NAME": "x", "SBATCH_ARRAY_INX": "7-9", "SBATCH_HOLD": "1", "SQUEUE_FORMAT": "%i", "SQUEUE_STATES": "CD",
		"SQUEUE_FORMAT2": "jobid", "SQUEUE_USERS": "nobody", "SACCT_FORMAT": "jobid", "SLURM_TIME_FORMAT": "relative",
		"SLURM_JOB_ID":                  "1",
		"_CONDOR_CONDOR_Q_ONLY_MY_JOBS": "false", "_CONDOR_SCHEDD_HOST": "nowhere", "PBS_DPREFIX": "#X",
		"PBS_DEFAULT": "nowhere",
		"SGE_TASK_ID": "9", "JOB_ID": "9", "QSTAT_FORMAT": "x",
		"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "POSIXLY_CORRECT": "1", "JJM_INDEX": "77", "JJM_BATCH_ID": "77",
	} {
		s.setenv(name, value)
	}
	b := s.shell(s.fit(2), `[ "$JJM_INDEX" -lt 2 ] && [ "$JJM_BATCH_ID" != 77 ] && exit 7; exit 1`)
	s.submit(b)
	for _, r := range s.wait(b) {
		if r.State != jjm.BatchEndedFailed || r.Exit != 7 || r.Submitted == 0 || r.Ended < r.Submitted {
			s.Errorf("want FAILED, exit code 7 and its times: %+v", r)
		}
	}
}

// setenv sets a variable of this process until the end of the check, which must be Alone.
func (s *suite) setenv(name, value string) {
	s.Helper()
	old, was := os.LookupEnv(name)
	if err := os.Setenv(name, value); err != nil {
		s.Fatalf("%v", err)
	}
	s.Cleanup(func() {
		if was {
			_ = os.Setenv(name, old)
		} else {
			_ = os.Unsetenv(name)
		}
	})
}
