// Command jjm-wrapper runs one attempt of a local job on a worker: it is the command of
// every job that jjm submits.
//
//	jjm-wrapper run AREA TAG
//
// AREA is the absolute path of the owner's work area (package sandbox), TAG the
// bulk. The batch system, through its adapter, gives the position in the bulk in
// JJM_INDEX, its own id of the job in JJM_BATCH_ID, and how often it started the
// job before in JJM_RESTARTS. When JJM_SPOOL_END names a file, the wrapper's
// last act is to write its exit code there, for a batch system that may be down
// when the job ends.
//
// # What it does, in order (GBS Programmer Manual)
//
//  1. reads the assignment of its position;
//  2. claims the attempt; if somebody else holds the claim it stops at once and
//     touches no file of the attempt;
//  3. makes the attempt's folder, the log file and its start record, lists the
//     files that the part reads (docs/JOB-TYPES.md), and links the inputs into
//     work/;
//  4. runs the application in work/, in a process group of its own, passes
//     signals on to it, and shows by a heartbeat file that it lives;
//  5. ends what the application left running, and writes the end record;
//  6. looks up the outputs, copies the files of RETURN_FILE, and computes sizes
//     and checksums;
//  7. puts the result into the bulk's done folder.
//
// TERM gives the application a grace period; then its process group is killed,
// and outputs not looked at by then go without a checksum. INT, HUP, QUIT, USR1,
// USR2 and XCPU are only passed on. If the wrapper itself is killed the kernel
// kills the application (PR_SET_PDEATHSIG); there is then no result, and the
// claim stays.
//
// # Exit codes
//
//	0   the result was written, whatever became of the application
//	2   the command line or the environment is wrong
//	91  somebody else holds the claim: nothing was done
//	92  the area, the assignment or the claim could not be read or written:
//	    nothing was started
//	93  the result could not be written
//
// In every case but the first, standard error says why.
//
// # Helpers
//
// Called as gbs_log, the program is what the application finds in $GBS_LOG:
// "$GBS_LOG KEYWORD words..." appends one record to the log file. Called as
// jjm_progress, it is $JJM_PROGRESS: "$JJM_PROGRESS PHASE DONE [TOTAL]". Called as
// jjm_record, it is $JJM_RECORD, which adds elements to the job's record. All
// exit 0, so that an application does not fail for want of a log, or 2 when
// called wrongly; a keyword that is not known is logged as INFO all the same.
//
// # Other promises
//
// The program is static and starts in a few milliseconds: a thousand jobs of a
// second each should not spend their second here. It is the one program of jjm
// that starts a child process without package run, because it must keep the
// application's process group to forward signals to and must reap what the
// application leaves behind.
package main
