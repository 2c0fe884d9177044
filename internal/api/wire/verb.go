package wire

import "jjm/internal/jjm"

// Verb is one verb of the socket: its name, its limits, and the types of its request and
// its answer. Each verb is in a file named after its noun, together with these types.
type Verb[Req Request, Ans Answer] struct{ About }

// About describes a verb without its types.
type About struct {
	Name string
	// Help describes in one sentence what the verb does.
	Help string
	// Version is the version of the request and the answer; 0 means 1. It must grow when an
	// older client could misunderstand the answer, or an older daemon the request. An
	// optional member needs no new version.
	Version int
	// MaxBytes is the longest request line, in bytes.
	MaxBytes int
	// Spooled is set if a gatekeeper may leave the request in the spool (package spool)
	// while no daemon answers. All other requests need a daemon.
	Spooled bool
}

// The longest request lines, in bytes.
const (
	// MaxRequest is the longest of all. A job file may have 4 MiB, and JSON escapes some of
	// its characters.
	MaxRequest = 8 << 20
	// maxWithRefs has room for MaxRefs references of maxRef bytes each.
	maxWithRefs = 1 << 20
	// maxShort is for requests with a few short texts.
	maxShort = 64 << 10
)

// Request is the request of a verb: a struct that embeds [Head], with one member for each
// argument.
type Request interface {
	// Check returns the first mistake that can be found without knowing the site and its
	// jobs. The error is of kind Invalid and names the member.
	Check() error
	head() Head
}

// Head is the part that all requests have.
type Head struct {
	Verb string `json:"verb"`
	// Version is the version of the verb that the client uses. The first version is left
	// out.
	Version int `json:"v,omitempty"`
}

func (h Head) head() Head { return h }

// Answer is the answer of a verb: a struct that embeds [Reply], with the members of a
// success.
type Answer interface {
	// Outcome returns the common part.
	Outcome() Reply
	// Check returns an error if a success lacks a member. The error is of kind Internal,
	// because the daemon is at fault.
	Check() error
}

// Reply is the part that all answers have. An error consists only of it.
type Reply struct {
	OK bool `json:"ok"`
	// Last is set in the last line of an answer of several lines, and in every error.
	Last  bool   `json:"last,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Outcome returns r.
func (r Reply) Outcome() Reply { return r }

// Check accepts every answer. It serves the answers whose members are all optional.
func (Reply) Check() error { return nil }

// present is for the Check of an answer that must have a member.
func present(member string, there bool) error {
	if !there {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: member %s is missing", member)
	}
	return nil
}

// None is the answer of a verb that returns nothing but its success.
type None struct{ Reply }

// Verbs returns the descriptions of all verbs, in the order of the documentation.
func Verbs() []About {
	return []About{
		VerbPing().About, VerbSubmit().About, VerbLookup().About, VerbKill().About, VerbRelease().About, VerbResubmit().About,
		VerbCopy().About, VerbRemove().About, VerbSelect().About,
		VerbStatus().About, VerbList().About, VerbWait().About, VerbRecord().About,
		VerbRecords().About, VerbOutput().About, VerbCat().About,
		VerbHistory().About, VerbExplain().About, VerbWhy().About, VerbLog().About, VerbJobTypes().About, VerbModels().About,
		VerbClusters().About, VerbHealth().About,
		VerbOrder().About,
		VerbReset().About, VerbBan().About, VerbRenew().About, VerbRemark().About, VerbAdvertise().About, VerbDataset().About,
		VerbVerify().About, VerbRetract().About, VerbReplay().About,
	}
}

// unsure is implemented by requests that may have been carried out although their answer
// was lost.
type unsure interface {
	// Unsure returns the text for a lost answer: what may have happened and how to find out. "" means that a repeated
	// request does no harm.
	Unsure() string
}

// UnsureOf returns what may have happened to a request whose answer was lost, "" if
// repeating the request does no harm.
func UnsureOf(r Request) string {
	if u, ok := r.(unsure); ok {
		return u.Unsure()
	}
	return ""
}

// version returns the version of the verb, 1 or more.
func (a About) version() int { return max(a.Version, 1) }

// Line returns the request as a line. A line longer than MaxBytes is an error of kind
// Invalid.
func (v Verb[Req, Ans]) Line(req Req) ([]byte, error) { return v.requestLine(&req) }

// Decode reads a request whose head [DecodeHead] returned, and checks it. Its errors are of kind Invalid and say what
// would be right. If the client is newer than the daemon, the error is Busy, since the daemon may soon be restarted
// in that version.
func (v Verb[Req, Ans]) Decode(head Head, line []byte) (Req, error) {
	var req Req
	if err := v.decode(head, line, &req); err != nil {
		return req, err
	}
	return req, req.Check()
}

// AnswerLine returns an answer as a line. last marks the last line of an answer of several
// lines.
func (v Verb[Req, Ans]) AnswerLine(ans Ans, last bool) ([]byte, error) { return answerLine(&ans, last) }

// DecodeAnswer reads an answer and ignores unknown members, because the daemon may be newer
// than the client. If the daemon answered with an error, it is in the Reply of the answer
// and DecodeAnswer itself returns none.
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
