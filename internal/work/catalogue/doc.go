// Package catalogue reads descriptions of the files of datasets: lists that people and programs write, as JSON
// lines or CSV, and listings of watched folders. It is pure: its callers open files and start programs.
//
// # JSON lines
//
// One file per line, with the keys of [jjm.File]:
//
//	{"lfn": "/data/a", "size": 1000, "events": 50, "locations": ["here"], "lumis": [{"run": 1, "first": 1, "last": 4}]}
//
// Empty lines are skipped.
//
// # CSV
//
// A header names the columns, which are the same keys; "lfn" is required. A list is one cell with words separated
// by blanks; sections are written run:first-last or run:number.
//
//	lfn,size,events,locations,lumis
//	/data/a,1000,50,here there,1:1-4 2:7
//
// # Promises
//
// The package guesses nothing. An unknown key or column, an invalid number, or a section that a file has twice is an
// error that names the line. A hostile text uses no more memory than one line (MaxLine), and a list has at most
// MaxFiles files. The package does not detect a name that occurs twice; the dataset does, because it knows its names.
package catalogue
