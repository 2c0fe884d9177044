// Package wire defines the messages that jjm's clients and its daemon exchange on the local socket. A connection
// carries one request: one line of JSON in each direction, and then, for the verbs that stream, raw bytes or further
// lines.
//
//	-> {"verb":"lookup","refs":["12","13"]}
//	<- {"ok":true,"lookup":[{"id":12,"status":"running","gram":2,...}]}
//	-> {"verb":"lookup"}
//	<- {"ok":false,"last":true,"error":{"kind":"invalid","text":"lookup: refs is empty: want at least one id"}}
//
// The package holds the types, and reads and writes lines within limits of length. It promises that a decoded request
// is complete and well formed, and that an error names the member and a correct value. Packages of the engine carry
// out the requests (see package internal/api/serve); packages server and internal/api/client handle the connection.
//
// # Verbs
//
// A [Verb] has a name, limits, and the types of its request and its answer, all in one file. A new verb needs a file
// in this package, a package that carries it out, and a command. The list [Verbs] is generated.
//
// A reference names a job. It is an id, such as 12, or the handle that is computed from owner and request key
// ([jjm.Handle]). With a suffix it names local jobs: 12.3, HANDLE.3.
//
// Verbs that stream:
//
//	wait, records | further lines; Last is set in the last line
//	output, cat   | one line with the member bytes, then that many raw bytes (-1: all until the connection closes)
//
// # Versions
//
// A client may be older or newer than the daemon, because a daemon keeps running after an update until it is restarted.
// Therefore each verb has a version. The request has the version in the member "v", unless the version is 1.
//
//	client and daemon                                | what happens
//	the same version                                 | the request is carried out
//	the client is older                              | Invalid: names both versions; use the daemon's programs
//	the client is newer                              | Busy: names both versions; restart the daemon. A request that
//	                                                 | may be left in the spool waits there for the new daemon
//	a verb or a member that the daemon does not know | Invalid: names the nearest that it knows
//	a member that the client does not know           | the client ignores it
//
// All verbs have version 1 so far.
//
// # Dependencies
//
// Gatekeepers start programs that link this package thousands of times. So that these programs start quickly, this
// package does not import net. Of jjm it imports only packages jjm, selection, cover and small packages.
package wire
