// Command jjm-wrapper runs one attempt of a local job on a worker: it is the command of
// every job that jjm submits.
//
//	jjm-wrapper run AREA TAG
//
// AREA is the absolute path of the owner's work area (package sandbox), TAG the bulk. The adapter of the batch system
// sets JJM_INDEX (the position in the bulk), JJM_BATCH_ID (the batch system's id of the job) and JJM_RESTARTS (how
// often it started the job before). If it sets JJM_SPOOL_END, the last act of the wrapper is to write its exit code to
// that file, for a batch system that may be down when the job ends.
//
// # What it does, in order (GBS Programmer Manual)
//
//  1. reads the assignment of its position;
//  2. claims the attempt; if another holder has the claim it stops immediately and
//     touches no file of the attempt;
//  3. makes the attempt's folder, the log file and its start record, lists the
//     files that the part reads (docs/JOB-TYPES.md), and links the inputs into
//     work/;
//  4. runs the application in work/, in a process group of its own, passes
//     signals on to it, and touches the heartbeat file;
//  5. ends the processes that the application left running, and writes the end
//     record;
//  6. finds the outputs, copies the files of RETURN_FILE, and computes sizes
//     and checksums;
//  7. puts the result into the bulk's done folder.
//
// TERM gives the application a grace period; then its process group is killed, and outputs that were not examined by
// then get no checksum. INT, HUP, QUIT, USR1, USR2 and XCPU are only passed on. If the wrapper itself is killed, the
// kernel kills the application (PR_SET_PDEATHSIG); then there is no result, and the claim stays.
//
// # Exit codes
//
//	0   the result was written, whatever became of the application
//	2   the command line or the environment is wrong
//	91  another holder has the claim: nothing was done
//	92  the area, the assignment or the claim could not be read or written:
//	    nothing was started
//	93  the result could not be written
//
// In every case but the first, standard error has the reason.
//
// # Helpers
//
// The program has further names. gbs_log, whose path is in $GBS_LOG, appends one record to the log file: "$GBS_LOG
// KEYWORD words...". jjm_progress, in $JJM_PROGRESS, stores the progress: "$JJM_PROGRESS PHASE DONE [TOTAL]".
// jjm_record, in $JJM_RECORD, adds elements to the job's record. The exit code of these helpers is 2 for a wrong
// command line and otherwise 0, so that an application does not fail only because a log cannot be written. An unknown
// keyword is logged as INFO.
//
// # Other promises
//
// The program is static and starts in a few milliseconds, because a site may run many jobs that last only a second. It
// is the only program of jjm that starts a child process without package run: it must keep the application's process
// group to forward signals to the group, and must reap the processes that the application leaves behind.
package main
