// Package operations proves that no sequence of operations loses or doubles work, while the daemon is killed with
// SIGKILL.
//
// Three accounts own the grid jobs of a site, whose local jobs fail by a seed. The test chooses operations and grid
// jobs by the same seed, runs each operation as a command of jjm, and reads the answers as JSON. A killed daemon starts
// again. Afterwards the test checks four things:
//
//   - jjm verify proves the ledger of each grid job, and agrees with the ledger of the applications outside of jjm
//   - the last answer to the gatekeeper equals its first final answer
//   - nothing is left of a removed grid job, except what docs/REMOVING.md names
//   - each operation did, in each state, what the table of this package says
//
// The package uses the programs only. The property tests of internal/engine play the same operations against a
// simulated batch system; they neither run the programs nor kill them.
//
// "make test-operations" runs the whole campaign, on the embedded batch system and on Slurm.
package operations
