package why_test

import (
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

func TestFromRecord_SaysWhatTheRecordKnows(t *testing.T) {
	held := jjm.LocalJob{State: jjm.Held, Holding: &jjm.Holding{By: jjm.HeldApplication, Text: "no licence", Since: 5}}
	for name, c := range map[string]struct {
		local jjm.LocalJob
		want  why.Code
	}{
		"new":            {jjm.LocalJob{State: jjm.New}, why.NoDaemon},
		"back-off":       {jjm.LocalJob{State: jjm.Submitting, Phase: jjm.RetryWait, NotBefore: 2000}, why.BackOff},
		"back-off over":  {jjm.LocalJob{State: jjm.Submitting, Phase: jjm.RetryWait, NotBefore: 500}, why.NoDaemon},
		"being given":    {jjm.LocalJob{State: jjm.Submitting, Tag: "jabc"}, why.Submitting},
		"doubtful":       {jjm.LocalJob{State: jjm.Submitting, Phase: jjm.Doubtful, Tag: "jabc"}, why.Doubtful},
		"running":        {jjm.LocalJob{State: jjm.Running, Host: "node7"}, why.Running},
		"queued":         {jjm.LocalJob{State: jjm.Submitted, Tag: "jabc"}, why.Queued},
		"killed, unsent": {jjm.LocalJob{State: jjm.New, Kill: true}, why.Killing},
		"held":           {held, why.HeldByApp},
		"held, as read": {jjm.LocalJob{State: jjm.Held, Message: "no licence", Holding: &jjm.Holding{By: jjm.HeldOperator,
			Since: 5}}, why.HeldByPerson},
	} {
		if got := why.FromRecord(&c.local, 1000); got.Code != c.want || got.Text == "" {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestGridFromRecord_DoesNotGuessWhatForItWaits(t *testing.T) {
	for name, c := range map[string]struct {
		facts why.GridFacts
		want  why.Code
	}{
		"over":        {why.GridFacts{Status: jjm.Done}, why.Over},
		"being cut":   {why.GridFacts{Status: jjm.GridRunning, Prepared: true}, why.NoDaemon},
		"not begun":   {why.GridFacts{Status: jjm.Pending}, why.NoDaemon},
		"after":       {why.GridFacts{Status: jjm.Pending, Awaited: []jjm.GridID{3}}, why.After},
		"paused":      {why.GridFacts{Status: jjm.Paused, Reason: "lunch", Prepared: true}, why.Paused},
		"collecting":  {why.GridFacts{Status: jjm.GridRunning, Prepared: true, Closed: true}, why.Outputs},
		"of its jobs": {why.GridFacts{Status: jjm.GridRunning, Prepared: true, Closed: true, Unfinished: 1}, ""},
	} {
		got, any := why.GridFromRecord(c.facts)
		if got.Code != c.want || any != (c.want != "") {
			t.Errorf("%s: %+v, %v, want %q", name, got, any, c.want)
		}
	}
	if got := why.InSpool(5); got.Code != why.Spooled || got.Since != 5 {
		t.Errorf("%+v", got)
	}
}
