package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"jjm/handlers"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// Protocol is the version of the protocol between jjm and programs.
const Protocol = 1

// The limits for a program's answers.
const (
	describeLimit = 20 * time.Second
	planLimit     = 20 * time.Second
	maxReply      = 8 << 20
	maxStderr     = 2 << 10
)

// request is the JSON object that a program reads.
type request struct {
	Protocol int    `json:"protocol"`
	Verb     string `json:"verb"`
	Type     string `json:"type"`
	// Settings are the keys below [params] of the job file, with defaults for missing keys.
	Settings map[string]any `json:"settings,omitempty"`
	// Job contains the other keys of the job file that a plan may depend on.
	Job *jobPart `json:"job,omitempty"`
	// Site contains the facts about the site that a plan may depend on.
	Site *sitePart `json:"site,omitempty"`
}

// jobPart contains the keys of a job file that a plan may depend on.
type jobPart struct {
	Name     string             `json:"name,omitempty"`
	Mode     string             `json:"mode,omitempty"`
	Datasets []jjm.DatasetInput `json:"datasets,omitempty"`
	Inputs   []jjm.Input        `json:"inputs,omitempty"`
	Outputs  []string           `json:"outputs,omitempty"`
	Required []string           `json:"outputs_required,omitempty"`
}

// sitePart contains the facts about the site that a plan may depend on.
type sitePart struct {
	RecommendedCPU float64 `json:"recommended_cpu,omitempty"`
	MaxCPU         float64 `json:"max_cpu,omitempty"`
	MaxLocalJobs   int     `json:"max_local_jobs"`
}

// description is the answer to "describe".
type description struct {
	Protocol int             `json:"protocol"`
	Summary  string          `json:"summary"`
	Result   string          `json:"result"`
	Reads    bool            `json:"reads"`
	Along    bool            `json:"along"`
	Settings handlers.Schema `json:"settings"`
	Example  string          `json:"example"`
}

// check returns the problems of a description.
func (d *description) check() (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	switch d.Protocol {
	case Protocol:
	case 0:
		bad("protocol", `is missing: add "protocol": %d`, Protocol)
	default:
		bad("protocol", "%d: this jjm speaks %d", d.Protocol, Protocol)
	}
	if d.Summary == "" || strings.ContainsAny(d.Summary, "\n\r") {
		bad("summary", "want one line that says what the type does")
	}
	if d.Result == "" {
		d.Result = jjm.ResultExit
	}
	if d.Result != jjm.ResultExit && d.Result != jjm.ResultGLF {
		bad("result", "%.40q: want %q or %q", d.Result, jjm.ResultExit, jjm.ResultGLF)
	}
	if d.Reads && d.Along {
		bad("along", "is for types that make their work themselves: leave it out, or reads")
	}
	return append(problems, d.Settings.Check("settings")...)
}

// answer is the answer to "plan": mistakes in the job file, or a plan.
type answer struct {
	Problems []problem `json:"problems"`
	Plan     *plan     `json:"plan"`
}

// problem is a mistake in the job file that the program found.
type problem struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

// plan describes the local jobs of a grid job. Exactly one of Events, Rows and Files is set: it is the work to divide
// into local jobs.
type plan struct {
	Why    []string    `json:"why,omitempty"`
	Events *events     `json:"events,omitempty"`
	Rows   *[][]string `json:"rows,omitempty"`
	Files  *files      `json:"files,omitempty"`
	// Command and Env may contain the placeholders of a part.
	Command    []string          `json:"command,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Outputs    []string          `json:"outputs,omitempty"`
	Required   []string          `json:"outputs_required,omitempty"`
	Inputs     []jjm.Input       `json:"inputs,omitempty"`
	SeedOffset int64             `json:"seed_offset,omitempty"`
	// Analyse contains the words of a command that runs on the worker and judges the attempt; they may contain the
	// placeholders of a part.
	Analyse []string `json:"analyse,omitempty"`
	// Ends are verdicts for exit codes. Progress is the phase of the application whose progress is shown for a running
	// local job.
	Ends     handlers.Ends `json:"ends,omitempty"`
	Progress string        `json:"progress,omitempty"`
}

// events is work that consists of ranges of events.
type events struct {
	First  *int64 `json:"first,omitempty"` // the first event; 1 if it is missing
	Count  int64  `json:"count"`
	PerJob int64  `json:"per_job"`
}

// files is work that consists of files. The splitter divides the files unless the job file names another splitter.
type files struct {
	Splitter string         `json:"splitter"`
	Params   map[string]any `json:"params,omitempty"`
}

// pythonDict reports whether an object has the form in which Python's print writes a dict: its first key is in single
// quotes.
func pythonDict(object []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(object[1:], " \n"), []byte("'"))
}

// decode parses a reply strictly. An unknown key is a problem, whose text names the nearest known key. Text after the
// JSON object is also a problem.
func decode(text []byte, into any) jjm.Problems {
	var table map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&table)
	switch begin := bytes.TrimSpace(text); {
	case err == nil:
	case len(begin) == 0:
		return jjm.Problems{{Field: "reply", Text: "it printed nothing: print the JSON object on standard output"}}
	case begin[0] != '{':
		return jjm.Problems{{Field: "reply", Text: fmt.Sprintf("is not a JSON object: it printed something besides its reply, "+
			"which begins %.80q: print all else on standard error", begin)}}
	case pythonDict(begin):
		return jjm.Problems{{Field: "reply", Text: fmt.Sprintf("is not a JSON object but as Python prints a dict, with single "+
			"quotes: want print(json.dumps(reply)): %.80q", begin)}}
	default:
		return jjm.Problems{{Field: "reply", Text: fmt.Sprintf("is not a JSON object: %v: %.80q", err, begin)}}
	}
	if dec.More() {
		return jjm.Problems{{Field: "reply", Text: "goes on after the JSON object: write one, and nothing else"}}
	}
	return strict.DecodeMap(table, "", into)
}
