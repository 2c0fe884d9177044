// Package stream names the files that local jobs read and write (decision R29): templates of output names, the numbers
// in these names, and the placeholders of streams in command lines. It does no I/O.
//
// A stream is a short name, such as EVNT, for an input dataset, an output or a sequence of
// numbers; "{EVNT}" in a command stands for the file names (or numbers) of the local job.
//
//	template              hits.${SN}.root
//	serial of the job     17
//	name of the file      hits.000017.root
//
// ${SN} is the serial number of the local job within its step, as in JEDI's output naming. Each template has a
// counter. Every new local job takes the next number, even if it repeats the work of another local job. A retry keeps
// its number. The store counts; this package only returns the templates that need a number.
package stream
