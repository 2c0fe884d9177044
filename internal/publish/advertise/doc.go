// Package advertise describes a site to brokers: it formats the facts about the site as a
// ClassAd for HTCondor's matchmaking and as a GLUE 2.0 document.
//
// It does no I/O. It promises that an unknown fact is published as unknown (undefined in a ClassAd, left out of GLUE)
// and never as zero: a broker must not mistake a batch system that does not answer for an empty batch system. Package
// advertise/collector sends the ad.
package advertise
