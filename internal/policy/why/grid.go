package why

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// The causes of a grid job as a whole. Paused, a cause of local jobs, is also a cause of grid jobs.
const (
	Reopening Code = "reopening"
	Over      Code = "over"
	Trouble   Code = "trouble"
	Kept      Code = "kept"
	After     Code = "after"
	Fetching  Code = "fetching"
	Preparing Code = "preparing"
	Files     Code = "waiting-for-files"
	Cutting   Code = "cutting"
	Outputs   Code = "collecting-outputs"
)

// GridCodes returns all causes of grid jobs.
func GridCodes() []Code {
	return []Code{Reopening, Over, Trouble, Kept, Paused, After, Fetching, Preparing, Files, Cutting, Outputs}
}

// GridFacts are the known facts about a grid job.
type GridFacts struct {
	ID     jjm.GridID
	Status jjm.GridStatus
	// Reason explains a status that is pending, paused or final, or why a registered grid job is kept.
	Reason                    string
	Accepted, Ended, Reopened jjm.Time
	// Reopening is set from the request for the next generation until that generation begins. Reopened is the time of the
	// request.
	Reopening bool
	// Trouble is the reason why the last step failed. The step is tried again.
	Trouble string
	// Awaited are the unfinished grid jobs that must end before the grid job begins.
	Awaited []jjm.GridID
	// Prepared is true if the work area and the package of inputs exist. Closed is true if no more local jobs will be
	// made. Idle is the reason why no more local jobs can be made now, "" if there is none. Unfinished is the number of
	// local jobs that have not ended.
	Prepared, Closed bool
	Idle             string
	Unfinished       int
	// Reads are the names of the datasets for whose files the first step of the grid job waits.
	Reads []string
	// LastMade is when the last local jobs were made; before the first, when the grid job was prepared; 0 if unknown.
	LastMade jjm.Time
	// Filling are the unfinished grid jobs that fill these datasets with their outputs.
	Filling []jjm.GridID
}

// OfGrid returns the reason why a grid job as a whole is in its state. The bool is false if the grid job has no reason
// of its own; the causes of its local jobs then explain the state.
func OfGrid(f GridFacts) (Cause, bool) {
	switch {
	case f.Reopening:
		return Cause{Code: Reopening, Text: "its next generation is about to begin", Since: f.Reopened}, true
	case f.Status.Final():
		return over(f), true
	case f.Trouble != "":
		return Cause{Code: Trouble, Text: f.Trouble, Remedy: fmt.Sprintf("see jjm log %s", f.ID)}, true
	case f.Status == jjm.Registered && f.Reason != "":
		done := "prepared"
		if f.Prepared {
			done = "submitted"
		}
		return Cause{Code: Kept, Text: "it could not be " + done + ", and is kept: " + f.Reason,
			Remedy: fmt.Sprintf("jjm submit %s, or jjm remove %[1]s", f.ID)}, true
	case f.Status == jjm.Paused:
		return Cause{Code: Paused, Text: f.Reason, Remedy: fmt.Sprintf("jjm resume job %s", f.ID)}, true
	case !f.Prepared:
		return before(f), true
	case !f.Closed && f.Idle != "":
		return files(f), true
	case !f.Closed && f.Status != jjm.Aborting:
		return Cause{Code: Cutting, Text: "its local jobs are being made"}, true
	case f.Unfinished == 0:
		return Cause{Code: Outputs, Text: "its local jobs have ended; its outputs are being collected in a tar"}, true
	}
	return Cause{}, false
}

// files returns the cause of a grid job that waits for files.
func files(f GridFacts) Cause {
	c := Cause{Code: Files, Text: f.Idle, Since: f.LastMade}
	if len(f.Reads) == 0 {
		return c
	}
	some := strings.Join(f.Reads[:min(len(f.Reads), 3)], ", ")
	if more := len(f.Reads) - 3; more > 0 {
		some += fmt.Sprintf(" and %d more", more)
	}
	c.Text += "; it reads " + some
	if len(f.Filling) > 0 {
		c.Text += ", filled by grid job " + list(f.Filling)
		c.Remedy = fmt.Sprintf("jjm why %s tells what that grid job waits for; it closes the dataset when it ends",
			f.Filling[0])
		return c
	}
	c.Remedy = fmt.Sprintf("jjm dataset show %s tells which files are there; if no more will come, jjm dataset close %s",
		f.Reads[0], f.Reads[0])
	return c
}

// over returns the cause of a grid job that has ended.
func over(f GridFacts) Cause {
	c := Cause{Code: Over, Text: "it is over: " + f.Status.String(), Since: f.Ended}
	if f.Reason != "" {
		c.Text += ": " + f.Reason
	}
	if f.Status != jjm.Done {
		c.Remedy = fmt.Sprintf("jjm status %s tells what failed, jjm resubmit %s runs it again", f.ID, f.ID)
	}
	return c
}

// before returns the cause of a grid job that is not prepared.
func before(f GridFacts) Cause {
	switch {
	case f.Status == jjm.Aborting:
		return Cause{Code: Outputs, Text: "it ends before it began"}
	case len(f.Awaited) > 0:
		return Cause{Code: After, Text: "it begins after the end of grid job " + list(f.Awaited), Since: f.Accepted,
			Remedy: fmt.Sprintf("jjm why %s tells what that one waits for", f.Awaited[0])}
	case f.Status == jjm.Pending && f.Reason != "":
		return Cause{Code: Fetching, Text: f.Reason, Since: f.Accepted}
	}
	return Cause{Code: Preparing, Text: "its work area and its package are being made", Since: f.Accepted}
}

// list returns at most three ids, for people.
func list(ids []jjm.GridID) string {
	var words []string
	for _, id := range ids[:min(len(ids), 3)] {
		words = append(words, id.String())
	}
	text := strings.Join(words, ", ")
	if more := len(ids) - len(words); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
