package verdict

import (
	"context"
	"fmt"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// gone returns the files that kept an attempt from starting and really cannot be read: the wrapper did not find them,
// and this check cannot read them either. A file that only the wrapper missed is a problem of the worker.
func (ju *Judge) gone(ctx context.Context, ar *areas.Area, l *jjm.LocalJob, en *endings.Ending) ([]state.GoneFile,
	error) {
	if en.Result == nil || len(en.Result.Gone) == 0 || l.Step != jjm.StepWork {
		return nil, nil
	}
	locals := []jjm.LocalJob{*l}
	if err := ju.s.ReadInputs(ctx, locals); err != nil {
		return nil, err
	}
	job := ju.s.JobOf(l.ID.Grid)
	opened, err := ju.lineage.Opening(ctx, &job)
	if err != nil {
		return nil, err
	}
	_, given, err := opened.Part(ctx, locals[0].Part.Input, "")
	if err != nil {
		return nil, err
	}
	missed := map[string]bool{}
	for _, g := range en.Result.Gone {
		missed[g.Link] = true
	}
	var files []state.GoneFile
	for _, f := range given {
		if !missed[f.Link] {
			continue
		}
		is, why, err := ar.CheckMade(f.Path, f.Size)
		if err != nil {
			return nil, err
		}
		if is != jjm.FileReady {
			files = append(files, state.GoneFile{Dataset: f.Dataset, LFN: f.LFN, Own: f.Of == jjm.OwnFiles, State: is, Why: why})
		}
	}
	return files, nil
}

// goneText returns why a local job that misses files was not started, "" if it misses none.
func goneText(files []state.GoneFile) string {
	if len(files) == 0 {
		return ""
	}
	text := fmt.Sprintf("it was not started: %s cannot be read: %s", files[0].LFN, files[0].Why)
	if more := len(files) - 1; more > 0 {
		text += fmt.Sprintf("; nor can %d more", more)
	}
	return text
}
