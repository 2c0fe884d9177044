package watch

import (
	"context"
	"log/slog"
	"slices"

	"jjm/adapters"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// unreadOf removes the reports whose state is unknown from a listing, and returns them together with the records of the
// listing that could not be read: both mean that a local job is unknown. It leaves out records without an id whose tag
// is readable and is not the tag of an open bulk of the account on this cluster. Each record is logged only once while
// listings show it.
func unreadOf(w *Watcher, listing *adapters.Listing, account jjm.Owner) (unread []adapters.Unread) {
	unread = slices.Clone(listing.Unread)
	listing.Reports = slices.DeleteFunc(listing.Reports, func(r jjm.Report) bool {
		if r.State != jjm.BatchUnknown {
			return false
		}
		unread = append(unread, adapters.Unread{Tag: r.Tag, ID: r.ID, Index: r.Index, Text: r.Reason})
		return true
	})
	told := map[string]bool{}
	v := w.s.View()
	defer v.Close()
	unread = slices.DeleteFunc(unread, func(u adapters.Unread) bool {
		b := v.Bulk(u.Tag)
		stranger := u.Tag != "" && !(b != nil && b.Cluster == w.sys.Name && w.sys.Account(b.Owner) == account)
		key := string(u.Tag) + "/" + u.ID + "/" + u.Text
		if !w.logged[account][key] && !told[key] {
			tellUnread(w.b, u, stranger, "cluster", w.sys.Name, "account", account.User)
		}
		told[key] = true
		return stranger && u.ID == ""
	})
	w.logged[account] = told
	return unread
}

// tellUnread logs a record that could not be read. stranger is true if the record belongs to no job of jjm. of are the
// attributes of the log line that identify the listing.
func tellUnread(b *base.Base, u adapters.Unread, stranger bool, of ...any) {
	level, what := slog.LevelWarn, "a local job may be unknown"
	if stranger {
		level, what = slog.LevelInfo, "it is not jjm's"
	}
	b.Log.Log(context.Background(), level, "a record of a listing could not be read: "+what,
		append(of, "record", u.Text)...)
}

// mayBe reports whether one of the unread records may describe a local job of a bulk. nameless is true if that is so
// only because of a record without a readable tag and id, which may describe any job.
func mayBe(unread []adapters.Unread, b *state.Bulk, l *jjm.LocalJob) (may, nameless bool) {
	ref := adapters.Ref{Tag: b.Tag, ID: l.BatchID, Index: l.Pos}
	if ref.ID == "" {
		ref.ID = b.ID
	}
	for _, u := range unread {
		switch {
		case u.Nameless():
			nameless = true
		case u.MayBe(ref):
			return true, false
		}
	}
	return nameless, nameless
}
