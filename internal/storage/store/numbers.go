package store

// The numbers of final states, for SQL. They are the numbers of package jjm, where the number of a state never changes;
// a test compares both with the numbers in the schema.
const (
	overGrids  = "(6, 7, 8, 9, 11)" // grid jobs: done, finished, failed, broken, aborted
	overLocals = "(5, 6, 7, 9, 10)" // local jobs: completed, failed, killed, completed_frozen, failed_frozen
)
