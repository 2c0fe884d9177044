package programs

import (
	"testing"
	"time"
)

// longestRest is how long Await waits at most between two questions.
const longestRest = 2 * time.Second

// Await asks until the answer is yes, and ends the test if that does not come in
// time. It rests between two questions: every at least, and five times as long as
// the question took, for many tests ask at once, and those that ask a batch system
// by a command would leave it no CPU to do what they wait for.
func Await(t testing.TB, patience, every time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		asked := time.Now()
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
		time.Sleep(rest(every, time.Since(asked)))
	}
}

// rest is the time between two questions of which one took so long.
func rest(every, took time.Duration) time.Duration {
	return max(every, min(5*took, longestRest))
}
