// Package web serves a read-only web page of the daemon: the site's clusters and grid jobs, one cluster, and one job.
//
// A user sees only the user's own jobs, an administrator sees all jobs. Every other reader sees only counts. Package
// web learns the account of a reader from a token, or from a header that a proxy sets; see [Config]. The verbs of the
// socket (package serve) decide what an account may see; the page calls these verbs like a client of the socket.
//
// The package promises that no reader can harm the daemon or another reader:
//
//	what a reader may do         | what the page does
//	send anything but GET        | refuses the request: the page changes nothing
//	send a long or slow request  | bounds its length, and the time to send it
//	not read the answer          | makes the answer in memory first, and bounds the time to send it
//	open many connections        | closes the oldest connection
//	watch many pages             | refuses more listeners, in all and for each account
//	give jobs a name with markup | escapes every text, and shows control characters as escapes
//
// Scripts and style sheets come only from files of the daemon itself: the Content-Security-Policy permits nothing else.
//
// docs/PAGE.md describes the page.
package web
