// Package command is the adapter for batch systems that a site describes itself.
//
// A description is a TOML file. For each verb (submit, list, find, account, cancel, hold, release, probe) it has the
// command to run, as words with templates such as %__TAG__, and the outcomes, which define the meaning of the command's
// exit code and output. The batch adapter "database" of SAM worked in the same way. docs/SITE-ADAPTERS.md explains
// every key; etc/adapters has descriptions of real systems.
//
// [Parse] converts a file into a [Description] and reports all mistakes of the file together, with their places. A
// Description does no I/O: it converts a bulk into a command, and the output of a command into an answer. Only
// [Adapter] runs commands.
//
// # Guarantees
//
// A submission succeeds only if an outcome named "ok" matches and captures exactly one id. An answer that matches no
// outcome is ambiguous. A listing counts only if one of its outcomes accepts the output and every line can be parsed.
// The adapter acts on a job only if the job has the right tag.
//
// # Failures
//
// The callers handle retries, ambiguous outcomes and missing jobs, as for every adapter. The adapter has no memory: if
// a batch system forgets ended jobs immediately, its description needs a verb "account"; otherwise jjm relies on the
// results that its wrapper wrote.
package command
