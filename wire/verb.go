package wire

import "jjm"

// Verb is one verb of the socket: its name, its bounds, and the types of its request and its answer. Each verb
// stands in the file of its noun, with what it takes and what it answers.
type Verb[Req Request, Ans Answer] struct{ About }

// About is what is known of a verb whatever its types are.
type About struct {
	Name string
	// Help says in a line what the verb does.
	Help string
	// Form is the version of the request and the answer; 0 means 1. It grows when an older client could
	// misunderstand the answer, or the daemon an older request. Members that may be absent need no new version.
	Form int
	// MaxBytes is the longest request line.
	MaxBytes int
	// Spooled is set if a gatekeeper may leave the request in the letter box (package spool) while no daemon answers.
	// The others need the daemon.
	Spooled bool
}

// The longest request lines, in bytes.
const (
	// MaxRequest is the longest of all: a job file may be 4 MiB, and its text is escaped.
	MaxRequest = 8 << 20
	// maxWithRefs holds MaxRefs references of maxRef bytes each.
	maxWithRefs = 1 << 20
	// maxShort is for requests of a few short texts.
	maxShort = 64 << 10
)

// Request is the request of a verb: a struct that embeds [Head] and has a member for each thing that the verb takes.
type Request interface {
	// Check finds what is wrong with the request whatever the site and its jobs are. The error is of kind Invalid
	// and names the member.
	Check() error
	head() Head
}

// Head is in every request.
type Head struct {
	Verb string `json:"verb"`
	// Form is the version of the verb that the client speaks, absent for the first.
	Form int `json:"v,omitempty"`
}

func (h Head) head() Head { return h }

// Answer is the answer of a verb: a struct that embeds [Reply] and has the members that belong to a success.
type Answer interface {
	// Outcome is the common part.
	Outcome() Reply
	// Check finds what a success lacks. The error is of kind Internal: the daemon is at fault.
	Check() error
}

// Reply is in every answer; it is all of an answer that is an error.
type Reply struct {
	OK bool `json:"ok"`
	// Last is set in the last line of an answer of several lines, and in every error.
	Last  bool   `json:"last,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Outcome implements Answer.
func (r Reply) Outcome() Reply { return r }

// Check implements Answer, for those whose members may all be absent.
func (Reply) Check() error { return nil }

// present is for the Check of an answer that has a member always.
func present(member string, there bool) error {
	if !there {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: member %s is missing", member)
	}
	return nil
}

// None is the answer of a verb that has nothing to say beyond its success.
type None struct{ Reply }

// Verbs describes the verbs, in the order in which they are documented.
func Verbs() []About {
	return []About{
		VerbPing().About, VerbSubmit().About, VerbLookup().About, VerbKill().About, VerbRelease().About,
		VerbStatus().About, VerbList().About, VerbWait().About, VerbRecord().About,
		VerbRecords().About, VerbOutput().About, VerbCat().About,
		VerbHistory().About, VerbLog().About, VerbJobTypes().About, VerbClusters().About, VerbOrder().About,
		VerbReset().About, VerbBan().About, VerbRenew().About, VerbRemark().About, VerbAdvertise().About, VerbDataset().About,
		VerbVerify().About, VerbRetract().About, VerbReplay().About,
	}
}

// unsure is a request that may have been carried out although its answer was lost.
type unsure interface {
	// Unsure says what may have happened and how to learn it; "" where the loss does no harm.
	Unsure() string
}

// UnsureOf says what may have become of a request whose answer was lost, "" if asking again does no harm.
func UnsureOf(r Request) string {
	if u, ok := r.(unsure); ok {
		return u.Unsure()
	}
	return ""
}

// form is the version of the verb.
func (a About) form() int { return max(a.Form, 1) }

// Line returns a request as a line. One that is too long is an error of kind Invalid.
func (v Verb[Req, Ans]) Line(req Req) ([]byte, error) { return v.requestLine(&req) }

// Decode reads a request whose head was read by [DecodeHead], and checks it. Its errors are of kind Invalid and say
// what would be right; where the client is newer than the daemon the error is Busy, because the daemon may soon be
// as new.
func (v Verb[Req, Ans]) Decode(head Head, line []byte) (Req, error) {
	var req Req
	if err := v.decode(head, line, &req); err != nil {
		return req, err
	}
	return req, req.Check()
}

// AnswerLine returns an answer as a line; last marks the last line of an answer of several.
func (v Verb[Req, Ans]) AnswerLine(ans Ans, last bool) ([]byte, error) { return answerLine(&ans, last) }

// DecodeAnswer reads an answer. Members that it does not know are ignored: the daemon may be newer than the client.
// An error that the daemon answered is in the outcome of the answer.
func (v Verb[Req, Ans]) DecodeAnswer(line []byte) (Ans, error) {
	var ans Ans
	if err := decodeAnswer(line, &ans); err != nil {
		return ans, err
	}
	if !ans.Outcome().OK {
		return ans, nil
	}
	return ans, ans.Check()
}
