package cluster

import (
	"log/slog"
	"slices"

	"jjm"
	"jjm/adapters"
	"jjm/engine/state"
)

// ownUnread returns those of the unread records of a listing that may be of jobs of the account,
// and logs each record once in a while. A record with a tag that the store does not know, or that
// is another account's, is nobody's here.
func ownUnread(w *watcher, records []adapters.Unread, account jjm.Owner) []adapters.Unread {
	if len(records) == 0 {
		return nil
	}
	v := w.s.View()
	defer v.Close()
	return slices.DeleteFunc(slices.Clone(records), func(u adapters.Unread) bool {
		b := v.Bulk(u.Tag)
		ours := b != nil && b.Cluster == w.name && w.c.account(b.Owner) == account
		stranger := u.Tag != "" && !ours
		level, of := slog.LevelWarn, "a local job is unknown"
		if stranger {
			level, of = slog.LevelInfo, "it is not jjm's"
		}
		w.b.Complain(level, "unread/"+w.name+"/"+string(u.Tag)+"/"+u.ID, "a record of a listing could not be read: "+of,
			"cluster", w.name, "account", account.User, "record", u.Text)
		return stranger
	})
}

// mayBe reports whether one of the unread records may be that of a local job of a bulk: by the
// tag and index, or by the id, as far as these could be read.
func mayBe(unread []adapters.Unread, b *state.Bulk, l *jjm.LocalJob) bool {
	return slices.ContainsFunc(unread, func(u adapters.Unread) bool {
		switch {
		case u.Tag != "" && u.Tag != b.Tag, u.Index >= 0 && u.Index != l.Pos:
			return false
		case u.Tag == "" && u.ID != "":
			return u.ID == l.BatchID || state.PartOf(u.ID, b.ID) || state.PartOf(l.BatchID, u.ID)
		}
		return true
	})
}
