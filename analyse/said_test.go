package analyse

import (
	"testing"
	"time"

	"jjm"
	"jjm/glf"
)

// What is said in an application's place decides like its own word, whatever it said and
// however it ended; the result itself stays as it is.
func TestAsSaid_DecidesLikeTheApplicationsWord(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	text := glf.FormatLine(at, glf.Info, glf.StartData(0, "node", 1)) + glf.FormatLine(at, glf.Info, "processed=5") +
		glf.FormatLine(at, glf.Failed, "exit=75") + glf.FormatLine(at, glf.Succeeded, "-") +
		glf.FormatLine(at, glf.Info, glf.EndData(75))
	r := &jjm.Result{Version: 1, Exit: 75, Started: jjm.At(at), Ended: jjm.At(at.Add(time.Hour)), GLF: text}
	for keyword, want := range map[string]jjm.Action{glf.Retry: jjm.Retry, glf.Failed: jjm.Fail, glf.Hold: jjm.Hold,
		glf.Succeeded: jjm.Complete} {
		for _, result := range []string{jjm.ResultExit, jjm.ResultGLF} {
			v := Attempt(Input{Result: result, Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedOK},
				Result: AsSaid(r, keyword, "-")}})
			if v.Action != want {
				t.Errorf("%s under %s: %+v, want %s", keyword, result, v, want)
			}
		}
	}
	if r.Exit != 75 || r.GLF != text {
		t.Errorf("the result was changed: %+v", r)
	}
	if log := glf.Parse([]byte(AsSaid(r, glf.Retry, "x").GLF)); len(log.Infos) != 1 || !log.Start {
		t.Errorf("what else was said is lost: %+v", log)
	}
}
