package sge

import "jjm/adapters"

// A shielded job must not end with an exit code that has a special meaning for Grid Engine: 99 runs the job again, in
// spite of -r n, and 100 puts it into the error state (queue_conf(5), measured on 8.1.9). It kills itself with one of
// these signals instead. They are real-time signals, which nothing else uses to end jobs.
const (
	signalFor99  = 62
	signalFor100 = 63
)

// shield is a script that runs the command in its first argument and ends in the same way as the command, except for
// exit codes 99 and 100. The shell alone cannot do that, because its $? is 137 both for a KILL and for an exit with
// 137. system() of awk distinguishes the two cases: it returns the signal + 256, + 512 with a core file, a fraction in
// the oldest versions. system() of BusyBox does not distinguish them, and returns 0 for a KILL; with BusyBox a code
// above 128 counts as a signal.
const shield = `exec 3>&1
s=$(awk 'BEGIN {
	s = system("kill -9 $$")
	if (s == 0 || s == 137) { print "no"; exit }
	s = system(ARGV[1])
	if (s > 0 && s < 1) s = 256 + s * 256
	if (s >= 512) s -= 256
	print int(s); exit }' "$1" 2>&3)
case $s in
'' | *[!0-9]*)
	[ "$s" = no ] || exit 96
	(eval "$1")
	s=$?
	if [ $s -gt 128 ]; then s=$((s + 128)); fi ;;
esac
ulimit -c 0
case $s in
99) kill -62 $$ ;;
100) kill -63 $$ ;;
esac
if [ "$s" -gt 256 ]; then
	kill -$((s - 256)) $$
	s=$((s - 128))
fi
exit "$s"
`

// jobScript returns the script for qsub. It subtracts one from the number of a task, because Grid Engine counts from 1.
func jobScript(b adapters.Bulk, shielded bool) string {
	if shielded {
		command := "exec"
		for _, a := range b.Argv {
			command += " " + adapters.Quote(a)
		}
		b.Argv = []string{"/bin/sh", "-c", shield, "job", command + " >&3 2>&3 3>&-"}
	}
	return adapters.JobScript(b, "$((SGE_TASK_ID-1))", `"$JOB_ID.$SGE_TASK_ID"`)
}
