package jjm

// Cause is a reason why local jobs of a grid job failed or are tried again. Local jobs with the same cause are counted
// together.
type Cause struct {
	// Text is the common part of the local jobs' messages. If there are too many causes, "" stands for the remaining
	// causes.
	Text string `json:"text,omitempty"`
	// Again is set if the local jobs have not failed permanently, but wait for their next attempt.
	Again bool `json:"again,omitempty"`
	Jobs  int  `json:"jobs"`
	// First is the id of one of the local jobs, such as "17.3". Exit is its exit code, -1 if it has no exit code. Host
	// is where its last attempt ran, "" if that is not known.
	First string `json:"first"`
	Exit  int    `json:"exit"`
	Host  string `json:"host,omitempty"`
}
