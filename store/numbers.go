package store

// The numbers by which the schema knows states that are over, for statements. They are
// those of package jjm, in which a state keeps its number for good; a test holds the
// two, and the numbers in the migrations, against each other.
const (
	overGrids  = "(6, 7, 8, 9, 11)" // grid jobs: done, finished, failed, broken, aborted
	overLocals = "(5, 6, 7)"        // local jobs: completed, failed, killed
)
