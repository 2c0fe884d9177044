package operations_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // reads the store's file

	"jjm/internal/testkit/site"
)

// settle releases held local jobs until all grid jobs are over. Meanwhile it looks up the grid jobs as a gatekeeper,
// because some of them run in a later generation.
func (w *world) settle() {
	w.t.Helper()
	w.UntilNone("grid jobs are over", func() int {
		w.ask()
		left := 0
		for _, j := range w.jobs {
			if j.removed {
				continue
			}
			st := w.status(j)
			if st.over() {
				continue
			}
			left++
			if slices.ContainsFunc(st.Locals, func(l local) bool { return l.State == "held" }) {
				w.jjm(site.Root(), "release", "--json", j.id)
			}
		}
		return left
	})
}

// removeSome removes about a third of the grid jobs, and kills the daemon during the first removal.
func (w *world) removeSome() {
	w.t.Helper()
	w.ask()
	for i, j := range w.jobs {
		if i == 0 || !j.removed && w.r.IntN(3) == 0 {
			w.remove(j, i == 0)
		}
	}
	w.UntilNone("grid jobs are removed", func() int {
		left := 0
		for _, j := range w.jobs {
			if !j.removed {
				continue
			}
			if e := w.status(j).Lookup.Error; e == nil || !strings.Contains(e.Text, "was removed") {
				left++
			}
		}
		return left
	})
}

// proof is the answer of jjm verify.
type proof struct {
	Verdict  string `json:"verdict"`
	Why      string `json:"why"`
	Expected int64  `json:"expected"`
	Proven   int64  `json:"proven"`
	Assumed  int64  `json:"assumed"`
	Missing  int64  `json:"missing"`
	Pending  int64  `json:"pending"`
	Overlap  int64  `json:"overlap"`
	Doubled  int64  `json:"doubled"`
	// Recoveries are the grid jobs that did missing work of this one.
	Recoveries []struct {
		Units int64 `json:"units"`
	} `json:"recoveries"`
}

// verify checks the proof of each grid job that was not removed. No work is done twice; all work is proven or missing;
// and completed local jobs did the proven work. The ledger of the applications must agree.
func (w *world) verify() {
	w.t.Helper()
	ledger := w.readLedger()
	for r, lines := range ledger {
		if starts := count(lines, "start"); starts != 1 || len(lines) > 2 {
			w.t.Errorf("attempt %d of local job %s wrote %v: a double run", r.attempt, r.local, lines)
		}
	}
	for _, j := range w.jobs {
		if !j.removed {
			w.verifyOne(j, ledger)
		}
	}
}

func count(lines []string, what string) (n int) {
	for _, line := range lines {
		if line == what {
			n++
		}
	}
	return n
}

func (w *world) verifyOne(j *job, ledger map[run][]string) {
	w.t.Helper()
	st := w.status(j)
	p := one[proof](w, "verify "+j.id, w.jjm(site.Root(), "verify", "--json", j.id))
	var completed, owned int64
	for _, l := range st.Locals {
		if l.Phase != "given-back" {
			owned += l.Part.Count
		}
		if !strings.HasPrefix(l.State, "completed") || l.Phase == "forced" {
			continue
		}
		completed += l.Part.Count
		if wrote := ledger[run{l.ref(), l.Attempt}]; !slices.Equal(wrote, []string{"start", "ok"}) {
			w.t.Errorf("local job %s is %s, and its attempt %d wrote %v", l.ref(), l.State, l.Attempt, wrote)
		}
	}
	for _, r := range p.Recoveries {
		completed += r.Units
	}
	if p.Overlap+p.Doubled+p.Pending+p.Assumed != 0 || p.Proven+p.Missing != p.Expected {
		w.t.Errorf("jjm verify %s: %+v, want each event proven or missing", j.id, p)
	}
	if p.Proven != completed || owned > p.Expected {
		w.t.Errorf("jjm verify %s: %d of %d events proven, and completed local jobs own %d of %d", j.id, p.Proven, p.Expected,
			completed, owned)
	}
	if st.Lookup.Status == "done" && p.Verdict != "proven" {
		w.t.Errorf("grid job %s is done, and its proof is %s: %s", j.id, p.Verdict, p.Why)
	}
}

// stays names the tables of the store that may have rows of a removed grid job, with the reason, as in
// docs/REMOVING.md. Its row in grid_jobs stays too.
var stays = map[string]string{
	"journal": "what happened", "endings": "how earlier generations ended", "reopenings": "who reopened it",
	"removals": "who removed it", "handles": "the request key", "recoveries": "what it recovers",
}

// nothingLeft stops the daemon, and checks that no file and no row of a removed grid job is on the disk, except the
// rows in stays.
func (w *world) nothingLeft() {
	w.t.Helper()
	w.Stop()
	state := filepath.Join(w.Dir, "s")
	for _, j := range w.jobs {
		if j.removed {
			w.noFile(state, j)
		}
	}
	w.packagesAreUsed(state)
	w.noRow(filepath.Join(state, "store.db"))
}

// noFile checks that a grid job has no work area, no record and no tar.
func (w *world) noFile(state string, j *job) {
	w.t.Helper()
	w.Must(filepath.WalkDir(state, func(path string, _ fs.DirEntry, err error) error {
		name, parent := filepath.Base(path), filepath.Base(filepath.Dir(path))
		if name == j.id && (parent == "jobs" || parent == "records") || strings.HasPrefix(name, "ops."+j.id+".") {
			w.t.Errorf("%s is left of the removed grid job %s", path, j.id)
		}
		return err
	}))
}

// packagesAreUsed checks that a grid job of the same account names each package.
func (w *world) packagesAreUsed(state string) {
	w.t.Helper()
	for _, p := range w.people {
		area := filepath.Join(state, "work", p.Name)
		var named strings.Builder
		files, err := filepath.Glob(filepath.Join(area, "jobs", "*", "job.json"))
		w.Must(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			w.Must(err)
			named.Write(text)
		}
		packages, err := filepath.Glob(filepath.Join(area, "packages", "*"))
		w.Must(err)
		for _, path := range packages {
			if !strings.Contains(named.String(), filepath.Base(path)) {
				w.t.Errorf("no grid job of %s uses the package %s", p.Name, path)
			}
		}
	}
}

// column is a column of the store that has the id of a grid job.
type column struct{ table, name string }

// gridColumns returns the columns that have the ids of grid jobs, as the schema tells them: columns named grid, and
// references to grid_jobs. It returns no columns of tables in stays, and reports entries of stays that name no such
// table.
func (w *world) gridColumns(db *sql.DB) []column {
	w.t.Helper()
	rows, err := db.Query("SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c " +
		"WHERE m.type = 'table' AND (c.name = 'grid' OR EXISTS (SELECT 1 FROM pragma_foreign_key_list(m.name) AS f " +
		"WHERE f.\"table\" = 'grid_jobs' AND f.\"from\" = c.name)) ORDER BY 1, 2")
	w.Must(err)
	defer rows.Close()
	var all []column
	kept := map[string]bool{}
	for rows.Next() {
		var c column
		w.Must(rows.Scan(&c.table, &c.name))
		if kept[c.table] = stays[c.table] != ""; !kept[c.table] {
			all = append(all, c)
		}
	}
	w.Must(rows.Err())
	for table := range stays {
		if !kept[table] {
			w.t.Errorf("table %s, whose rows stay, has no column with a grid job", table)
		}
	}
	return all
}

// noRow checks that no table except those in stays has a row of a removed grid job. It also checks that it can find
// such rows: the columns have rows of the other grid jobs.
func (w *world) noRow(path string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	w.Must(err)
	defer db.Close()
	found := 0
	for _, c := range w.gridColumns(db) {
		for _, j := range w.jobs {
			var n int
			w.Must(db.QueryRow(fmt.Sprintf("SELECT count(*) FROM %q WHERE %q = ?", c.table, c.name), j.id).Scan(&n))
			if j.removed && n > 0 {
				w.t.Errorf("%d rows of the removed grid job %s are left in %s", n, j.id, c.table)
			} else if !j.removed {
				found += n
			}
		}
	}
	if found == 0 {
		w.t.Error("no row of any grid job was found, so this check sees nothing")
	}
}
