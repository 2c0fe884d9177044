package endings

import (
	"time"

	"jjm/internal/jjm"
)

// trouble is the error that prevents the verdict on an attempt.
type trouble struct {
	text  string   // "" if there was no error
	since jjm.Time // the time of the first error
	at    jjm.Time // the time of the last error
}

// troubleLasts is how long an error counts after it last happened. While an error lasts, the attempt is tried again
// more often.
const troubleLasts = time.Minute

// Troubled notes an error that prevents the verdict on an attempt.
func (es *Endings) Troubled(id jjm.AttemptID, text string, now jjm.Time) {
	es.With(id, func(en *Ending) {
		if en.text == "" || now.Sub(en.at) > troubleLasts {
			en.since = now
		}
		en.text, en.at = text, now
	})
}

// TroubleOf returns the error that prevents the verdict on an attempt, and the time of its first occurrence. The text
// is "" if there is no such error.
func (es *Endings) TroubleOf(id jjm.AttemptID, now jjm.Time) (text string, since jjm.Time) {
	n, done := es.open()
	defer done()
	if en := n.get(id); en != nil && en.text != "" && now.Sub(en.at) <= troubleLasts {
		return en.text, en.since
	}
	return "", 0
}

// Trouble summarizes the attempts on which there is no verdict because of an error.
type Trouble struct {
	Attempts int
	First    jjm.AttemptID // the attempt with the earliest error
	Text     string        // its error
	Since    jjm.Time      // the time of its first error
}

// Trouble returns the summary of all accounts.
func (es *Endings) Trouble(now jjm.Time) (t Trouble) {
	n, done := es.open()
	defer done()
	for _, of := range n.m {
		for id, en := range of {
			if en.text == "" || now.Sub(en.at) > troubleLasts {
				continue
			}
			if t.Attempts++; t.Attempts == 1 || en.since < t.Since || en.since == t.Since && inOrder(id, t.First) < 0 {
				t.First, t.Text, t.Since = id, en.text, en.since
			}
		}
	}
	return t
}
