// Package catalogue reads descriptions of files: lists that people and programs
// write, as JSON lines or CSV, and listings of folders that are watched. It is
// pure: whoever opens files and starts programs is above.
//
// # JSON lines
//
// One file a line, with the keys of [jjm.File]:
//
//	{"lfn": "/data/a", "size": 1000, "events": 50, "locations": ["here"], "lumis": [{"run": 1, "first": 1, "last": 4}]}
//
// Empty lines are passed over.
//
// # CSV
//
// A header names the columns, which are the same keys; "lfn" must be among them.
// A list stands in one cell, its words separated by blanks; sections are written
// run:first-last, or run:number.
//
//	lfn,size,events,locations,lumis
//	/data/a,1000,50,here there,1:1-4 2:7
//
// # Promises
//
// Nothing is guessed: an unknown key or column, a number that is none, a section
// given twice in a file is a mistake, reported with its line. A hostile text costs
// memory for one line; the number of files is bounded by MaxFiles. Whether a name
// comes twice is for the dataset to say, which knows those that it has.
package catalogue
