// Package sandbox is the work area: the folders through which the daemon and the wrappers on the workers exchange
// files. There is one [Area] per owner, and nothing outside the root of an Area can be reached through it. The packages
// above define the meaning of the files, and decide when files are read or removed.
//
// # Layout
//
//	bin/<sha12>/{jjm-wrapper,gbs_log,jjm_...}        the wrapper; the others are symbolic links to it
//	packages/<sha256>/<files>                        inputs, addressed by their content
//	credentials/<handle>/<kind>                      proxy and token of a grid job
//	jobs/<grid>/job.json                             [Job]: settings that all local jobs of a grid job share
//	jobs/<grid>/fetch/<digest>                       inputs from URLs, until they are packed
//	jobs/<grid>/<n/1000>xxx/<n>/attempt.<a>/         stdout, stderr, job.glf, heartbeat, returned/, work/
//	jobs/<grid>/output/<name>.tar                    the output tar
//	bulks/<tag>/assign                               one [Assignment] per position
//	bulks/<tag>/claims/<pos>                         jjm.Claim
//	bulks/<tag>/done/<pos>.json                      jjm.Result
//	bulks/<tag>/progress/<pos>                       a line per phase: "PHASE DONE TOTAL STARTED ENDED"
//	bulks/<tag>/fragments/<pos>                      XML that the attempt adds to its record
//	bulks/<tag>/end/<pos>                            an order to the wrapper to end; empty
//	bulks/<tag>/box.tar, bulks/<tag>/back/<pos>      box and parcels, for workers that do not see the area
//
// Folders have mode 0700, files 0600, executables 0700. Names that begin with ".tmp-" are files that are being written,
// or that a process left when it was killed during a write; readers skip such files.
//
// # Promises
//
// Safety. Every path is resolved below the root's directory handle (os.Root): a symbolic link or a ".." that leads out
// of the root is an error. Files that jobs may have made are opened without blocking and must be regular; a FIFO or a
// device is an error. In folders that jobs write to, only files of the bulk's positions are opened ([Look]), and the
// number of names that are read is limited. The size of a read is limited: a result 1 MiB ([MaxResult]), a GLF 1 MiB, a
// claim 64 KiB, one assignment 4 MiB.
//
// Atomicity. A file appears under its name complete or not at all: it is written under a temporary name and renamed (a
// claim, which must not replace another claim, is linked instead). If writing fails, the temporary file is removed and
// the error names the file; for a full disk the error is of kind jjm.Busy.
//
// Durability: when a call returns, it has synced to disk:
//
//	WriteJob, WriteAssignment, Pack, InstallWrapper, WriteTar    the file and the folder that names it
//	PutResult                                                    the file: its name may be lost in a power
//	                                                             failure, but never leads to torn content
//	Claim, PutProgress, PutFragment                              nothing
//
// Repetition. WriteJob, WriteAssignment, PutResult, PutProgress and PutFragment replace an existing file; Pack and
// InstallWrapper keep an existing file; RemoveBulk, RemoveGrid and RemovePackages succeed if there is nothing to
// remove. Each of these calls may therefore be repeated after a crash.
//
// Concurrency. All methods may be called from many goroutines and processes, on one or several machines
// that share the file system.
//
// Errors. Every method may return an error of the file system, which the comments do not repeat. Such an error is of
// kind jjm.Gone if a file does not exist, jjm.Denied if a permission is missing, and jjm.Busy if a retry can help (a
// full disk, an exceeded quota, an error of a network file system).
package sandbox
