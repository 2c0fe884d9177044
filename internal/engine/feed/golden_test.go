package feed

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/golden"
	"jjm/internal/work/split"
	"jjm/internal/work/stream"
)

// numbered holds the seed, the sequence number and the output names that a row expects of one job.
type numbered struct {
	Job    int
	Files  []string
	Seed   int64  `json:"rndmSeed"`
	Number *int64 `json:"seqNumber"`
	Output string
}

// row is a row of the golden data seeds_and_serials.
type row struct {
	Offset   int64 `json:"randomSeedOffset"`
	Sequence any
	Steps    [][2]any
	Expect   []numbered
}

// jobFile returns the text of a job file that reads files and whose jobs get the numbers of the row.
func (r *row) jobFile(files []string) string {
	text := fmt.Sprintf("type = \"reprocess\"\n[[output_templates]]\nname = \"Out._${SN}\"\nstream = \"OUT\"\n"+
		"[params]\ncommand = [\"reco\", \"${IN}\", \"${OUT}\"]\n"+
		"[split]\nby = \"JEDI\"\n[split.params]\nrandom_seed = true\nrandom_seed_offset = %d\ntask = { rule = \"NF=%d\" }\n"+
		"[[datasets]]\nname = \"raw\"\nstream = \"IN\"\nfiles = [{ lfn = %q }", r.Offset, len(files), files[0])
	for _, f := range files[1:] {
		text += fmt.Sprintf(", { lfn = %q }", f)
	}
	if text += "]\n"; r.Sequence != nil {
		text += "[[datasets]]\nname = \"seq_number\"\nsecondary = true\nstream = \"SEQNUMBER\"\n"
	}
	return text
}

// cut makes one part of the files in the same way as the product. It returns the specification of the job file, and the
// part.
func (r *row) cut(carry *split.Carry, files []string) (*jjm.Spec, jjm.Part, error) {
	doc, problems := jobfile.Parse("job.toml", []byte(r.jobFile(files)))
	h, err := all.Registry().Get(doc.Spec.Type)
	if err != nil {
		return nil, jjm.Part{}, err
	}
	problems = append(problems, handlers.Examine(h, &doc.Spec, handlers.Site{})...)
	if err := problems.Err(); err != nil {
		return nil, jjm.Part{}, err
	}
	cut, err := handlers.SplitBy(h, &doc.Spec, handlers.Site{})
	if err != nil {
		return nil, jjm.Part{}, err
	}
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		return nil, jjm.Part{}, err
	}
	work, _ := handlers.Inline(&doc.Spec)
	parts, _, next, err := sp.Cut(work, split.Limits{}, cut.Params, *carry)
	if err == nil && len(parts) != 1 {
		err = fmt.Errorf("%d parts", len(parts))
	}
	if err != nil {
		return nil, jjm.Part{}, err
	}
	*carry = next
	return &doc.Spec, parts[0], nil
}

// play carries out the steps of a row and returns the numbers of each job: the splitter assigns seeds, the failure of a
// job frees its seed, and the store numbers the outputs.
func (r *row) play(t *testing.T) (got []numbered, err error) {
	s, err := store.Open(filepath.Join(t.TempDir(), "jjm.db"), store.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var job *jjm.GridJob
	var locals []jjm.LocalJob
	var carry split.Carry
	for _, step := range r.Steps {
		switch step[0] {
		case "fail":
			release(&carry, locals[int(step[1].(float64))-1].Part.Input.More, r.Offset)
		case "job":
			var files []string
			for _, f := range step[1].([]any) {
				files = append(files, f.(string))
			}
			spec, part, err := r.cut(&carry, files)
			if err != nil {
				return nil, err
			}
			part.Unit = jjm.UnitRow // which job owns which file does not matter here
			part.First, part.Count = int64(len(locals)), 1
			l := []jjm.LocalJob{{ID: jjm.LocalID{Grid: 1, N: int32(len(locals))}, Part: part, Exit: -1}}
			l[0].Part.Input = nil
			err = s.Update(t.Context(), func(tx *store.Tx) error {
				if job == nil {
					job = &jjm.GridJob{Spec: *spec}
					if err := tx.InsertGrid(job); err != nil {
						return err
					}
				}
				return tx.InsertLocals(l)
			})
			if err != nil {
				return nil, err
			}
			l[0].Part.Input = part.Input
			locals = append(locals, l[0])
			got = append(got, told(spec, &l[0]))
		}
	}
	return got, nil
}

// told returns the seed, the sequence number and the output names of a local job, and its input files.
func told(spec *jjm.Spec, l *jjm.LocalJob) numbered {
	streams := stream.Of(spec, l)
	n := numbered{Job: int(l.ID.N) + 1, Files: streams["IN"], Seed: l.Part.Input.More.Seed,
		Output: strings.Join(streams["OUT"], " ")}
	if l.Part.Input.More.Sequence != 0 {
		n.Number = &l.Part.Input.More.Sequence
	}
	return n
}

// For recorded tasks, local jobs of job files get the recorded seeds, sequence numbers and output names.
func TestGolden_SeedsAndSerials(t *testing.T) {
	golden.Rows(t, "jedi/seeds_and_serials", func(_ string, r row) string {
		got, err := r.play(t)
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(r.Steps, func(s [2]any) bool { return s[0] == "job" }) {
			return "it makes no job"
		}
		return cmp.Diff(r.Expect, got)
	})
}
