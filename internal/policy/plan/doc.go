// Package plan holds the decisions of jjm as pure functions from facts to a decision. It does no I/O, keeps no state,
// and has no clock of its own. The engine gathers the facts and carries the decisions out; package analyse turns
// evidence into verdicts. Therefore every rule can be tested over its whole input space, and a decision can be
// explained by its facts.
//
// The package has one file for each subject:
//
//	live.go       how a batch report changes a live attempt
//	watched.go    for how long a batch system has been observed
//	absence.go    when a missing attempt counts as lost
//	heard.go      whether a batch system answers listings
//	hold.go       what to do about a held local job
//	ending.go     what to do about an attempt that may have ended
//	local.go      how a local job continues after its attempt has ended
//	backoff.go    how long its next attempt waits
//	cause.go      which failures of local jobs have the same cause
//	giveback.go   whether the work of a failed local job is done again
//	force.go      how a local job changes if a person forces its state
//	freeze.go     how a local job changes if a person freezes or unfreezes it
//	personhold.go when a person's hold or release of a local job takes effect
//	refused.go    how a local job changes if a cluster refuses its submission
//	resubmit.go   which local jobs run again because a person asks for it
//	resplit.go    which failed local jobs are cut again into smaller ones
//	set.go        which local jobs may still get other resources
//	polling.go    how often a cluster is listed
//	reconcile.go  what to do about a bulk that may or may not exist
//	grid.go       the next step of one grid job
//	after.go      whether a grid job may begin that waits for other grid jobs
//	again.go      which failed local jobs are resubmitted automatically
//	hopeless.go   which errors end a grid job
//	pace.go       when a grid job will end at its present pace
//	site.go       fair shares of a cluster's room
//	room.go       how many more local jobs a cluster may have
//	learnt.go     how many jobs an account may have, learnt from refusals
//	window.go     which local jobs are not submitted because of a maintenance window
//	spread.go     which of several clusters gets how many local jobs
//	sites.go      which clusters a job file names, and which can read its files
//	place.go      the places of files of a grid job, and their clusters
//	estimate.go   what a part requests from its batch system because of its estimate
//	allowance.go  how much one account may have, and how much space must be free
//	reserve.go    the disk space that the daemon keeps in reserve
//	views.go      the states that gatekeepers and Ganga users see
//
// Three rules hold throughout:
//
//   - An unknown state never changes anything.
//   - An attempt is given up only after its claim is settled, so that it cannot start later.
//   - Each decision is level-triggered: the same facts always lead to the same decision, so a crash between decision
//     and action is harmless.
package plan
