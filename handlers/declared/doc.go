// Package declared makes job types of TOML files alone: the settings, what the local jobs
// are, and the command line of each. docs/JOB-TYPES.md tells how to write one.
package declared
