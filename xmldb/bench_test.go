package xmldb

import (
	"context"
	"jjm/xmldb/head"
	"slices"
	"testing"

	"jjm/internal/jjm"
)

// hundredThousand returns the shards of 100 000 local jobs as a slice, so that a benchmark does not measure their
// creation.
func hundredThousand() []Shard { return slices.Collect(shardsOf(17, 100_000)) }

func BenchmarkPublish_100kLocalJobs(b *testing.B) {
	db, _ := open(b, b.TempDir())
	h, all := sampleHead(17, 100_000), hundredThousand()
	b.ReportAllocs()
	for b.Loop() {
		if err := db.Publish(context.Background(), h, slices.Values(all)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPublish_OneDirtyShardOf100(b *testing.B) {
	db, _ := open(b, b.TempDir())
	h, all := sampleHead(17, 100_000), hundredThousand()
	if err := db.Publish(context.Background(), h, slices.Values(all)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := db.Publish(context.Background(), h, slices.Values(all[50:51])); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPublish_ForeignShard publishes a shard in which each job has a fragment. The fragments come from memory or,
// as after a restart, from disk.
func BenchmarkPublish_ForeignShard(b *testing.B) {
	db, _ := open(b, b.TempDir())
	h, all := sampleHead(17, 1000), slices.Collect(shardsOf(17, 1000))
	if err := db.Publish(context.Background(), h, slices.Values(all)); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		id := jjm.LocalID{Grid: 17, N: int32(i)}
		f, err := ParseFragment([]byte(`<fragment job="` + id.String() +
			`"><phase name="d0gstar" done="117" total="250"/></fragment>`))
		if err == nil {
			err = db.Add(f)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, restart := range map[string]bool{"remembered": false, "after a restart": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if restart {
					db.grids = make(map[jjm.GridID]*gridState)
				}
				if err := db.Publish(context.Background(), h, slices.Values(all)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadHead_Of100kLocalJobs(b *testing.B) {
	dir := b.TempDir()
	db, _ := open(b, dir)
	if err := db.Publish(context.Background(), sampleHead(17, 100_000), shardsOf(17, 0)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := head.Read(dir, 17); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddFragment(b *testing.B) {
	db, _ := open(b, b.TempDir())
	if err := db.Publish(context.Background(), sampleHead(17, 1000), shardsOf(17, 1000)); err != nil {
		b.Fatal(err)
	}
	frag := []byte(`<fragment job="17.3"><phase name="d0gstar" done="117" total="250"/></fragment>`)
	for n := 0; b.Loop(); n++ {
		if err := db.AddFragment(17, 3, frag); err != nil {
			b.Fatal(err)
		}
		if n%10_000 == 9_999 {
			if err := db.Publish(context.Background(), sampleHead(17, 1000), shardsOf(17, 1000)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkQuery_FailedOf100k(b *testing.B) {
	db, _ := open(b, b.TempDir())
	if err := db.Publish(context.Background(), sampleHead(17, 100_000), shardsOf(17, 100_000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := db.Query(17, "//localjob[@state='failed']/@id"); err != nil {
			b.Fatal(err)
		}
	}
}
