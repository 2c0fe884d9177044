// Package server is the daemon's end of the local socket: gatekeepers and people connect to
// it to submit, look up and kill grid jobs. It uses the messages of package wire.
//
// It promises that no client can harm the daemon or another client:
//
//	what a client may do          | what the server does
//	send a long or slow request   | limits its length, and the time to send it
//	not read the answer           | limits the time without progress
//	open many connections         | counts them, in all and for each account
//	cause large requests, answers | takes their memory from one budget
//	cause a panic                 | answers with an error and ends this request only
//	close the connection          | cancels its request
//	close it before its request   | does not start the request: the client may have done
//	is read (the daemon hung)     | something else since
//
// The kernel reports who the caller is (SO_PEERCRED, unix(7)); a request cannot state this.
//
// The verbs define which requests exist and who may make them: see package serve.
package server

import "jjm/internal/api/wire"

// Caller is the account and process at the other end of a connection, as the kernel reports
// them.
type Caller = wire.Caller
