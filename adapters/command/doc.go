// Package command is the adapter for batch systems that a site describes itself.
//
// A description is a TOML file. For each verb (submit, list, find, account, cancel, hold, release, probe) it has the
// command to run, as words with templates such as %__TAG__, and the outcomes, which define the meaning of the command's
// exit code and output. It is the batch adapter "database" of SAM in another form. docs/SITE-ADAPTERS.md explains every
// key; etc/adapters has descriptions of real systems.
//
// [Parse] converts a file into a [Description] and reports all mistakes of the file together, with their places. Then
// everything is pure: a description turns a bulk into a command, and the output of a command into an answer. Only
// [Adapter] runs commands.
//
// # What it promises
//
// A submission succeeds only if an outcome named "ok" matches with exactly one id. An answer that matches no outcome is
// ambiguous. A listing counts only if an outcome accepts it and every line of it can be parsed. The adapter acts on a
// job only if the job has the right tag.
//
// # What it leaves to others
//
// Retries, ambiguous outcomes and missing jobs are left to the callers, as in every adapter. The adapter has no memory:
// if a batch system forgets ended jobs immediately, its description needs a verb "account"; otherwise jjm relies on the
// results that its wrapper wrote.
package command
