package programs

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait_RestsLongerAfterQuestionsThatCostMuch(t *testing.T) {
	for _, c := range []struct{ every, took, want time.Duration }{
		{100 * time.Millisecond, time.Millisecond, 100 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond},
		{100 * time.Millisecond, time.Minute, longestRest},
		{5 * time.Second, time.Minute, 5 * time.Second},
	} {
		if got := rest(c.every, c.took); got != c.want {
			t.Errorf("after %v, asking every %v: rests %v, want %v", c.took, c.every, got, c.want)
		}
	}
}

func TestAwait_AsksUntilTheAnswerIsYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, began := 0, time.Now()
		Await(t, time.Minute, time.Second, "the third time", func() bool { asked++; return asked == 3 })
		if took := time.Since(began); asked != 3 || took != 2*time.Second {
			t.Errorf("asked %d times in %v", asked, took)
		}
	})
}
