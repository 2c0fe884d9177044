package store

import (
	"context"
	"encoding/json"

	"jjm/internal/jjm"
)

const bulkColumns = "tag, cluster, uid, gid, user, request, members, created, state, id, settled, tries, error"

// scanBulk reads the row of a bulk. It allocates Members; fillMembers sets the elements.
func scanBulk(r row) (jjm.Bulk, error) {
	b := jjm.Bulk{
		Tag:     jjm.Tag(r.text(0)),
		Cluster: r.text(1),
		Owner:   jjm.Owner{UID: int(r.int(2)), GID: int(r.int(3)), User: r.text(4)},
		Members: make([]jjm.AttemptID, r.int(6)),
		Created: jjm.Time(r.int(7)),
		State:   jjm.BulkState(r.int(8)),
		ID:      r.text(9),
		Settled: jjm.Time(r.int(10)),
		Tries:   int(r.int(11)),
		Error:   r.text(12),
	}
	if err := json.Unmarshal([]byte(r.text(5)), &b.Request); err != nil {
		return b, jjm.Errorf(jjm.Internal, "bulk %s: column request: %w", b.Tag, err)
	}
	return b, nil
}

// fillMembers reads the members of a bulk, some of which may be archived already.
func fillMembers(ctx context.Context, c *conn, b *jjm.Bulk) error {
	found := 0
	for _, table := range [...]string{"attempts", "history_attempts"} {
		err := c.query(ctx, "SELECT pos, grid, local, attempt FROM "+table+" WHERE tag = ?", args{}.text(string(b.Tag)),
			func(r row) error {
				pos := r.int(0)
				if pos >= int64(len(b.Members)) {
					return jjm.Errorf(jjm.Internal, "bulk %s: member at position %d of %d", b.Tag, pos, len(b.Members))
				}
				b.Members[pos] = attemptID(r, 1)
				found++
				return nil
			})
		if err != nil {
			return err
		}
		if found == len(b.Members) {
			return nil
		}
	}
	return jjm.Errorf(jjm.Internal, "bulk %s: only %d of its %d members are stored", b.Tag, found, len(b.Members))
}

// InsertBulk stores a new bulk, with its members as open attempts: Members[i] gets the key (tag, i). The error is of
// kind Internal if the tag is invalid or already used, if the bulk has no members, if an attempt is in another bulk or
// twice in this bulk, or if a local job is not live.
func (tx *Tx) InsertBulk(b *jjm.Bulk) error {
	if err := tx.insertBulk(b); err != nil {
		return tx.fail(err, "insert bulk %.20q of %d attempts", b.Tag, len(b.Members))
	}
	return nil
}

func (tx *Tx) insertBulk(b *jjm.Bulk) error {
	if !b.Tag.Valid() {
		return jjm.Errorf(jjm.Internal, "the tag is not valid")
	}
	if len(b.Members) == 0 {
		return jjm.Errorf(jjm.Internal, "it has no members")
	}
	request, err := json.Marshal(b.Request)
	if err != nil {
		return err
	}
	a := args{}.text(string(b.Tag)).value(b.Cluster).int(int64(b.Owner.UID)).int(int64(b.Owner.GID)).value(b.Owner.User)
	a = a.value(string(request)).int(int64(len(b.Members))).int(int64(b.Created))
	a = a.int(int64(b.State)).text(b.ID).int(int64(b.Settled)).int(int64(b.Tries)).text(b.Error)
	if _, err := tx.exec("INSERT INTO bulks ("+bulkColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", a); err != nil {
		return err
	}
	return tx.insertMany("INSERT INTO attempts (grid, local, attempt, tag, pos)", 5, len(b.Members),
		func(a args, i int) args {
			return attemptArgs(a, b.Members[i]).value(string(b.Tag)).int(int64(i))
		})
}

// SaveBulk stores the fields of a bulk that may change: State, ID, Settled, Tries, Error. Members never change. If
// another batch job took the claim of an attempt, the BatchID of the attempt's local job points to that batch job.
func (tx *Tx) SaveBulk(b *jjm.Bulk) error {
	a := args{}.int(int64(b.State)).text(b.ID).int(int64(b.Settled)).int(int64(b.Tries)).text(b.Error).text(string(b.Tag))
	err := tx.change("UPDATE bulks SET state = ?, id = ?, settled = ?, tries = ?, error = ? WHERE tag = ?", a,
		jjm.Errorf(jjm.Internal, "it was never inserted"))
	if err != nil {
		return tx.fail(err, "save bulk %s", b.Tag)
	}
	return nil
}
