// Command fakepbs imitates an OpenPBS complex of one node, for tests and demonstrations where no PBS is installed:
// qsub, qalter -r, qstat, qselect, qdel, qhold, qrls, pbsnodes and a little of qmgr. The name under which it is called
// chooses the command. Jobs really run, as detached processes.
//
// It answers like OpenPBS 23.06.06, including its defects: exit codes, messages, invalid JSON, and the content of the
// history. It implements only the behaviour that was recorded and that jjm meets. Jobs are shown only as JSON, with the
// attributes that jjm reads and the attributes that may contain any text. Scripts come from standard input, and their
// directives are not read. Unknown options are refused, without the usage text. Only the resources walltime, ncpus and
// mem are read, mem in mb. The output of jobs is lost.
//
//	fakepbs install BIN   puts the commands into the folder BIN
//	fakepbs stop          ends the server, and all jobs
//
// The complex lives in FAKEPBS_DIR, an absolute path. The first command starts a server, which holds all state in
// memory. The server ends after "fakepbs stop", when the folder is removed, or when nothing has happened for ten
// minutes.
//
// # Settings
//
// The server reads these variables from the environment of the command that starts the server.
//
//	FAKEPBS_SLOTS     cores of the node; 8
//	FAKEPBS_HISTORY   on or off; on
//	FAKEPBS_USER      the calling user, read again for every command
//	FAKEPBS_WAIT      how long the scheduler lets a job wait that could run; 0s
//	FAKEPBS_STUCK     how long output outside of /dev/null holds a job in E; 300ms (32s in PBS)
//	FAKEPBS_PORTS     reserved ports of the host, each in use for a minute; 0 for no bound (512 in PBS)
//	FAKEPBS_FAULTS    names of faults, which begin with the server
//
// The file connections has a line for each command: the time in nanoseconds, the number of connections, the command. If
// there is a file clock, this time is read from the file, in the form of RFC 3339; a test can then set the time.
//
// # Faults
//
// A fault lasts as long as the folder's subfolder "faults" has a file with the name of the fault.
//
//	refused       the server cannot be reached
//	unauthorized  pbs_iff cannot authenticate
//	frozen        commands wait
//	qsub-killed   qsub creates the job and dies before it prints the id
//	qsub-cut      the connection is cut: nothing is created, exit 1
//	lost-id       qsub prints an id, and the job does not exist
//	lost-history  ended jobs are forgotten
//	qalter-denied the server does not let the caller alter the job
//	qalter-killed qalter alters the job and dies
//	qalter-lost   qalter exits with 0 and alters nothing
//	qdel-crash    a qdel with 11 or more ranges of an array begins the fault "refused"
//	mom-down      the node's daemon cannot be reached
//	one-id        qstat -F json shows only the first of several ids, like OpenPBS since December 2023
//	endless       qstat -t of all jobs prints its output again and again, without end
//	ports-quiet   a qstat with ids and without a port prints two lines and exits with 0
//	rerun         once: running jobs are killed, queued and run again
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// verb is a command of PBS.
type verb struct {
	do      func(*complex, Request, options) Response
	options string // a colon follows each option with a value
}

// verbs are the commands of PBS, by the names under which fakepbs is called.
var verbs = map[string]verb{
	"qsub": {(*complex).qsub, "A:e:hJ:l:N:o:P:q:r:S:v:"}, "qalter": {(*complex).qalter, "r:"},
	"qstat": {(*complex).qstat, "fxtBQF:"}, "qselect": {(*complex).qselect, "N:s:t:u:x"},
	"qdel": {(*complex).qdel, "x"}, "qhold": {(*complex).qhold, "h:"}, "qrls": {(*complex).qhold, "h:"},
	"pbsnodes": {(*complex).pbsnodes, "a"}, "qmgr": {(*complex).qmgr, "c:"},
}

func main() {
	os.Exit(run(filepath.Base(os.Args[0]), os.Args[1:]))
}

func run(name string, args []string) int {
	dir := os.Getenv("FAKEPBS_DIR")
	var err error
	switch {
	case verbs[name].do != nil:
		return call(dir, name, args)
	case len(args) == 2 && args[0] == "install":
		err = install(args[1])
	case len(args) == 1 && args[0] == "stop":
		err = stop(dir)
	case len(args) == 1 && args[0] == "serve":
		err = serve(dir)
	default:
		err = fmt.Errorf("usage: fakepbs install BIN | stop")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakepbs:", err)
		return 1
	}
	return 0
}

// install creates the commands in a folder, as links to this program.
func install(bin string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o777); err != nil {
		return err
	}
	for name := range verbs {
		link := filepath.Join(bin, name)
		_ = os.Remove(link)
		if err := os.Symlink(self, link); err != nil {
			return err
		}
	}
	return nil
}
