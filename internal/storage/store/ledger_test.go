package store

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// The ledger accepts a part if and only if it overlaps no other part of the same grid job and unit. The ledger contains
// exactly the accepted parts.
func TestLedger_AcceptsExactlyWhatDoesNotOverlap(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "jjm.db"))
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		g := sampleGrid()
		if err := s.Update(ctx, func(tx *Tx) error { return tx.InsertGrid(g) }); err != nil {
			t.Fatal(err)
		}
		var owned []jjm.Part
		var units int64
		for range rapid.IntRange(1, 25).Draw(t, "tries") {
			p := jjm.Part{
				Unit: rapid.SampledFrom([]string{jjm.UnitEvent, jjm.UnitRow, "file"}).Draw(t, "unit"),
				First: rapid.OneOf(rapid.Int64Range(-20, 60),
					rapid.SampledFrom([]int64{0, math.MaxInt64 - 20, math.MinInt64})).Draw(t, "first"),
				Count: rapid.Int64Range(1, 12).Draw(t, "count"),
			}
			free := true
			for _, o := range owned {
				free = free && (o.Unit != p.Unit || p.Last() < o.First || o.Last() < p.First)
			}
			l := jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: int32(len(owned))}, Part: p}
			err := s.Update(ctx, func(tx *Tx) error { return tx.InsertLocals([]jjm.LocalJob{l}) })
			if free != (err == nil) {
				t.Fatalf("part %+v beside %+v: %v", p, owned, err)
			}
			if err == nil {
				owned, units = append(owned, p), units+p.Count
			} else if jjm.KindOf(err) != jjm.Internal {
				t.Fatalf("kind %s of %v", jjm.KindOf(err), err)
			}
		}
		var rows, sum int64
		err := s.view(ctx, func(c *conn) error {
			return c.query(ctx, "SELECT count(*), sum(last - first + 1) FROM cover WHERE grid = ?", args{}.int(int64(g.ID)),
				func(r row) error {
					rows, sum = r.int(0), r.int(1)
					return nil
				})
		})
		if err != nil || rows != int64(len(owned)) || sum != units {
			t.Fatalf("cover has %d rows of %d units, want %d of %d; %v", rows, sum, len(owned), units, err)
		}
	})
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// If one part of a batch is invalid, no part of the batch is stored.
func TestLedger_BatchIsAllOrNothing(t *testing.T) {
	s := fresh(t)
	g := fill(t, s, 10, 10)
	for _, bad := range []int{0, 1, 137, 299} {
		ls := make([]jjm.LocalJob, 300)
		for i := range ls {
			ls[i] = sampleLocal(g.ID, 10+i)
		}
		ls[bad].Part.First = 100
		wantKind(t, s.Update(context.Background(), func(tx *Tx) error { return tx.InsertLocals(ls) }), jjm.Internal)
		if n := number(t, s, "SELECT count(*) + (SELECT count(*) FROM cover) FROM local_jobs"); n != 20 {
			t.Errorf("%d rows after a bad part at %d, want 20", n, bad)
		}
	}
}

func TestLedger_TwoGridJobsOwnTheSameUnits(t *testing.T) {
	s := fresh(t)
	fill(t, s, 3, 3)
	fill(t, s, 3, 3)
	if n := number(t, s, "SELECT count(*) FROM cover"); n != 6 {
		t.Errorf("%d entries, want 6", n)
	}
}
