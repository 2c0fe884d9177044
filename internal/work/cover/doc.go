// Package cover proves or refutes that the work of a step was done exactly once. It compares
// three things: the units of work, the cover ledger (which local job owns which units), and how
// the local jobs ended.
//
// The package does no I/O. Its callers must pass complete streams in ascending order, and decide on the consequences
// for the grid job.
//
// Work consists of numbered units. Events and rows have their own numbers. In a step that reads files, each file has
// its number in the master dataset. The units of a file are its events, counted from 0, its sections, identified by run
// and number, or one unit for the whole file.
//
// # What it finds
//
//	missing     owned by no completed local job, and no local job can do it any more
//	pending     not done, but some local job still may do it
//	overlap     owned by two local jobs at once, by the ledger
//	doubled     owned by two completed local jobs, whatever the ledger says
//	unaccounted the ledger contradicts the local jobs, or the number of units that a
//	            local job owned differs from what its application reports
//	short       owned by a completed local job whose application reports fewer units:
//	            it is unknown which ones it left out
//	left out    owned by no local job, because a setting of the splitter leaves it out
//	assumed     owned by a completed local job that reports no count; it is assumed to
//	            have processed everything that it owned
//
// # The verdict
//
// The verdicts, the worst first, are overlap, gap, undecidable, proven: see [Report.Verdict]. A
// step whose application reports no count is undecidable, because only the exit code says that
// it processed what it owned; [Report.Whole] then still says that nothing contradicts it.
//
// # Recoveries
//
// A recovery is a grid job that processes the units that another grid job left missing. Both can be verified together:
// the local jobs and rows of the recovery are appended to those of the grid job. Then only local jobs that completed,
// or still may complete, own units.
//
// # What it costs
//
// Time is linear in files, ledger rows and local jobs. Files and rows are streamed; each local
// job takes 24 bytes of memory.
package cover
