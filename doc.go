// Package jjm holds the domain types of jjm, a site's job manager: the types that all other
// packages pass to one another, with the checks that belong to them. It does no I/O, keeps no
// state and imports only the standard library. Policy is in plan and analyse, storage in store.
//
// A gatekeeper hands jjm a [GridJob]. jjm cuts each of its steps into [LocalJob]s, each of which
// owns one [Part] of the work for good. A local job lives in a batch system as an [Attempt];
// attempts are submitted together in a [Bulk], whose [Tag] finds them again even if the
// submission command crashed or its answer was lost. What a batch system says about a job is a
// [Report]; what is known about the end of an attempt, from the batch system, from the wrapper
// on the worker and from its [Claim], is [Evidence]. Every change is written down as a
// [JournalEntry].
//
// # Where a line lives
//
// A package imports only packages of lower layers; a test enforces it.
//
//	0  jjm                     the words (this package)
//	0  internal/...            strict decoding, spelling, golden rows, what tests need
//	1  split                   cut work into parts that cover it exactly once (pure)
//	1  split/jedi              JEDI's way: files and event ranges into jobs (pure)
//	1  catalogue               descriptions of files: lists and folders (pure)
//	1  cover                   was the work done exactly once? (pure)
//	1  selection               which jobs a command is about: patterns, filters (pure)
//	1  stream                  names of outputs by templates, streams in commands (pure)
//	1  glf                     read and write GBS log files (pure)
//	1  analyse                 evidence of how an attempt ended -> verdict (pure)
//	1  analyse/rule            the rules of that as data (pure)
//	1  jobfile                 read job files and name every mistake in them (pure)
//	1  wire                    what the socket speaks: types and lines
//	1  wire/spool              the daemon's letter box, for while it is away
//	1  sandbox                 the work area below one directory handle
//	1  xmldb, xmldb/head       publish and load the XML records; the half for clients
//	1  xmldb/query             paths in records (pure)
//	1  publish/accounting      BLAH's accounting log, a line per attempt
//	1  publish/advertise       what the site tells brokers: ClassAd, GLUE 2.0 (pure)
//	1  run, run/asuser         the only way to start a child process; as another account
//	2  adapters, handlers      the two contracts that plug-in authors meet
//	2  fetch                   inputs that lie on servers, brought into a work area
//	3  adapters/local          the embedded batch system
//	3  adapters/slurm, adapters/condor, adapters/pbs, adapters/sge
//	3  adapters/command        a batch system that the site describes in TOML
//	3  adapters/pbs/fakepbs    a PBS to test against
//	3  adapters/testbed        the real batch systems, for tests
//	3  adapters/idealize       makes an ideal batch system of a real one
//	3  adapters/conformance    what every adapter must do, as checks with real jobs
//	3  adapters/adaptertest    runs them in tests; the simulated batch system
//	3  publish/advertise/collector  keeps the site's ad in the collectors of brokers
//	3  handlers/conformance    what every job type must do
//	3  handlers/external       job types of programs in any language
//	4  handlers/declared       job types of TOML files
//	4  handlers/handlertest    runs that suite as a test
//	3  handlers/...            one job type each
//	4  adapters/all, handlers/all   one line per built-in
//	4  store                   the authoritative state (SQLite)
//	4  store/highwater         the highest id given out, kept beside the store
//	4  plan                    all policy (pure)
//	5  engine/fair, engine/areas, engine/outputs  by account; work areas; names of outputs
//	6  engine/base, engine/endings  what every room works with; what may be over
//	7  engine/state            what is true now, and the changes that make it so
//	8  engine/lineage, engine/jobtype, engine/sweep  who made what; job types; old folders
//	8  engine/remote           inputs that are URLs, fetched account by account
//	8  engine/choice           the jobs that patterns and filters select
//	8  engine/dependency       grid jobs that begin after others
//	9  engine/gridjob, engine/dataset, engine/feed, engine/cluster, engine/verdict
//	9  engine/proof, engine/record, engine/reopen, engine/removal, engine/wish, engine/site
//	9  engine/intake, engine/answer
//	10  engine                 wires the rooms and runs their loops
//	11  gate, gate/client      the socket gatekeepers and people talk to; their end of it
//	11  gate/verbs             the verbs of the socket, each made of a plain function
//	11  gate/gatetest          jobs in memory behind a gate, for tests of both ends
//	12  gatekeeper             the door of gatekeepers: answers within a second, whatever happens
//	12  app                    read config, wire, start, reload, stop
//	12  gatekeeper/...         a plain job as a job file; one gatekeeper's language each
//	13  cmd/jjm                the command line
//	13  cmd/jjm-gatekeeper     what the scripts of gatekeepers run
//	13  cmd/jjm-daemon         the daemon
//	13  cmd/jjm-wrapper        what runs on the worker
//	14  test/...               campaigns and benchmarks that run the real programs
package jjm
