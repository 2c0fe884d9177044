// Command jjm-wrapper runs one attempt of a local job on a worker: it is the command of
// every job that jjm submits.
//
//	jjm-wrapper run AREA TAG
//	jjm-wrapper carry TAG
//
// AREA is the absolute path of the owner's work area (package sandbox). TAG names a bulk: the jobs of one submission to
// a batch system. "carry" is for a worker that does not see the work area: the batch system transfers the files of the
// attempt to the folder where the job starts, and its results back (see carry).
//
// The adapter of the batch system sets environment variables: JJM_INDEX is the position of the job in the bulk,
// JJM_BATCH_ID the batch system's id of the job, and JJM_RESTARTS the number of times that the batch system started the
// job before. JJM_SPOOL_END, if it is set, is a file to which the wrapper writes its exit code at the very end. It is
// for a batch system that may be down when the job ends.
//
// # Steps, in order (GBS Programmer Manual)
//
//  1. reads the assignment of its position: the command and the files of the
//     attempt;
//  2. claims the attempt; if another holder has the claim it stops immediately and
//     touches no file of the attempt;
//  3. makes the attempt's folder, the log file and its start record, lists the
//     files that the part reads (docs/JOB-TYPES.md), and links the inputs into
//     work/;
//  4. runs the application in work/, in a process group of its own, passes
//     signals on to it, and touches the heartbeat file;
//  5. ends the processes that the application left running, reads the log, and
//     runs the job type's command that judges the attempt, if there is one;
//  6. finds the outputs, and writes the end record to the log;
//  7. copies the files of RETURN_FILE, and computes sizes and checksums;
//  8. puts the result into the bulk's done folder.
//
// The wrapper passes the signals TERM, INT, HUP, QUIT, USR1, USR2 and XCPU on to the application. TERM also starts the
// grace period, in which the application may end; after it, the wrapper kills the application's process group. Outputs
// that were not examined by then get no checksum. If the wrapper itself is killed, the kernel kills
// the application (PR_SET_PDEATHSIG); then there is no result, and the claim stays.
//
// # Exit codes
//
//	0   the result was written, even if the application failed
//	2   the command line or the environment is wrong
//	91  another holder has the claim: nothing was done
//	92  the area, the assignment or the claim could not be read or written:
//	    nothing was started
//	93  the result could not be written
//
// If the exit code is not 0, standard error has the reason.
//
// # Helpers
//
// The application can call the following helpers, which are links to this program under other names. $GBS_LOG is the
// path of gbs_log, which appends one record to the log file: "$GBS_LOG KEYWORD words...". $JJM_PROGRESS is the path of
// jjm_progress, which stores the progress: "$JJM_PROGRESS PHASE DONE [TOTAL]". $JJM_RECORD is the path of jjm_record,
// which adds XML elements to the job's record: "$JJM_RECORD [FILE]". gbs_log logs an unknown keyword as INFO.
//
// The exit code of a helper is 2 for wrong arguments, an unknown keyword or wrong XML, and otherwise 0, so that an
// application does not fail only because a log cannot be written.
//
// # Other promises
//
// The program is static and starts in a few milliseconds, because a site may run many jobs that last only a second. It
// is the only program of jjm that starts a child process without package run: it must keep the application's process
// group to forward signals to the group, and must reap the processes that the application leaves behind.
package main
