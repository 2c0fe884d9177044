// Package gate is the door of the daemon: the Unix socket on which gatekeepers
// and people submit, look up and kill grid jobs. It speaks package wire.
//
// It promises that nothing a client does can hurt the daemon or another
// client. A request is bounded in length and in the time to send it, its
// answer in the time without progress to receive it; connections are counted,
// in all and per user; what requests and answers hold in memory is taken from
// one budget; a panic in one request ends that request. A client that goes
// away cancels its request; what it gave up while the daemon hung is not begun.
// Who the caller is comes from the kernel (SO_PEERCRED, unix(7)), never from the
// request.
//
// It leaves to the [Verb]s that it is given what there is to ask and who may ask it. A verb brings its types and its
// bounds from package wire, and from the daemon its rank, its time and the function that carries it out; package
// gate/verbs makes them.
package gate

import "jjm/wire"

// Caller is who is at the other end of a connection, as the kernel says.
type Caller = wire.Caller
