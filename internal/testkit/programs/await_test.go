package programs

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait_AsksUntilTheAnswerIsYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, began := 0, time.Now()
		Await(t, time.Minute, time.Second, "the third time", func() bool { asked++; return asked == 3 })
		if took := time.Since(began); asked != 3 || took != 2*time.Second {
			t.Errorf("asked %d times in %v", asked, took)
		}
	})
}
