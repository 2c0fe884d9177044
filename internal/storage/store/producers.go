package store

import (
	"context"
	"encoding/json"

	"jjm/internal/jjm"
)

// Producer is a local job that owns some of a file.
type Producer struct {
	Local int32
	State jjm.State
	Phase jjm.Phase
	// Group is the job group of the local job's part (decision R26).
	Group int64
}

// Produced is a file of a master dataset, with the local jobs that read it.
type Produced struct {
	// Number is the number of the file in its dataset.
	Number int64
	Lumis  []jjm.LumiRange
	// Producers are the local jobs that own some of the file now. Local jobs that gave the file back are not included.
	Producers []Producer
}

// Producers returns, by LFN, files of the master dataset of a grid job's first step, with the local jobs of that step,
// live or archived, that own some of each file. Files that the step does not read are left out. The cost grows with the
// number of files and of the local jobs that own some of them.
func (s *Store) Producers(ctx context.Context, id jjm.GridID, lfns []string) (map[string]Produced, error) {
	out := make(map[string]Produced, len(lfns))
	jobs := map[int32]Producer{}
	err := s.view(ctx, func(c *conn) error {
		master, err := c.number("SELECT dataset FROM inputs WHERE grid = ? AND step = 0 AND master = 1",
			args{}.int(int64(id)))
		if err != nil || master == 0 {
			return err
		}
		for _, lfn := range lfns {
			p, found, err := produced(ctx, c, id, DatasetID(master), lfn, jobs)
			if err != nil {
				return err
			}
			if found {
				out[lfn] = p
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "find who read files of grid job %d", id)
	}
	return out, nil
}

// produced returns the file lfn of the dataset master, with the local jobs of the first step of a grid job that own
// some of it. found is false if the dataset has no such file. jobs caches the local jobs that were already read.
func produced(ctx context.Context, c *conn, id jjm.GridID, master DatasetID, lfn string,
	jobs map[int32]Producer) (p Produced, found bool, err error) {
	err = c.query(ctx, "SELECT "+fileColumns+" FROM files AS f WHERE f.dataset = ? AND f.lfn = ?",
		args{}.int(int64(master)).value(lfn), func(r row) error {
			f, err := scanFile(r)
			p.Number, found, p.Lumis = r.int(0), true, f.Lumis
			return err
		})
	if err != nil || !found {
		return p, false, err
	}
	var owners []int32
	err = c.query(ctx, "SELECT DISTINCT local FROM cover_input WHERE grid = ? AND step = 0 AND file = ? AND released = 0",
		args{}.int(int64(id)).int(p.Number), func(r row) error {
			owners = append(owners, int32(r.int(0)))
			return nil
		})
	if err != nil {
		return p, false, err
	}
	for _, n := range owners {
		j, known := jobs[n]
		if !known {
			if j, err = producer(ctx, c, jjm.LocalID{Grid: id, N: n}); err != nil {
				return p, false, err
			}
			jobs[n] = j
		}
		p.Producers = append(p.Producers, j)
	}
	return p, true, err
}

// producer reads the state and the job group of a local job.
func producer(ctx context.Context, c *conn, id jjm.LocalID) (Producer, error) {
	p := Producer{Local: id.N}
	err := c.query(ctx, `SELECT state, phase FROM local_jobs WHERE grid = ?1 AND n = ?2 UNION ALL
		SELECT state, phase FROM history_local_jobs WHERE grid = ?1 AND n = ?2`, localArgs(id), func(r row) error {
		p.State, p.Phase = jjm.State(r.int(0)), jjm.Phase(r.text(1))
		return nil
	})
	if err != nil {
		return p, err
	}
	return p, c.query(ctx, "SELECT input FROM part_inputs WHERE grid = ? AND n = ?", localArgs(id), func(r row) error {
		var in struct {
			Group int64 `json:"group"`
		}
		err := json.Unmarshal([]byte(r.text(0)), &in)
		p.Group = in.Group
		return err
	})
}
