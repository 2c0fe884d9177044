// Package advertise says what a site tells brokers of itself: the facts, as the
// ClassAd of HTCondor's matchmaking and as a document of GLUE 2.0.
//
// It is pure: it sends nothing and asks nobody. What is not known is told as not
// known - undefined in a ClassAd, left out of GLUE - and never as zero: a broker
// must not take a batch system that does not answer for an empty one. Package
// advertise/collector sends the ad.
package advertise
