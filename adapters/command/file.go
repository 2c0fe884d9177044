package command

import (
	"time"

	"jjm/internal/jjm"
)

// file is the text form of a description. docs/SITE-ADAPTERS.md explains every key.
type file struct {
	// Name is the name of the batch system for people.
	Name string `toml:"name"`
	// Environment is added to the environment of every command.
	Environment map[string]string `toml:"environment"`
	// None are words that mean an empty field of a listing.
	None         []string          `toml:"none"`
	Capabilities fileCapabilities  `toml:"capabilities"`
	IDs          fileIDs           `toml:"ids"`
	Job          fileJob           `toml:"job"`
	Times        fileTimes         `toml:"times"`
	States       map[string]string `toml:"states"`
	Rules        []fileRule        `toml:"rule"`
	Submit       *fileSubmit       `toml:"submit"`
	List         *fileQuery        `toml:"list"`
	Find         *fileQuery        `toml:"find"`
	Account      *fileQuery        `toml:"account"`
	Cancel       *fileControl      `toml:"cancel"`
	Hold         *fileControl      `toml:"hold"`
	Release      *fileControl      `toml:"release"`
	Probes       []fileProbe       `toml:"probe"`
}

// fileCapabilities is the table [capabilities].
type fileCapabilities struct {
	MaxBulk     int          `toml:"max_bulk"`
	MaxQueued   int          `toml:"max_queued"`
	TwoPhase    bool         `toml:"two_phase"`
	Settle      jjm.Duration `toml:"settle"`
	Guarantee   string       `toml:"guarantee"`
	Slots       int          `toml:"slots"`
	MaxCores    int          `toml:"max_cores"`
	MaxMemoryMB int64        `toml:"max_memory_mb"`
	MaxWalltime jjm.Duration `toml:"max_walltime"`
}

// fileIDs is the table [ids]: how the ids of bulks and jobs look.
type fileIDs struct {
	Bulk       string `toml:"bulk"`
	Job        string `toml:"job"`
	FirstIndex int64  `toml:"first_index"`
	// Name is a regular expression for the names of jobs; its first group is the tag.
	Name string `toml:"name"`
}

// fileJob is the table [job]: how the script of a job is written.
type fileJob struct {
	IDVariable    string   `toml:"id_variable"`
	IndexVariable string   `toml:"index_variable"`
	Directive     string   `toml:"directive"`
	Reserved      []string `toml:"reserved"`
}

// fileTimes is the table [times]: how the batch system writes times.
type fileTimes struct {
	Layouts    []string     `toml:"layouts"`
	Suffix     string       `toml:"suffix"`
	Zone       string       `toml:"zone"`
	Resolution jjm.Duration `toml:"resolution"`
}

// fileRule is one table [[rule]], which changes the state of a job depending on its reason and exit code.
type fileRule struct {
	When    string `toml:"when"`
	Reason  string `toml:"reason"`
	Exit    string `toml:"exit"`
	Becomes string `toml:"becomes"`
}

// fileOutcome is one table [[VERB.outcome]]: a way in which the command of a verb may end, and what it means.
type fileOutcome struct {
	Word          string  `toml:"word"`
	Exit          string  `toml:"exit"`
	Stdout        *string `toml:"stdout"`
	Stderr        *string `toml:"stderr"`
	Output        *string `toml:"output"`
	StdoutMatches *string `toml:"stdout_matches"`
	StderrMatches *string `toml:"stderr_matches"`
	OutputMatches *string `toml:"output_matches"`
}

// fileSubmit is the table [submit].
type fileSubmit struct {
	Command       []string            `toml:"command"`
	Script        string              `toml:"script"`
	Options       map[string][]string `toml:"options"`
	Memory        string              `toml:"memory"`
	MemoryPerCore bool                `toml:"memory_per_core"`
	Scratch       string              `toml:"scratch"`
	Walltime      string              `toml:"walltime"`
	Outcomes      []fileOutcome       `toml:"outcome"`
}

// fileQuery is the table of a verb that lists jobs: list, find or account.
type fileQuery struct {
	Command  []string      `toml:"command"`
	PerCall  int           `toml:"per_call"`
	Join     string        `toml:"join"`
	Since    string        `toml:"since"`
	History  jjm.Duration  `toml:"history"`
	Source   string        `toml:"source"`
	Outcomes []fileOutcome `toml:"outcome"`

	Columns   []string          `toml:"columns"`
	Separator string            `toml:"separator"`
	Header    string            `toml:"header"`
	End       string            `toml:"end"`
	Line      string            `toml:"line"`
	Ignore    []string          `toml:"ignore"`
	Begin     string            `toml:"begin"`
	Fields    map[string]string `toml:"fields"`
	ExitForm  string            `toml:"exit_form"`
}

// fileControl is the table of a verb that acts on jobs: cancel, hold or release.
type fileControl struct {
	Command   []string      `toml:"command"`
	PerCall   int           `toml:"per_call"`
	Join      string        `toml:"join"`
	WholeBulk bool          `toml:"whole_bulk"`
	HoldFirst bool          `toml:"hold_first"`
	Outcomes  []fileOutcome `toml:"outcome"`
}

// fileProbe is one table [[probe]]: a command that reports limits.
type fileProbe struct {
	Command  []string      `toml:"command"`
	Queue    []string      `toml:"queue"`
	Find     []string      `toml:"find"`
	Outcomes []fileOutcome `toml:"outcome"`
}

// The defaults for keys that a description leaves out.
const (
	defaultPerCall = 100
	defaultJoin    = ","
	defaultHistory = 7 * 24 * time.Hour
	defaultSettle  = time.Minute
)
