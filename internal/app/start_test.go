package app

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// The journal has an entry about each start, but of a crash loop only about the first ones and about the last one. A
// store that takes no entry does not prevent the start.
func TestJournalStart_NeverPreventsTheStart(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "jjm.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := &App{store: s, log: slog.New(slog.NewTextHandler(&log, nil))}
	began := jjm.At(time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC))
	a.journalStart(t.Context(), began)
	all, err := s.OrdersBefore(t.Context(), 0, 10)
	if err != nil || len(all) != 1 || all[0].Source != jjm.SourceDaemon || all[0].Time == 0 || log.Len() > 0 {
		t.Errorf("%+v %v\n%s", all, err, log.String())
	}
	for n := range 5 {
		a.journalStart(t.Context(), began.Add(time.Duration(n)*time.Second))
	}
	a.journalStart(t.Context(), began.Add(time.Hour))
	all, err = s.OrdersBefore(t.Context(), 0, 10)
	if err != nil || len(all) != 5 || all[0].Time != began.Add(time.Hour) || all[1].Time != began.Add(4*time.Second) ||
		!strings.Contains(all[1].Cause, "after 2 other starts since ") {
		t.Errorf("%+v %v", all, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a.journalStart(t.Context(), began.Add(2*time.Hour))
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("a closed store: %q", log.String())
	}
}
