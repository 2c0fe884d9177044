// Package wire is the language of jjm's local socket: what a client sends and
// what the daemon answers. One request per connection: one line of JSON each
// way, then, for the verbs that stream, raw bytes or further lines.
//
//	-> {"verb":"lookup","refs":["12","13"]}
//	<- {"ok":true,"lookup":[{"id":12,"status":"running","gram":2,...}]}
//	-> {"verb":"lookup"}
//	<- {"ok":false,"last":true,"error":{"kind":"invalid","text":"lookup: refs is empty: want at least one id"}}
//
// # Verbs
//
// A verb is a [Verb]: a name, bounds, and the types of its request and its answer, which stand in one file. A new
// one is a file here and a line in [Verbs]; a file in gate/verbs and a line in the daemon's list; and a command.
//
// A reference is an id, such as 12, or the handle that follows from owner and
// request key ([jjm.Handle]), each with the local jobs meant: 12.3, HANDLE.3.
//
// Verbs that stream: "wait" answers a line per change, the last one with Last
// set. "output" and "cat" answer one line with Bytes (-1 = until the connection
// closes), then that many raw bytes.
//
// # Versions
//
// A client may be older or newer than the daemon: gatekeepers run what they were installed with, and a daemon runs
// on until it is restarted. So each verb has a version of its form, which is in the request as "v" unless it is 1.
//
//	client and daemon                               | what happens
//	the same version                                | the request is carried out
//	the client is older                             | Invalid: says which versions, and to use the daemon's programs
//	the client is newer                             | Busy: says which versions, and to restart the daemon; what may be
//	                                                | left in the letter box waits there for it
//	a verb or a member that the daemon does not know | Invalid: names the nearest that it knows
//	a member that the client does not know          | the client ignores it
//
// All verbs have version 1: the lines are those that were spoken before verbs had versions, so that older clients are
// answered.
//
// The package holds types, and the reading and writing of lines within bounds. Of jjm it
// imports only the root package and the words of cover, and no net: the client that
// gatekeepers exec thousands of times links it.
package wire
