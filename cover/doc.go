// Package cover proves, or refutes, that the work of a step was done exactly
// once. It is pure: it holds what there was to do, the cover ledger - which local
// job owns what - and how the local jobs ended against one another.
//
// Work is numbered units: events and rows by their own numbers; of files, each
// file by its number in the master dataset, in it the events from 0, the sections
// by run and number, or one unit for the file as a whole.
//
// # What it finds
//
//	missing     owned by no completed local job, and none is left to do it
//	pending     not done yet, but somebody still may
//	overlap     owned by two local jobs at once, by the ledger
//	doubled     owned by two completed local jobs, whatever the ledger calls them
//	unaccounted the ledger and the local jobs, or what a local job owned and what
//	            its application says that it processed, do not agree
//	short       owned by a completed local job whose application says that it
//	            processed less: which units it left out nobody knows
//	left out    owned by nobody, because a setting of the splitter leaves it out
//	assumed     owned by a completed local job that does not say how much it
//	            processed: all of it, it is assumed
//
// # The verdict
//
// Overlap before gap before undecidable before proven: see [Report.Verdict]. A
// step whose application reports no count is undecidable, because nothing but its
// exit code says that it processed what it owned; [Report.Whole] tells that
// nothing is known against it.
//
// # Recoveries
//
// Grid jobs that did what was missing may be verified with the one that they
// recover: their local jobs and rows are added to its own. Only what is owned by
// local jobs that completed, or still may, is owned then.
//
// # What it costs
//
// Time is linear in files, ledger rows and local jobs. Files and rows are
// streamed; of a local job it keeps 17 bytes.
package cover
