// Package external makes job types of programs in any language. A program is asked twice:
// once what it is (describe), at the start of the daemon, and once for each grid job how
// that is done (plan), when it is accepted. It reads a JSON object from its standard input
// and writes one to its standard output; docs/JOB-TYPES.md has the protocol.
package external
