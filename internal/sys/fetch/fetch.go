// Package fetch copies a file from an http or https server into a work area, as the account whose input it is. It also
// sends events to such servers, by the same rules.
//
// [Get] fetches a file, and [Send] sends an event, in the calling process. [Child] does the same in a child process,
// which runs this program again. The child runs as the account that runs the commands under its context (see package
// run). A slow, endless or hostile server can only delay this child, within the limits of [Config].
//
// # Promises
//
// A fetched file is one state of the file on the server, never a mixture of two states. An interrupted transfer
// continues only if a strong validator (RFC 9110, 8.8.1) shows that the file at the same address is unchanged;
// otherwise it starts again. The bytes are stored as they arrive and never uncompressed. The file gets its name only
// after it is complete, has the right checksum, and is on the disk.
//
// The address of each connection is checked after the name was resolved, also for redirects: private networks are
// refused unless the site allows them ([Config.Networks]). Certificates are always verified, and no proxy is used.
// Credentials are sent only to the scheme, host and port that the job file names.
//
// Texts about a transfer contain no credential and no query of a URL.
package fetch

import "jjm/internal/jjm"

// Order describes a file to fetch or an event to send, and the limits. A [Child] reads it as JSON.
type Order struct {
	URL string `json:"url"`
	// Credential is the content of the credential file, "" if there is none.
	Credential string `json:"credential,omitempty"`
	// Post is the event to send to the URL. If Post is nil, the file is fetched and stored as File below Root.
	Post *Post `json:"post,omitempty"`
	// SHA256 is the checksum that the file must have, in hex; "" if it is unknown.
	SHA256 string `json:"sha256,omitempty"`
	// Root is the absolute path of a work area, File the path of the file in it. Files of the unfinished transfer are
	// beside it.
	Root string `json:"root,omitempty"`
	File string `json:"file,omitempty"`
	// The following limits come from the settings of the site.
	MaxBytes     int64        `json:"max_bytes,omitempty"`
	MaxTime      jjm.Duration `json:"max_time,omitzero"`
	MinRate      int64        `json:"min_rate,omitempty"`
	Networks     []string     `json:"networks,omitempty"`
	Certificates string       `json:"certificates,omitempty"`
}

// Report is the result of one try to fetch a file or to send an event.
type Report struct {
	// Done is set if the file is complete and has its name, or if the server took the event.
	Done bool `json:"done,omitempty"`
	// Bytes is the number of bytes fetched so far.
	Bytes int64 `json:"bytes"`
	// Total is the length of the file in bytes, 0 if it is not known.
	Total int64 `json:"total,omitempty"`
	// Trouble is the error because of which the order is not done. Again is set if another try may succeed. Wait is the
	// minimum time that the server asked to wait before the next try.
	Trouble string       `json:"trouble,omitempty"`
	Again   bool         `json:"again,omitempty"`
	Wait    jjm.Duration `json:"wait,omitzero"`
}

// Tries counts the failed tries of one file. A try that fetched much more than all earlier tries starts the count
// again.
type Tries struct {
	best int64 // the most bytes after any try
	vain int
}

// progress is the number of bytes by which a try must exceed the best earlier try to reset the count of failed tries.
const progress = 1 << 20

// Add counts a try that did not complete the file. It returns the number of tries in a row that failed without
// progress, including this try.
func (t *Tries) Add(r Report) int {
	if r.Bytes >= t.best+progress {
		t.best, t.vain = r.Bytes, 0
	}
	t.vain++
	return t.vain
}
