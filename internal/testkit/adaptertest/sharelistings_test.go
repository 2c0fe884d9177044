package adaptertest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// counted is an adapter that numbers its listings: At of a listing is its number in seconds. Each listing has the same
// reports.
type counted struct {
	Shareable
	begun   atomic.Int64
	reports []jjm.Report
}

func (c *counted) List(context.Context, jjm.Owner, time.Time) (adapters.Listing, error) {
	number := c.begun.Add(1)
	for range 100 {
		runtime.Gosched() // lets other callers request a listing meanwhile
	}
	return adapters.Listing{At: time.Unix(number, 0), Reports: c.reports}, nil
}

func TestShareListings_AListingStartsAfterItWasAskedFor(t *testing.T) {
	c := &counted{}
	s := &sharedListings{Shareable: c}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				before := c.begun.Load()
				l, err := s.List(t.Context(), jjm.Owner{}, time.Time{})
				if err != nil || l.At.Unix() <= before {
					t.Errorf("listing %d, error %v, after %d had begun", l.At.Unix(), err, before)
				}
			}
		})
	}
	all.Wait()
}

func TestShareListings_CallersInLineShareTheNextListing(t *testing.T) {
	s := &sharedListings{Shareable: &counted{}}
	first := s.join()
	if s.join() != first {
		t.Error("two that wait have a listing each")
	}
	s.close()
	if s.join() == first {
		t.Error("who comes after it began has part in it")
	}
}

func TestShareListings_ReturnsOnlyWhatWasAskedFor(t *testing.T) {
	at := time.Unix(1000, 0)
	c := &counted{reports: []jjm.Report{
		{ID: "old", State: jjm.BatchEndedOK, Ended: jjm.At(at.Add(-time.Second))},
		{ID: "new", State: jjm.BatchEndedOK, Ended: jjm.At(at)},
		{ID: "undated", State: jjm.BatchEndedOK}, {ID: "runs", State: jjm.BatchRunning},
	}}
	l, err := (&sharedListings{Shareable: c}).List(t.Context(), jjm.Owner{}, at)
	var ids []string
	for _, r := range l.Reports {
		ids = append(ids, r.ID)
	}
	if err != nil || len(ids) != 3 || ids[0] != "new" || ids[1] != "undated" || ids[2] != "runs" ||
		c.reports[0].ID != "old" {
		t.Errorf("listed %v, error %v", ids, err)
	}
}
