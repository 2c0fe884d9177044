// Package metrics publishes figures about the site to Prometheus, in its text format, at GET /metrics of a listener.
//
// The figures come from two sources. Events (requests, commands of batch systems, transactions of the store) are
// observed one by one, by the methods of Meter. All other figures are the facts of "jjm health" and the counts of the
// engine; they are collected at each scrape.
//
// The package promises that a scrape has fewer than 2000 series, and that no series names an account, a job or a
// certificate: the values of labels are from closed sets, or are names of clusters in the configuration. Only the first
// MostClusters clusters have series.
//
// No client can block the daemon or another client. A scrape is complete in memory before the first byte is sent, so no
// lock is held while a client reads. The number of connections is bounded: a new connection above the limit closes the
// oldest one.
//
// docs/SERVICE.md lists the figures.
package metrics
