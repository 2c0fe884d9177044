// Package declared makes job types from TOML files: the settings, the work of the local jobs, and the command line of
// each local job. It leaves cutting to package split, and programs that describe a type to package external.
// docs/JOB-TYPES.md describes how to write a type.
package declared
