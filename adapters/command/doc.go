// Package command is the adapter for batch systems that a site describes itself.
//
// A description is a TOML file. For each verb (submit, list, find, account, cancel, hold,
// release, probe) it has the command to run, as words with templates such as %__TAG__, and
// the outcomes that say what its exit code and its output mean. It is the batch adapter
// "database" of SAM in another form. docs/SITE-ADAPTERS.md explains every key; etc/adapters
// has descriptions of real systems.
//
// [Parse] makes a [Description] from a file and reports all its mistakes at once, with
// their places. After that everything is pure: a description turns a bulk into a command,
// and the output of a command into an answer. Only [Adapter] runs commands.
//
// # What it promises
//
// A submission counts as done only if an outcome named "ok" matches with exactly one id. An
// answer that no outcome explains is ambiguous. A listing counts only if an outcome accepts
// it and every line of it is understood. No job is acted on without the right tag.
//
// # What it leaves to others
//
// Retrying, doubt and absence, like every adapter. It has no memory: a batch system that forgets ended jobs immediately
// needs a verb "account" in its description, or jjm relies on the results that its wrapper wrote.
package command
