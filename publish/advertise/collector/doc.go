// Package collector keeps a site's ad in the collectors of brokers: HTCondor's,
// by its commands condor_advertise and condor_status.
//
// # What it promises
//
// The ad is sent again and again, because a collector drops what is not renewed
// and forgets all when it starts anew; and each time it is read back and
// compared, because condor_advertise ends with 0 also where nothing was
// published. It is withdrawn when the daemon stops. Before anything is sent it is
// noted in a file where an ad may lie, so that a daemon with other settings takes
// away what a killed one left.
//
// A collector that is down, refuses, hangs or forgets holds up nobody: each has a
// goroutine of its own, each command a deadline. What goes wrong is told by
// [Publisher.Status] and tried again.
//
// What the ad says is package advertise's.
package collector
