// Package sandbox is the work area: the folders through which the daemon and the wrappers on the workers
// exchange files. There is one [Area] per owner, and nothing outside its root can be reached through it.
// What the files mean, and when they are read or removed, is decided by the packages above.
//
// # Layout
//
//	bin/<sha12>/{jjm-wrapper,gbs_log,jjm_...}        the wrapper; the others are symbolic links to it
//	packages/<sha256>/<files>                        inputs, addressed by their content
//	credentials/<handle>/<kind>                      proxy and token of a grid job
//	jobs/<grid>/job.json                             [Job]: what all local jobs of a grid job share
//	jobs/<grid>/fetch/<digest>                       inputs from URLs, until they are packed
//	jobs/<grid>/<n/1000>xxx/<n>/attempt.<a>/         stdout, stderr, job.glf, heartbeat, returned/, work/
//	jobs/<grid>/output/<name>.tar                    the output tar
//	bulks/<tag>/assign                               one [Assignment] per position
//	bulks/<tag>/claims/<pos>                         jjm.Claim
//	bulks/<tag>/done/<pos>.json                      jjm.Result
//	bulks/<tag>/progress/<pos>                       a line per phase: "PHASE DONE TOTAL STARTED ENDED"
//	bulks/<tag>/fragments/<pos>                      what the attempt adds to its record, XML
//	bulks/<tag>/end/<pos>                            an order to the wrapper to end; empty
//	bulks/<tag>/box.tar, bulks/<tag>/back/<pos>      box and parcels, for workers that do not see the area
//
// Folders have mode 0700, files 0600, executables 0700. Names that begin with ".tmp-" are files being
// written, or left by a process that was killed while it wrote them; readers skip them.
//
// # Promises
//
// Safety. Every path is resolved below the root's directory handle (os.Root): a symbolic link or a ".."
// that would leave it is refused, whoever made it. Files that jobs may have made are opened without
// blocking and must be regular; a FIFO or a device is refused. In folders that jobs write to, only files
// of the bulk's positions are opened ([Look]), and a bounded number of names is read. Reads are bounded:
// a result 1 MiB ([MaxResult]), a GLF 1 MiB, a claim 64 KiB, one assignment 4 MiB.
//
// Atomicity. A file appears under its name complete or not at all: it is written under a temporary name
// and renamed (linked, for a claim, which must not replace another). If writing fails, the temporary
// file is removed and the error names the file; a full disk is of kind jjm.Busy.
//
// Durability, by what a call has synced to disk when it returns:
//
//	WriteJob, WriteAssignment, Pack, InstallWrapper, WriteTar    the file and the folder that names it
//	PutResult                                                    the file: its name may be lost in a power
//	                                                             failure, but never leads to torn content
//	Claim, PutProgress, PutFragment                              nothing
//
// Repetition. WriteJob, WriteAssignment, PutResult, PutProgress and PutFragment replace an existing
// file; Pack and InstallWrapper keep an existing one; RemoveBulk, RemoveGrid and RemovePackages succeed if
// there is nothing. So each may be called again after a crash.
//
// Concurrency. All methods may be called from many goroutines and processes, on one or several machines
// that share the file system.
package sandbox
