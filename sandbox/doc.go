// Package sandbox is the work area: the folders through which the daemon and
// the wrappers on the workers speak to each other. There is one [Area] per
// owner, and nothing outside its root can be reached through it.
//
// # Layout
//
//	bin/<sha12>/{jjm-wrapper,gbs_log,jjm_...}        the wrapper; the others are symbolic links to it
//	packages/<sha256>/<files>                        inputs, addressed by their content
//	jobs/<grid>/job.json                             [Job]: what all local jobs of a grid job share
//	jobs/<grid>/<n/1000>xxx/<n>/attempt.<a>/         stdout, stderr, job.glf, heartbeat, returned/, work/
//	jobs/<grid>/output/<name>.tar                    what is handed back
//	bulks/<tag>/assign                               one [Assignment] per position
//	bulks/<tag>/claims/<pos>                         jjm.Claim
//	bulks/<tag>/done/<pos>.json                      jjm.Result
//	bulks/<tag>/progress/<pos>                       a line per phase: "PHASE DONE TOTAL STARTED ENDED"
//	bulks/<tag>/fragments/<pos>                      what the attempt adds to its record, XML
//	bulks/<tag>/end/<pos>                            the wrapper is to end; empty
//
// Folders have mode 0700, files 0600, executables 0700. Names that begin with
// ".tmp-" are files being written, or left by a process that was killed while
// it wrote them; readers pass over them.
//
// # Promises
//
// Safety. Every path is resolved below the root's directory handle (os.Root):
// a symbolic link or a ".." that would leave it is refused, whoever made it.
// Files that jobs may have made are opened without blocking and must be
// regular: a FIFO or a device is refused. Of the folders that jobs write
// to only files of the bulk's positions are opened ([Look]), of a bounded number of
// names. Reads are bounded: a result 1 MiB
// ([MaxResult]), a GLF 1 MiB, a claim 64 KiB, one assignment 4 MiB.
//
// Wholeness. A file appears under its name complete or not at all: it is
// written under a temporary name and renamed (linked, for a claim, which must
// not replace another). When writing fails, the temporary file is removed and
// the error names the file; a full disk is of kind jjm.Busy.
//
// Durability. When WriteJob, WriteAssignment, Pack, InstallWrapper and WriteTar
// return, the file and the folder that names it have been synced to disk.
// PutResult syncs the file, so that its name never leads to torn content; after
// a power failure the name itself may be missing. Claim, PutProgress and
// PutFragment sync nothing.
//
// Repetition. WriteJob, WriteAssignment, PutResult, PutProgress and PutFragment replace what
// is there; Pack and InstallWrapper leave what is there; RemoveBulk and
// RemoveGrid accept that nothing is there. So each may be called again after a
// crash.
//
// Concurrency. All methods may be called from many goroutines and processes,
// on one or several machines that share the file system.
package sandbox
