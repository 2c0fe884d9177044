// Package command is the adapter of batch systems that a site describes itself.
//
// A description is a TOML file: for each verb - submit, list, find, account,
// cancel, hold, release, probe - the command to run, as words with templates
// such as %__TAG__, and the outcomes that tell what its exit status and its
// output mean. It is the batch adapter "database" of SAM in another form.
// docs/SITE-ADAPTERS.md explains every key; etc/adapters holds descriptions of
// real systems.
//
// [Parse] makes a [Description] of a file and reports all its mistakes at once,
// with their places. From there everything is pure: a description turns a bulk
// into a command, and what a command left into an answer. Only [Adapter] runs
// commands.
//
// # What it promises
//
// A submission counts as done only if an outcome named "ok" matches with one
// and only one id; an answer that no outcome explains is ambiguous. A listing
// counts only if an outcome accepts it and every line of it is understood. No
// job is acted on that does not carry the tag it should.
//
// # What it leaves to others
//
// Retrying, doubt and absence, as every adapter. It has no memory: a batch
// system that forgets ended jobs at once needs a verb "account" in its
// description, or jjm relies on the results that its wrapper wrote.
package command
