// Package jjm holds the domain types of jjm, a site's job manager: the types that all other
// packages pass to one another, with the checks that belong to them. It does no I/O, keeps no
// state and imports only the standard library. Policy is in plan and analyse, storage in store.
//
// A gatekeeper hands jjm a [GridJob]. jjm cuts each of its steps into [LocalJob]s, each of which owns one [Part] of the
// work permanently. A local job lives in a batch system as an [Attempt]; attempts are submitted together in a [Bulk],
// whose [Tag] finds them again even if the submission command crashed or its answer was lost. A [Report] is a batch
// system's statement about a job. [Evidence] is everything known about the end of an attempt: from the batch system,
// from the wrapper on the worker, and from its [Claim]. Each change is recorded as a [JournalEntry].
//
// docs/ARCHITECTURE.md describes the packages, and the imports that each package may have.
package jjm
