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
// Nothing is guessed: an unknown key or column, an invalid number or a section that a file has twice is an error with
// its line. A hostile text costs the memory of one line (MaxLine); the number of files is at most MaxFiles. The
// package does not notice a name that occurs twice; the dataset, which knows its names, does.
package catalogue
