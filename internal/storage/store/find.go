package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"

	"jjm/internal/jjm"
)

// Trace is a job that a search found.
type Trace struct {
	Grid jjm.GridID
	// Local is the number of the local job, and Attempt the number of its attempt. Each is -1 if the search did not
	// find one: a whole grid job has neither.
	Local, Attempt int32
	// Cluster, Tag and Bulk are the cluster, the tag and the batch id of the attempt's bulk, if the search read them.
	Cluster, Bulk string
	Tag           jjm.Tag
	// Role is the relation of the job to a file: RoleOwns, RoleReads or RoleMade.
	Role Role
}

// Role is the relation of a job to a file.
type Role string

// The roles. A local job owns a file if it owns a piece of it now. A grid job reads a file if it is in one of the
// datasets of a step, and no local job owns it. A grid job made a file if the file is in its output dataset.
const (
	RoleOwns  Role = "owns"
	RoleReads Role = "reads"
	RoleMade  Role = "made"
)

// Whose restricts a search to the grid jobs of certain accounts. The zero value selects the grid jobs of account 0.
type Whose struct {
	// UID is the account whose grid jobs are searched; Everyone means all accounts.
	UID int
	// User is the name of an account, "" for any.
	User string
	// Most is the maximum number of jobs to return.
	Most int
}

// Everyone is the UID of Whose that selects all accounts.
const Everyone = -1

// mostFacts is the maximum number of index entries about a host that a search reads.
const mostFacts = 100_000

// batchForms is SQL that selects the bulks with a batch id in any of its forms: 4711, 4711[], 4711.host and 4711_1.
const batchForms = "b.id IS NOT NULL AND (b.id = ?4 OR b.id > ?4 || '.' AND b.id < ?4 || '/' " +
	"OR b.id >= ?4 || '[' AND b.id < ?4 || '\\' OR b.id >= ?4 || '_' AND b.id < ?4 || '`')"

// bulkMembers returns a query for the attempts of the bulks that where selects, live and archived.
func bulkMembers(where string) string {
	of := func(table string) string {
		return `SELECT m.grid, m.local, m.attempt, b.cluster, b.tag, b.id FROM bulks AS b CROSS JOIN ` + table +
			` AS m WHERE m.tag = b.tag AND ` + where + ` AND (?5 = '' OR b.cluster = ?5)`
	}
	return of("attempts") + " UNION ALL " + of("history_attempts")
}

// FindBatch returns the attempts of the bulks that have a batch id, newest grid job first. It finds bulks with any form
// of the id, such as 4711 and 4711[].
func (s *Store) FindBatch(ctx context.Context, id, cluster string, w Whose) ([]Trace, error) {
	return s.traces(ctx, w, bulkMembers(batchForms), id, cluster)
}

// FindTag returns the attempts of the bulk with a tag.
func (s *Store) FindTag(ctx context.Context, tag, cluster string, w Whose) ([]Trace, error) {
	return s.traces(ctx, w, bulkMembers("b.tag = ?4"), tag, cluster)
}

// FindSubject returns the grid jobs whose origin has a subject: a distinguished name, or the subject of a token.
func (s *Store) FindSubject(ctx context.Context, subject string, w Whose) ([]Trace, error) {
	return s.traces(ctx, w, `SELECT id, -1, -1, NULL, NULL, NULL FROM grid_jobs
		WHERE origin IS NOT NULL AND origin ->> '$.subject' = ?4`, subject)
}

// FindOrigin returns the grid jobs with this id at their gatekeeper.
func (s *Store) FindOrigin(ctx context.Context, id string, w Whose) ([]Trace, error) {
	return s.traces(ctx, w, `SELECT id, -1, -1, NULL, NULL, NULL FROM grid_jobs
		WHERE origin IS NOT NULL AND origin ->> '$.job' = ?4`, id)
}

// FindUser returns the grid jobs of the user that w names.
func (s *Store) FindUser(ctx context.Context, w Whose) ([]Trace, error) {
	return s.traces(ctx, w, `SELECT id, -1, -1, NULL, NULL, NULL FROM grid_jobs WHERE user = ?2`)
}

// FindHost returns the ended attempts that ran on a host, or on a host of that name in any domain. If from is not 0,
// only attempts that ran at some time between from and until are returned; an attempt whose start is unknown is
// taken to have begun before from. For each host, at most mostFacts attempts are read: the first ones that ended after
// from, or the last ones if from is 0.
func (s *Store) FindHost(ctx context.Context, host string, from, until jjm.Time, w Whose) (all []Trace, err error) {
	hosts, err := s.hosts(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, name := range hosts {
		query := `SELECT e.grid, e.local, e.attempt, NULL, NULL, NULL FROM evidence AS e WHERE e.id IN (SELECT id FROM
			(SELECT id, ran_from FROM evidence WHERE ran_on = ?4 AND ran_until >= ?5 ORDER BY ran_until LIMIT ?6)
			WHERE ran_from <= ?7)`
		values := []driver.Value{name, int64(from), int64(mostFacts), int64(until)}
		if from == 0 {
			values = values[:3]
			query = `SELECT e.grid, e.local, e.attempt, NULL, NULL, NULL FROM evidence AS e WHERE e.id IN
				(SELECT id FROM evidence WHERE ran_on = ?4 AND ran_until >= ?5 ORDER BY ran_until DESC LIMIT ?6)`
		}
		some, err := s.traces(ctx, w, query, values...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Trace) int { return cmp.Compare(b.Grid, a.Grid) })
	return all[:min(len(all), w.Most)], nil
}

// mostDomains is the maximum number of hosts with the same name in different domains that a search reads.
const mostDomains = 16

// hosts returns the host names in the evidence that are name, or name with a domain.
func (s *Store) hosts(ctx context.Context, name string) (all []string, err error) {
	err = s.view(ctx, func(c *conn) error {
		for from, with := name, ">="; len(all) < mostDomains; {
			next := ""
			err := c.query(ctx, "SELECT ran_on FROM evidence WHERE ran_on IS NOT NULL AND ran_on "+with+
				" ?1 AND (ran_on = ?2 OR ran_on > ?2 || '.' AND ran_on < ?2 || '/') ORDER BY ran_on LIMIT 1",
				args{}.value(from).value(name), func(r row) error {
					next = r.text(0)
					return nil
				})
			if err != nil || next == "" {
				return err
			}
			all = append(all, next)
			if from, with = next, ">"; next == name {
				from = name + "."
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "find host %.80q", name)
	}
	return all, nil
}

// FindFile returns the jobs that own, read or made a file of this LFN or path, in any dataset.
func (s *Store) FindFile(ctx context.Context, lfn string, w Whose) ([]Trace, error) {
	all, err := s.traces(ctx, w, `WITH f AS MATERIALIZED (SELECT d.id AS dataset, d.maker, f.n
				FROM datasets AS d CROSS JOIN files AS f
				WHERE f.dataset = d.id AND f.lfn = ?4 AND d.removed = 0),
			owner AS MATERIALIZED (SELECT DISTINCT i.grid, c.local, f.dataset
				FROM f CROSS JOIN inputs AS i CROSS JOIN cover_input AS c INDEXED BY cover_input_now
				WHERE i.dataset = f.dataset AND i.master = 1 AND c.grid = i.grid AND c.step = i.step
					AND c.file = f.n AND c.released = 0)
		SELECT DISTINCT grid, local, -1, NULL, 'owns', NULL FROM owner
		UNION ALL SELECT DISTINCT i.grid, -1, -1, NULL, 'reads', NULL FROM f CROSS JOIN inputs AS i
			WHERE i.dataset = f.dataset AND NOT EXISTS (SELECT 1 FROM owner AS o WHERE o.grid = i.grid
				AND o.dataset = f.dataset)
		UNION ALL SELECT DISTINCT maker, -1, -1, NULL, 'made', NULL FROM f WHERE maker <> 0`, lfn)
	for i := range all {
		all[i].Role, all[i].Tag = Role(all[i].Tag), ""
	}
	return all, err
}

// traces returns the jobs that a query finds and that w selects, newest grid job first. Removed grid jobs are left out.
// The query has the columns grid, local, attempt, cluster, tag and bulk; a file's role is in the column tag. The
// parameters of the query begin with ?4, because ?1 to ?3 are the fields of w.
func (s *Store) traces(ctx context.Context, w Whose, found string, more ...driver.Value) (all []Trace, err error) {
	a := args{}.int(int64(w.UID)).value(w.User).int(int64(w.Most))
	for _, v := range more {
		a = a.value(v)
	}
	query := `WITH t (grid, local, attempt, cluster, tag, bulk) AS (` + found + `)
		SELECT t.grid, t.local, t.attempt, t.cluster, t.tag, t.bulk FROM t CROSS JOIN grid_jobs AS g
		WHERE g.id = t.grid AND (?1 = -1 OR g.uid = ?1) AND (?2 = '' OR g.user = ?2)
			AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = g.id)
		ORDER BY 1 DESC, 2, 3 LIMIT ?3`
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, a, func(r row) error {
			all = append(all, Trace{Grid: jjm.GridID(r.int(0)), Local: int32(r.int(1)), Attempt: int32(r.int(2)),
				Cluster: r.text(3), Tag: jjm.Tag(r.text(4)), Bulk: r.text(5)})
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "find jobs")
	}
	return all, nil
}
