// Package plan holds all policy of jjm, as pure functions: facts in, decision
// out. It does no I/O, keeps no state, and has no clock of its own; whoever
// calls it gathers the facts and carries the decision out. So every rule can
// be tested over its whole input space, and a decision can be explained by
// showing the facts.
//
// It has one file per scope:
//
//	live.go       what a batch report changes in a live attempt
//	watched.go    for how long a batch system has been seen to be well
//	absence.go    how long a missing attempt is only missing
//	hold.go       what to do about a local job that is held
//	ending.go     what to do about an attempt that may be over
//	local.go      what becomes of a local job whose attempt is over
//	polling.go    how often a cluster is listed
//	reconcile.go  what to do about a bulk that may or may not exist
//	grid.go       the next step of one grid job
//	site.go       fair shares of a cluster's room
//	room.go       how much more a cluster may take
//	spread.go     which of several clusters gets how many local jobs
//	sites.go      which clusters a job file names, and which can read its files
//	place.go      the places of files of a grid job, and their clusters
//	views.go      what gatekeepers and Ganga users are told
//
// Three rules hold throughout. Unknown never changes anything. An attempt is
// given up only once its claim is settled, so that it cannot run behind jjm's
// back. And each decision is level-triggered: asked again with the same facts
// it says the same, so a crash between decision and action costs nothing.
package plan
