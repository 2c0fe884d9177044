// Package advertise describes a site to brokers: it formats the facts about the site as a
// ClassAd for HTCondor's matchmaking and as a GLUE 2.0 document.
//
// It does no I/O. It promises that what is not known is published as not known (undefined
// in a ClassAd, left out of GLUE) and never as zero: a broker must not take a batch system
// that does not answer for an empty one. Sending the ad is left to package
// advertise/collector.
package advertise
