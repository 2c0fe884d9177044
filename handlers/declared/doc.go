// Package declared makes job types from TOML files: the settings, what the local jobs are,
// and the command line of each. It leaves cutting to package split, and programs that
// describe a type to package external. docs/JOB-TYPES.md says how to write a type.
package declared
