package adapters_test

import (
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func TestDoubt(t *testing.T) {
	job := adapters.Ref{Tag: "jabc", ID: "24[].host", Index: 3}
	for _, tt := range []struct {
		name   string
		unread adapters.Unread
		want   bool
	}{
		{"its tag", adapters.Unread{Tag: "jabc", Index: -1}, true},
		{"its tag and index", adapters.Unread{Tag: "jabc", Index: 3}, true},
		{"its tag, another index", adapters.Unread{Tag: "jabc", Index: 4}, false},
		{"another tag", adapters.Unread{Tag: "jdef", ID: "25", Index: 3}, false},
		{"another tag, which may be damaged, and the id of its bulk", adapters.Unread{Tag: "jdef", ID: "24", Index: 3}, true},
		{"the id of its bulk", adapters.Unread{ID: "24", Index: -1}, true},
		{"its own id", adapters.Unread{ID: "24[3].host", Index: 3}, true},
		{"an id that begins alike", adapters.Unread{ID: "241", Index: -1}, false},
		{"nothing known", adapters.Unread{Index: -1}, true},
	} {
		err := adapters.Doubt([]adapters.Unread{tt.unread}, job)
		if (err != nil) != tt.want || err != nil && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if adapters.Doubt(nil, job) != nil {
		t.Error("nothing is unread")
	}
	words := adapters.Unread{ID: "job-a.1", Index: -1}
	if !words.MayBe(adapters.Ref{ID: "job-a", Index: 1}) || words.MayBe(adapters.Ref{ID: "job-b", Index: 1}) {
		t.Error("ids without a number are compared as texts")
	}
}
