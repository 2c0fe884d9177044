// Package cover proves or refutes that the work of a step was done exactly once. It compares three things: the units of
// work, the ledger (which local job owns which units), and the ends of the local jobs.
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
//	missing     owned by no completed local job, and no local job can still do it
//	pending     not done, but some local job still may do it
//	overlap     owned by two local jobs at the same time, by the ledger
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
// The verdicts, the worst first, are overlap, gap, undecidable and proven; see [Report.Verdict]. If the application
// reports no counts, the verdict is undecidable, because only the exit codes say that the local jobs processed the
// units that they own; [Report.Whole] still says whether nothing contradicts the ledger. Steps of rows are an
// exception: each command has one row, so its exit code proves the row.
//
// # Recoveries
//
// A recovery is a grid job that processes the units that another grid job left missing. Both can be verified together:
// the caller appends the local jobs and rows of the recovery to the streams of the grid job. Then only local jobs that
// completed, or still may complete, own units.
//
// # What it costs
//
// Time is linear in files, ledger rows and local jobs. Files and rows are streamed; each local job takes 24 bytes of
// memory.
package cover
