package gridjob

import (
	"context"
	"encoding/json"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// creationReport is the content of createfailed.json in the tar, for a local job whose
// part must not be submitted.
type creationReport struct {
	Local    string       `json:"local"`
	Code     int          `json:"code"`
	Reason   string       `json:"reason"`
	Estimate jjm.Estimate `json:"estimate"`
	Part     jjm.Part     `json:"part"`
}

// createFailed returns the entry of createfailed.json for a local job whose part must not
// be submitted, nil for any other local job.
func (js *Jobs) createFailed(ctx context.Context, stem string, l *jjm.LocalJob) (*sandbox.TarEntry, error) {
	if l.Phase != jjm.CreateFailed || l.Tag != "" || l.Exit < 0 {
		return nil, nil
	}
	inputs, err := js.b.Store.PartInputs(ctx, l.ID.Grid, []int32{l.ID.N})
	if err != nil {
		return nil, err
	}
	part := l.Part
	part.Input = inputs[l.ID.N].Input
	why := part.Failure()
	if why == nil {
		return nil, nil
	}
	text, err := json.MarshalIndent(creationReport{Local: l.ID.String(), Code: why.Code, Reason: why.Reason,
		Estimate: part.Input.Estimate, Part: part}, "", "  ")
	if err != nil {
		return nil, err
	}
	return &sandbox.TarEntry{Name: sandbox.OutputName(stem, l.ID, "createfailed.json"), Content: append(text, '\n')}, nil
}
