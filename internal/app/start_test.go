package app

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// The journal has an entry about each start. A store that takes no entry does not prevent the start.
func TestJournalStart_NeverPreventsTheStart(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "jjm.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := &App{store: s, log: slog.New(slog.NewTextHandler(&log, nil))}
	a.journalStart(t.Context())
	all, err := s.OrdersBefore(t.Context(), 0, 10)
	if err != nil || len(all) != 1 || all[0].Source != jjm.SourceDaemon || all[0].Time == 0 || log.Len() > 0 {
		t.Errorf("%+v %v\n%s", all, err, log.String())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a.journalStart(t.Context())
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("a closed store: %q", log.String())
	}
}
