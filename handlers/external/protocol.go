package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"jjm"
	"jjm/handlers"
	"jjm/internal/strict"
)

// Protocol is the version that jjm speaks.
const Protocol = 1

// The limits of a program.
const (
	describeLimit = 20 * time.Second
	planLimit     = 20 * time.Second
	maxReply      = 8 << 20
	maxStderr     = 2 << 10
)

// request is what a program reads.
type request struct {
	Protocol int    `json:"protocol"`
	Verb     string `json:"verb"`
	Type     string `json:"type"`
	// Settings are those below [params], with the defaults of those that are not given.
	Settings map[string]any `json:"settings,omitempty"`
	// Job is what the job file says besides.
	Job *jobPart `json:"job,omitempty"`
	// Site is what the type may know of the site.
	Site *sitePart `json:"site,omitempty"`
}

// jobPart is what a plan may depend on.
type jobPart struct {
	Name     string             `json:"name,omitempty"`
	Mode     string             `json:"mode,omitempty"`
	Datasets []jjm.DatasetInput `json:"datasets,omitempty"`
	Inputs   []jjm.Input        `json:"inputs,omitempty"`
	Outputs  []string           `json:"outputs,omitempty"`
}

type sitePart struct {
	RecommendedCPU float64 `json:"recommended_cpu,omitempty"`
	MaxCPU         float64 `json:"max_cpu,omitempty"`
	MaxLocalJobs   int     `json:"max_local_jobs"`
}

// description is the answer to describe.
type description struct {
	Protocol int             `json:"protocol"`
	Summary  string          `json:"summary"`
	Result   string          `json:"result"`
	Reads    bool            `json:"reads"`
	Along    bool            `json:"along"`
	Settings handlers.Schema `json:"settings"`
	Example  string          `json:"example"`
}

// check finds what is wrong with a description.
func (d *description) check() (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if d.Protocol != Protocol {
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

// answer is the answer to plan: mistakes of the job file, or a plan.
type answer struct {
	Problems []problem `json:"problems"`
	Plan     *plan     `json:"plan"`
}

type problem struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

// plan says how a grid job is done. Exactly one of Events, Rows and Files says what the
// local jobs are.
type plan struct {
	Why    []string    `json:"why,omitempty"`
	Events *events     `json:"events,omitempty"`
	Rows   *[][]string `json:"rows,omitempty"`
	Files  *files      `json:"files,omitempty"`
	// Command has the placeholders of a part, Env too.
	Command    []string          `json:"command,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Outputs    []string          `json:"outputs,omitempty"`
	Inputs     []jjm.Input       `json:"inputs,omitempty"`
	SeedOffset int64             `json:"seed_offset,omitempty"`
	// Ends say what becomes of a local job by its exit code, Progress which phase of the
	// application tells how far a local job is.
	Ends     handlers.Ends `json:"ends,omitempty"`
	Progress string        `json:"progress,omitempty"`
}

// events are ranges.
type events struct {
	First  *int64 `json:"first,omitempty"` // 1 unless told
	Count  int64  `json:"count"`
	PerJob int64  `json:"per_job"`
}

// files are cut by a splitter unless the job file names another.
type files struct {
	Splitter string         `json:"splitter"`
	Params   map[string]any `json:"params,omitempty"`
}

// decode reads a reply strictly: a word that is not known is a mistake, with the nearest
// one that is.
func decode(text []byte, into any) jjm.Problems {
	var table map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&table); err != nil {
		return jjm.Problems{{Field: "reply", Text: fmt.Sprintf("is no JSON object: %v: %.80q", err, text)}}
	}
	if dec.More() {
		return jjm.Problems{{Field: "reply", Text: "goes on behind the JSON object: write one, and nothing else"}}
	}
	return strict.DecodeMap(table, "", into)
}
