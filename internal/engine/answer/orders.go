package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// ordersAtOnce is the number of journal entries read at a time while searching for the entries of one account.
const ordersAtOnce = 1000

// orders returns the last entries of the journal that belong to no grid job, at most limit (0: all), oldest first.
// Administrators get all of these entries, an account gets the entries that it may see.
func orders(ctx context.Context, an *Answers, caller wire.Caller, limit int) ([]jjm.JournalEntry, error) {
	if !caller.Admin {
		return ordersSince(ctx, an, caller, 0, limit)
	}
	all, err := an.b.Store.History(ctx, jjm.Ref{}, limit)
	if err != nil {
		return nil, err
	}
	return withStarts(ctx, an, all, limit)
}

// ordersSince returns the same entries for an account that is no administrator, or for the owner of a report. It does
// not read entries before the time since.
func ordersSince(ctx context.Context, an *Answers, caller wire.Caller, since jjm.Time,
	limit int) ([]jjm.JournalEntry, error) {
	seen, err := visible(ctx, an, caller, since, limit)
	if err != nil {
		return nil, err
	}
	return withStarts(ctx, an, seen, limit)
}

// withStarts adds the starts of the daemon that the journal does not have yet.
func withStarts(ctx context.Context, an *Answers, all []jjm.JournalEntry, limit int) ([]jjm.JournalEntry, error) {
	starts, err := an.b.Store.Starts(ctx)
	if err != nil {
		return nil, err
	}
	return starts.WithRest(all, limit), nil
}

// visible returns the last entries of the journal that belong to no grid job and that an account may see, at most limit
// (0: all), oldest first. It ends at an entry before the time since, except an entry about a start of the daemon: such
// an entry may enter the journal later than younger entries.
func visible(ctx context.Context, an *Answers, caller wire.Caller, since jjm.Time,
	limit int) ([]jjm.JournalEntry, error) {
	owns := map[jjm.GridID]bool{}
	mine := func(id jjm.GridID) bool {
		own, known := owns[id]
		if !known {
			_, _, err := an.s.Kept(ctx, caller, id)
			own = err == nil
			owns[id] = own
		}
		return own
	}
	var seen []jjm.JournalEntry
	for before := int64(0); ; {
		page, err := an.b.Store.OrdersBefore(ctx, before, ordersAtOnce)
		if err != nil {
			return nil, err
		}
		enough := len(page) < ordersAtOnce
		for _, en := range page { // newest first
			if en.Time < since && en.Source == jjm.SourceDaemon {
				before = en.Seq
				continue
			}
			if enough = enough || en.Time < since; en.Time < since {
				break
			}
			if shows(en, caller, mine) {
				seen = append(seen, en)
			}
			if limit > 0 && len(seen) == limit {
				enough = true
				break
			}
			before = en.Seq
		}
		if enough {
			slices.Reverse(seen)
			return seen, ctx.Err()
		}
	}
}

// shows reports whether an account may see a journal entry that belongs to no grid job: a start of the daemon, an
// outage, an excluded host, or an entry about a cluster, a queue or a job type, about the account itself, or about a
// grid job (mine) or a dataset of the account. Only administrators see other entries. The entries are written by
// package app (starts), package cluster (outages), package exclusion, by orderEntry and banEntry of package site and by
// tellMarks and tellRemoval of package dataset. An account chooses the text of a reason, which must not pass for the
// words that are compared here. Therefore the entries have the reason after these words, and entries about marks have
// it before these words.
func shows(en jjm.JournalEntry, caller wire.Caller, mine func(jjm.GridID) bool) bool {
	kind, rest, _ := strings.Cut(en.Cause, " ")
	switch en.Source {
	case jjm.SourceDaemon, jjm.SourceOutage, jjm.SourceExclude:
		return true
	case "order":
		switch kind {
		case jjm.OrderCluster, jjm.OrderQueue, jjm.OrderType:
			return true
		case jjm.OrderUser:
			return begins(rest, caller.User)
		case jjm.OrderJob:
			id, _, _ := strings.Cut(rest, " ")
			ref, err := jjm.ParseRef(strings.TrimSuffix(id, ":"))
			return err == nil && mine(ref.Grid)
		}
	case "ban":
		return kind == jjm.BanUser && begins(rest, jjm.ActorOf(caller.User, caller.UID))
	case "dataset-mark", "dataset-remove":
		return strings.HasSuffix(en.Cause, fmt.Sprintf(" (uid %d)", caller.UID)) ||
			strings.HasSuffix(en.Cause, fmt.Sprintf(", dataset of uid %d)", caller.UID))
	}
	return false
}

// begins reports whether a text consists of a name, or of a name that is followed by a reason or by the times of an
// order.
func begins(text, name string) bool {
	rest, ok := strings.CutPrefix(text, name)
	return ok && name != "" && (rest == "" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " (from ") ||
		strings.HasPrefix(rest, " (until "))
}
