// Package external makes job types from programs in any language. jjm runs a program for two requests: to describe the
// type, at the start of the daemon, and to plan each grid job, when the job is accepted. The program reads a JSON
// object from its standard input and writes a JSON object to its standard output; docs/JOB-TYPES.md describes the
// protocol. Plans are stored with jobs, so a later change of the program does not affect accepted jobs.
package external
