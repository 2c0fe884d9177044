package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Jobs end with the states, substates and exit codes that were recorded on OpenPBS 23.06.06 (recordings exit_statuses,
// mem_enforced and unauth_user).
func TestEnds_AreThoseOfTheTable(t *testing.T) {
	tests := []struct{ name, qsub, script, then, want string }{
		{"ok", "", "exit 0", "", "F 92 0"},
		{"exit 7", "", "exit 7", "", "F 93 7"},
		{"signal 11", "", "ulimit -c 0; kill -SEGV $$", "", "F 93 139"},
		{"signal 9", "", "kill -KILL $$", "", "F 93 137"},
		{"qdel", "", "sleep 60", "qdel ID", "F 91 271"},
		{"qdel with a trap", "", "trap 'exit 3' TERM; sleep 60 & wait", "qdel ID", "F 91 271"},
		{"qdel before its start", "-h", "exit 0", "qdel ID", "F 91 "},
		{"walltime", "-l walltime=1", "sleep 60", "", "F 93 -29"},
		{"memory", "-l select=1:mem=30mb", "head -c 120m /dev/zero | tail -c 120m | sleep 60", "", "F 93 -27"},
		{"bad shell", "-S /no/such/shell", "exit 0", "", "F 93 254"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			if err := os.WriteFile(b.home+"/s", []byte(tt.script+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			id := strings.TrimSpace(string(b.sh("jjmuser", "qsub -o /dev/null -e /dev/null "+tt.qsub+" <s").Stdout))
			if tt.then != "" {
				if tt.qsub != "-h" {
					b.until("qstat -f -F json "+id, `"job_state":"R"`)
				}
				b.sh("jjmuser", strings.ReplaceAll(tt.then, "ID", id))
			}
			text := b.until("qstat -x -f -F json "+id, `"job_state":"F"`)
			got := fmt.Sprintf("%s %s %s", attribute(text, "job_state"), attribute(text, "substate"),
				attribute(text, "Exit_status"))
			if got != tt.want {
				t.Errorf("it ended %q, recorded %q", got, tt.want)
			}
		})
	}
}

// A server without job history answers with the exit codes and messages that were recorded in history_timeline.
func TestHistory_Off(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"FAKEPBS_HISTORY": "off"})
	b.sh("jjmuser", "qmgr -c 'set fake next=2000'; echo exit 0 | qsub")
	b.until("qstat 2000.pbshost 2>&1", "Unknown Job Id 2000.pbshost")
	for command, want := range map[string]string{
		"qstat -x 2000.pbshost":         "0 qstat: PBS is not configured to maintain job history 2000.pbshost\n",
		"qstat -x":                      "0 qstat: PBS is not configured to maintain job history \n",
		"qselect -x -N STDIN":           "0 qselect: PBS is not configured to maintain job history\n",
		"qdel 2000.pbshost":             "153 qdel: Unknown Job Id 2000.pbshost\n",
		"qstat 2000.pbshost":            "153 qstat: Unknown Job Id 2000.pbshost\n",
		"qstat -f -F json 2000.pbshost": "153 qstat: Unknown Job Id 2000.pbshost\n",
	} {
		out := b.sh("jjmuser", command)
		if got := fmt.Sprintf("%d %s", out.Exit, out.Stderr); got != want {
			t.Errorf("%s: %q, recorded %q", command, got, want)
		}
	}
}

// Members of an array cannot be held, and a deletion removes the records of ended members, as in OpenPBS's source
// (req_holdjob.c, req_delete.c, stat_job.c). A member without a record shows the comment that was recorded in
// deleted_waiting_subjob.
func TestArrays_MembersHaveNoHoldsAndLoseTheirRecord(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.sh("jjmuser", `printf '[ $PBS_ARRAY_INDEX = 1 ] && exit 5; sleep 60' | qsub -J 0-2 -o /dev/null -e /dev/null`)
	b.until("qstat -f -F json '1[1]'", `"Exit_status":5`)
	for command, want := range map[string]int{
		"qhold '1[2]'": 156, "qrls '1[2]'": 156, "qhold '1[0-2]'": 156, "qdel '1[1]'": 55, "qdel '1[7]'": 153, "qdel 1": 153,
	} {
		if out := b.sh("jjmuser", command); out.Exit != want {
			t.Errorf("%s: exit %d (%s), want %d", command, out.Exit, out.Stderr, want)
		}
	}
	b.sh("jjmuser", "qdel '1[0-1]'")
	text := b.until("qstat -x -f -F json '1[1]'", "Subjob finished")
	if attribute(text, "substate") != "70" || strings.Contains(text, "array_index") {
		t.Errorf("a member without a record shows its array's:\n%s", text)
	}
}

func TestOutput_ThatCannotBeDeliveredKeepsTheJobInStateE(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"FAKEPBS_STUCK": "5s"})
	b.sh("jjmuser", "echo echo out | qsub -o /nonexistent/dir/ -e p/")
	b.until("qstat -f -F json 1", `"job_state":"E"`)
	text := b.until("qstat -x -f -F json 1", `"job_state":"F"`)
	if attribute(text, "Exit_status") != "0" || attribute(text, "substate") != "92" {
		t.Errorf("recorded is Exit_status 0:\n%s", text)
	}
}

// qhold, qrls and qdel answer with the exit codes, messages and states of the recordings qhold_ok, qhold_running and
// qdel_finished_x.
func TestControl_AnswersAsRecorded(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.sh("jjmuser", "echo sleep 60 | qsub -h; echo sleep 60 | qsub; echo exit 0 | qsub")
	state := func(id, want string) {
		t.Helper()
		b.until("qstat -x -f -F json "+id, `"job_state":"`+want+`"`)
	}
	state("2", "R")
	state("3", "F")
	for _, step := range []struct{ command, id, want, state string }{
		{"qhold 1", "1", "0 ", "H"}, {"qhold 2", "2", "0 ", "R"}, {"qrls 2", "2", "0 ", "R"}, {"qdel 2", "2", "0 ", "F"},
		{"qdel 1", "1", "0 ", "F"}, {"qdel 1.pbshost", "1", "35 qdel: Job has finished 1.pbshost\n", "F"},
		{"qdel 3.pbshost", "3", "35 qdel: Job has finished 3.pbshost\n", "F"}, {"qdel -x 3.pbshost", "", "0 ", ""},
		{"qstat -x 3.pbshost", "", "153 qstat: Unknown Job Id 3.pbshost\n", ""},
	} {
		out := b.sh("jjmuser", step.command)
		if got := fmt.Sprintf("%d %s", out.Exit, out.Stderr); got != step.want {
			t.Errorf("%s: %q, recorded %q", step.command, got, step.want)
		}
		if step.id != "" {
			state(step.id, step.state)
		}
	}
	text := string(b.sh("jjmuser", "qstat -x -f -F json 2").Stdout)
	if got := attribute(text, "substate") + " " + attribute(text, "Exit_status"); got != "91 271" {
		t.Errorf("the running job that was deleted has %s, recorded 91 271", got)
	}
	out := b.sh("jjmuser", "qstat -x -f -F json 1 999999") // as in the recording qstat_unknown_and_known
	if out.Exit != 153 || string(out.Stderr) != "qstat: Unknown Job Id 999999.pbshost\n" ||
		!strings.Contains(string(out.Stdout), `"1.pbshost":{`) {
		t.Errorf("exit %d: %s%s", out.Exit, out.Stderr, out.Stdout)
	}
	out = b.sh("jjmuser", "qstat 1.pbshost") // as in the recording qstat_finished_nox
	const finished = "qstat: 1.pbshost Job has finished, use -x or -H to obtain historical job information\n"
	if out.Exit != 35 || string(out.Stderr) != finished {
		t.Errorf("exit %d: %s", out.Exit, out.Stderr)
	}
}
