// Package external makes job types from programs in any language. A program is asked twice:
// to describe the type, at the start of the daemon, and to plan each grid job, when it is
// accepted. It reads a JSON object from its standard input and writes one to its standard
// output; docs/JOB-TYPES.md describes the protocol. Plans are stored with jobs, so that a
// later change of the program affects no accepted job.
package external
