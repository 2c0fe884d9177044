-- The schema of the authoritative state of jjm.
--
-- Times are milliseconds since 1970-01-01 UTC, 0 means "not yet". The numbers of states are those of package jjm; a
-- test pins them. An empty text is NULL where the column allows NULL, because most rows of the large tables have few
-- texts. Triggers refuse what no code above may do; people read their messages.

CREATE TABLE identity (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	nonce   TEXT    NOT NULL CHECK (length(nonce) = 4),
	created INTEGER NOT NULL,
	clean   INTEGER NOT NULL DEFAULT 1 CHECK (clean IN (0, 1)) -- the last writer closed the store
) STRICT;

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Grid jobs, live and archived: few rows, found by id. Ids are never reused. The first step, 0, is in this row.
CREATE TABLE grid_jobs (
	id         INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
	uid        INTEGER NOT NULL,
	gid        INTEGER NOT NULL,
	user       TEXT    NOT NULL,
	type       TEXT    NOT NULL,                -- of spec, for filters
	spec       TEXT    NOT NULL,                -- JSON
	req_key    TEXT,                            -- the request key
	key_held   INTEGER NOT NULL DEFAULT 0 CHECK (key_held IN (0, 1)),
	base_dir   TEXT,
	accepted   INTEGER NOT NULL,
	status     INTEGER NOT NULL CHECK (status BETWEEN 0 AND 12),
	kill       INTEGER NOT NULL CHECK (kill IN (0, 1)),
	kill_by    TEXT,
	reason     TEXT,
	changed    INTEGER NOT NULL,
	ended      INTEGER NOT NULL,
	prepared   INTEGER NOT NULL CHECK (prepared IN (0, 1)),
	cluster    TEXT,
	splitter   TEXT,
	why        TEXT,                            -- JSON
	expected   INTEGER NOT NULL,
	made       INTEGER NOT NULL,
	closed     INTEGER NOT NULL CHECK (closed IN (0, 1)),
	carry      BLOB,
	tar        TEXT,
	tar_bytes  INTEGER NOT NULL,
	tar_sha256 TEXT,
	counts     TEXT,                            -- JSON: local jobs by state, once final
	exit       INTEGER NOT NULL DEFAULT 0,
	archived   INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1, 2)), -- no, being moved, yes
	-- The clusters to which the local jobs may go, best first: a JSON list, decided once. cluster is the first of them.
	clusters   TEXT,
	origin     TEXT,                            -- JSON: where it came from
	stopped    TEXT,                            -- why its local jobs that were never submitted are not to be
	last_made  INTEGER NOT NULL DEFAULT 0,      -- when its last local jobs were made; before them, when it was prepared
	rollback   TEXT CHECK (rollback IN ('remove', 'keep')), -- what becomes of it if it cannot be prepared or cut
	usage      TEXT,                            -- JSON: what it used
	-- The places of files that not all clusters can read: a JSON list. A local job names its place by number, from 1; a
	-- local job with place 0 may go to all clusters of its grid job.
	places     TEXT,
	warnings   TEXT,                            -- JSON: what people should know beyond the status
	-- What the proof rests on that the work of a done grid job was done exactly once.
	proof      TEXT CHECK (proof IN ('count', 'exit', 'type')),
	causes     TEXT,                            -- JSON: why local jobs failed, counted by cause, once final
	generation INTEGER NOT NULL DEFAULT 1 CHECK (generation > 0), -- the other columns are those of this generation
	-- 1 while its rows return from the history for a reopening. The grid job is final and archived (2) meanwhile, and
	-- its rows are in both tables: the lower ones in the history.
	reviving   INTEGER NOT NULL DEFAULT 0 CHECK (reviving IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX grid_jobs_key ON grid_jobs (uid, req_key) WHERE key_held = 1;
CREATE INDEX grid_jobs_live ON grid_jobs (id) WHERE archived < 2;
CREATE INDEX grid_jobs_status ON grid_jobs (status);
-- jjm find searches the history too, by user, by the subject of a certificate and by the gatekeeper's own id.
CREATE INDEX grid_jobs_user ON grid_jobs (user, id);
CREATE INDEX grid_jobs_subject ON grid_jobs (origin ->> '$.subject') WHERE origin IS NOT NULL;
CREATE INDEX grid_jobs_origin ON grid_jobs (origin ->> '$.job') WHERE origin IS NOT NULL;

CREATE TRIGGER grid_jobs_keep BEFORE DELETE ON grid_jobs BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a grid job is never deleted', OLD.id));
END;

CREATE TRIGGER grid_jobs_key_released BEFORE UPDATE OF key_held ON grid_jobs WHEN NEW.key_held > OLD.key_held BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a released request key is not taken back', OLD.id));
END;

CREATE TRIGGER grid_jobs_born_final BEFORE INSERT ON grid_jobs WHEN NEW.status IN (6, 7) OR NEW.archived > 0 BEGIN
	SELECT RAISE(ABORT, 'a new grid job is not done, finished or archived');
END;

CREATE TRIGGER grid_jobs_origin_fixed BEFORE UPDATE OF origin ON grid_jobs WHEN NEW.origin IS NOT OLD.origin BEGIN
	SELECT RAISE(ABORT, format('grid job %d: where it came from never changes', OLD.id));
END;

CREATE TRIGGER grid_jobs_rollback_fixed BEFORE UPDATE OF rollback ON grid_jobs
WHEN NEW.rollback IS NOT OLD.rollback BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how it is rolled back never changes', OLD.id));
END;

-- What a final status requires. A local job whose whole part was given back counts as completed. A local job that a
-- person forced to completed does not, because nothing proves its work. All files of the steps must be finished. Rows
-- of local jobs move to the history only after the status is final, so local_jobs has all.
CREATE TRIGGER grid_jobs_truth BEFORE UPDATE OF status ON grid_jobs
WHEN NEW.status IN (6, 7, 8, 9, 11) AND NEW.status <> OLD.status BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done or finished needs its tar', NEW.id))
	WHERE NEW.status IN (6, 7) AND NEW.tar IS NULL;
	SELECT RAISE(ABORT, format('grid job %d: done needs its cutting closed', NEW.id))
	WHERE NEW.status = 6 AND NEW.closed = 0;
	SELECT RAISE(ABORT, format('grid job %d: done, but of its %d local jobs %d are there and %d completed',
		NEW.id, NEW.made, c.there, c.completed))
	FROM (SELECT count(*) AS there, coalesce(sum(state IN (5, 9) AND phase IS NOT 'forced' OR state IN (6, 7, 10)
			AND EXISTS (SELECT 1 FROM cover_input AS o WHERE o.grid = l.grid AND o.local = l.n)
			AND NOT EXISTS (SELECT 1 FROM cover_input AS o WHERE o.grid = l.grid AND o.local = l.n AND o.released = 0)),
				0) AS completed
		FROM local_jobs AS l WHERE l.grid = NEW.id) AS c
	WHERE NEW.status = 6 AND (c.there <> NEW.made OR c.completed <> NEW.made);
	SELECT RAISE(ABORT, format('grid job %d: done, but of the %d files of its dataset %d are finished', NEW.id,
		i.to_be_used, i.finished))
	FROM (SELECT to_be_used, finished FROM inputs WHERE grid = NEW.id AND master = 1
		AND finished <> to_be_used LIMIT 1) AS i
	WHERE NEW.status = 6;
	-- submitting 1, submitted 2, running 3, completing 4, held 8
	SELECT RAISE(ABORT, format('grid job %d: cannot be over while local job %d.%d is not', NEW.id, l.grid, l.n))
	FROM (SELECT grid, n FROM local_jobs WHERE grid = NEW.id AND state IN (1, 2, 3, 4, 8) LIMIT 1) AS l;
END;

-- Done also needs all steps to be closed.
CREATE TRIGGER grid_jobs_steps BEFORE UPDATE OF status ON grid_jobs WHEN NEW.status = 6 AND OLD.status <> 6 BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done, but its step %d is not closed', NEW.id, step))
	FROM steps WHERE grid = NEW.id AND closed = 0;
END;

CREATE INDEX grid_jobs_reviving ON grid_jobs (id) WHERE reviving = 1;

CREATE TRIGGER grid_jobs_reviving BEFORE UPDATE OF reviving ON grid_jobs WHEN NEW.reviving <> OLD.reviving BEGIN
	SELECT RAISE(ABORT, format('grid job %d: nobody asked to reopen it, or its rows are not all in the history',
		OLD.id))
	WHERE NEW.reviving = 1 AND (OLD.archived <> 2 OR NOT EXISTS (SELECT 1 FROM reopenings WHERE grid = OLD.id
		AND done = 0));
	SELECT RAISE(ABORT, format('grid job %d: some of its rows are not back in the history', OLD.id))
	WHERE NEW.reviving = 0 AND NEW.generation = OLD.generation AND EXISTS (SELECT 1 FROM local_jobs
		WHERE grid = OLD.id);
END;

-- A new generation starts in status running, without a tar and an end, with all its rows in the live tables, and only
-- if the end of the generation before is stored.
CREATE TRIGGER grid_jobs_generation BEFORE UPDATE OF generation ON grid_jobs WHEN NEW.generation <> OLD.generation BEGIN
	SELECT RAISE(ABORT, format('grid job %d: generation %d cannot follow generation %d now', OLD.id, NEW.generation,
		OLD.generation))
	WHERE NEW.generation <> OLD.generation + 1 OR NEW.status <> 4
		OR NOT EXISTS (SELECT 1 FROM endings WHERE grid = OLD.id AND generation = OLD.generation)
		OR NOT EXISTS (SELECT 1 FROM reopenings WHERE grid = OLD.id AND done = 0 AND generation = NEW.generation);
	SELECT RAISE(ABORT, format('grid job %d: a generation begins without the end of another one', OLD.id))
	WHERE NEW.kill <> 0 OR NEW.ended <> 0 OR NEW.tar IS NOT NULL OR NEW.tar_bytes <> 0 OR NEW.tar_sha256 IS NOT NULL
		OR NEW.counts IS NOT NULL OR NEW.usage IS NOT NULL OR NEW.causes IS NOT NULL OR NEW.proof IS NOT NULL
		OR NEW.archived <> 0 OR NEW.reviving <> 0;
	SELECT RAISE(ABORT, format('grid job %d: %d of its %d local jobs are back from the history', OLD.id, l.n, OLD.made))
	FROM (SELECT count(*) AS n FROM local_jobs WHERE grid = OLD.id) AS l WHERE l.n <> OLD.made;
END;

-- The final statuses are done 6, finished 7, failed 8, broken 9 and aborted 11. Status, tar and place in the history of
-- a final grid job change only for a new generation.
CREATE TRIGGER grid_jobs_final BEFORE UPDATE OF status ON grid_jobs
WHEN OLD.status IN (6, 7, 8, 9, 11) AND NEW.status <> OLD.status AND NEW.generation = OLD.generation BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a final status never changes (%d to %d)', OLD.id, OLD.status, NEW.status));
END;

CREATE TRIGGER grid_jobs_done_stays BEFORE UPDATE OF made, closed, tar ON grid_jobs
WHEN OLD.status = 6 AND NEW.generation = OLD.generation
	AND (NEW.made <> OLD.made OR NEW.closed <> OLD.closed OR NEW.tar IS NOT OLD.tar) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done, so its cutting and its tar stay', OLD.id));
END;

CREATE TRIGGER grid_jobs_archive BEFORE UPDATE OF archived ON grid_jobs
WHEN NEW.archived < OLD.archived AND NEW.generation = OLD.generation
	OR NEW.archived > OLD.archived AND OLD.status NOT IN (6, 7, 8, 9, 11) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: only a final grid job is archived, and for good', OLD.id));
END;

-- What was accepted never changes, except the job file of a grid job that is being removed.
CREATE TRIGGER grid_jobs_fixed BEFORE UPDATE OF id, uid, gid, user, type, spec, req_key, base_dir, accepted ON grid_jobs
WHEN NEW.id <> OLD.id OR NEW.uid <> OLD.uid OR NEW.gid <> OLD.gid OR NEW.user <> OLD.user OR NEW.type <> OLD.type
	OR NEW.req_key IS NOT OLD.req_key OR NEW.accepted <> OLD.accepted
	OR NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.id AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what was accepted never changes', OLD.id));
END;

-- Steps beyond the first. Local jobs of all steps of a grid job are numbered in one sequence; grid_jobs.made counts all
-- of them.
CREATE TABLE steps (
	grid     INTEGER NOT NULL REFERENCES grid_jobs (id),
	step     INTEGER NOT NULL CHECK (step > 0),
	splitter TEXT    NOT NULL,
	made     INTEGER NOT NULL DEFAULT 0,        -- local jobs of this step
	closed   INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
	carry    BLOB,
	PRIMARY KEY (grid, step)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER steps_fixed BEFORE UPDATE OF grid, step, splitter ON steps
WHEN NEW.grid <> OLD.grid OR NEW.step <> OLD.step OR NEW.splitter <> OLD.splitter BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how step %d is cut never changes', OLD.grid, OLD.step));
END;

CREATE TRIGGER steps_keep BEFORE DELETE ON steps
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a step is never forgotten', OLD.grid));
END;

-- The counters of numbers in output names, one for each template of a grid job. Every new local job of the step takes
-- the next number: no number is used twice, and none is left out.
CREATE TABLE output_templates (
	grid INTEGER NOT NULL REFERENCES grid_jobs (id),
	step INTEGER NOT NULL,
	n    INTEGER NOT NULL,                      -- among the templates of the step, from 0
	last INTEGER NOT NULL CHECK (last >= 0),    -- the number given last
	most INTEGER NOT NULL CHECK (most >= 0),    -- the largest that may be given; 0 = no bound
	PRIMARY KEY (grid, step, n),
	CHECK (most = 0 OR last <= most)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER output_templates_fixed BEFORE UPDATE ON output_templates
WHEN NEW.grid <> OLD.grid OR NEW.step <> OLD.step OR NEW.n <> OLD.n OR NEW.most <> OLD.most OR NEW.last < OLD.last BEGIN
	SELECT RAISE(ABORT, format('grid job %d: the counter of output template %d only goes up', OLD.grid, OLD.n));
END;

CREATE TRIGGER output_templates_keep BEFORE DELETE ON output_templates
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: the counter of output template %d is kept', OLD.grid, OLD.n));
END;

-- Local jobs of live grid jobs.
CREATE TABLE local_jobs (
	grid           INTEGER NOT NULL REFERENCES grid_jobs (id),
	n              INTEGER NOT NULL CHECK (n BETWEEN 0 AND 2147483647),
	unit           TEXT    NOT NULL,
	first          INTEGER NOT NULL,
	count          INTEGER NOT NULL CHECK (count > 0),
	serial         INTEGER NOT NULL,
	args           TEXT,                        -- JSON
	state          INTEGER NOT NULL CHECK (state BETWEEN 0 AND 10),
	phase          TEXT,
	attempt        INTEGER NOT NULL CHECK (attempt >= 0),
	early          INTEGER NOT NULL,
	late_handled   INTEGER NOT NULL,
	late_unhandled INTEGER NOT NULL,
	retry_args     TEXT,                        -- JSON
	not_before     INTEGER NOT NULL,
	kill           INTEGER NOT NULL CHECK (kill IN (0, 1)),
	tag            TEXT,
	pos            INTEGER NOT NULL,
	batch_id       TEXT,
	host           TEXT,
	submitted      INTEGER NOT NULL,
	started        INTEGER NOT NULL,
	ended          INTEGER NOT NULL,
	exit           INTEGER NOT NULL,
	message        TEXT,
	prog_phase     TEXT,
	prog_done      INTEGER NOT NULL,
	prog_total     INTEGER NOT NULL,
	cluster        TEXT,                        -- of the current or last attempt
	-- What is kept of the local job's holds: JSON, NULL for most. It outlives the attempt, because its counters bound
	-- how often a hold is released, and how often an attempt is given up because of a hold.
	holding        TEXT,
	-- The automatic resubmissions since the local job was made or a person resubmitted it, and why no more follow.
	again          INTEGER NOT NULL DEFAULT 0 CHECK (again >= 0),
	again_stopped  TEXT,
	failing        TEXT,                        -- why a person forces it to failed, while it is killed for that
	since          INTEGER NOT NULL DEFAULT 0,  -- of its state and phase; while kill is 1, of the request of the kill
	suspended      INTEGER NOT NULL DEFAULT 0,  -- since when listings show its batch job as suspended
	step           INTEGER NOT NULL DEFAULT 0 CHECK (step >= 0),
	place          INTEGER NOT NULL DEFAULT 0 CHECK (place >= 0),
	serials        TEXT,                        -- JSON: its numbers in output names, in the order of the templates
	PRIMARY KEY (grid, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER local_jobs_fixed BEFORE UPDATE OF grid, n, unit, first, count, serial, args ON local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d owns its part for good', OLD.grid, OLD.n));
END;

CREATE TRIGGER local_jobs_keep BEFORE DELETE ON local_jobs
WHEN NOT EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = OLD.grid AND n = OLD.n) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: a local job is never deleted', OLD.grid, OLD.n));
END;

CREATE TRIGGER local_jobs_given_back BEFORE UPDATE OF state ON local_jobs
WHEN NEW.state <> OLD.state AND NEW.state NOT IN (6, 7, 10)
	AND EXISTS (SELECT 1 FROM cover_input WHERE grid = OLD.grid AND local = OLD.n AND released <> 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its work was given back', OLD.grid, OLD.n));
END;

CREATE TRIGGER local_jobs_step BEFORE INSERT ON local_jobs
WHEN NEW.step > 0 AND NOT EXISTS (SELECT 1 FROM steps WHERE grid = NEW.grid AND step = NEW.step) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its grid job has no step %d', NEW.grid, NEW.n, NEW.step));
END;

CREATE TRIGGER local_jobs_step_fixed BEFORE UPDATE OF step ON local_jobs WHEN NEW.step <> OLD.step BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d stays in its step', OLD.grid, OLD.n));
END;

CREATE TRIGGER local_jobs_uncover AFTER DELETE ON local_jobs BEGIN
	DELETE FROM cover WHERE grid = OLD.grid AND step = OLD.step AND unit = OLD.unit AND first = OLD.first;
END;

CREATE TRIGGER local_jobs_serials_fixed BEFORE UPDATE OF serials ON local_jobs WHEN NEW.serials IS NOT OLD.serials BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: the numbers of its output names never change', OLD.grid, OLD.n));
END;

-- A new local job owns its part. A grid job that is over gets only the rows that return from its history.
CREATE TRIGGER local_jobs_cover AFTER INSERT ON local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its grid job is over', NEW.grid, NEW.n))
	FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11) AND NOT (reviving = 1
		AND EXISTS (SELECT 1 FROM history_local_jobs AS h WHERE h.grid = NEW.grid AND h.n = NEW.n AND h.step = NEW.step
			AND h.unit = NEW.unit AND h.first = NEW.first AND h.count = NEW.count AND h.state = NEW.state
				AND h.attempt = NEW.attempt));
	INSERT INTO cover (grid, step, unit, first, last, local)
	VALUES (NEW.grid, NEW.step, NEW.unit, NEW.first, NEW.first + NEW.count - 1, NEW.n);
END;

-- A row that returns from the history has numbers that were counted when the local job was made.
CREATE TRIGGER local_jobs_serials BEFORE INSERT ON local_jobs
WHEN (NEW.serials IS NOT NULL OR EXISTS (SELECT 1 FROM output_templates WHERE grid = NEW.grid AND step = NEW.step))
	AND NOT EXISTS (SELECT 1 FROM grid_jobs WHERE id = NEW.grid AND reviving = 1) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its output names need %d numbers, and it has %s', NEW.grid, NEW.n, t.n,
		coalesce(NEW.serials, 'none')))
	FROM (SELECT count(*) AS n FROM output_templates WHERE grid = NEW.grid AND step = NEW.step) AS t
	WHERE t.n <> coalesce(json_array_length(NEW.serials), 0);
	SELECT RAISE(ABORT, format('local job %d.%d: output template %d: number %d, but the next is %d', NEW.grid, NEW.n,
		t.n,
		json_extract(NEW.serials, '$[' || t.n || ']'), t.last + 1))
	FROM output_templates AS t
	WHERE t.grid = NEW.grid AND t.step = NEW.step AND json_extract(NEW.serials, '$[' || t.n || ']') IS NOT t.last + 1;
	UPDATE output_templates SET last = last + 1 WHERE grid = NEW.grid AND step = NEW.step;
END;

-- Completed (5) never changes, unless the result was retracted: then the local job has failed (6), or waits for a later
-- attempt (submitting, 1) of a grid job that was reopened. Frozen, it is completed too (9).
CREATE TRIGGER local_jobs_completed BEFORE UPDATE OF state ON local_jobs WHEN OLD.state = 5 AND NEW.state NOT IN (5, 9)
	AND NOT (EXISTS (SELECT 1 FROM retractions WHERE grid = OLD.grid AND n = OLD.n AND attempt = OLD.attempt)
		AND (NEW.state = 6 OR NEW.state = 1 AND NEW.attempt > OLD.attempt
			AND EXISTS (SELECT 1 FROM grid_jobs WHERE id = OLD.grid AND generation > 1))) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: completed stays completed', OLD.grid, OLD.n));
END;

-- A local job that is set to other resources, or resubmitted with other resources, gets another place, which has these
-- resources. It may have no attempt that is or may come into a batch system: it is new (0), waits for its next attempt
-- (submitting, 1), is held (8), or is over (5, 6, 7).
CREATE TRIGGER local_jobs_place_fixed BEFORE UPDATE OF place ON local_jobs
WHEN NEW.place <> OLD.place AND (NOT (OLD.state IN (0, 5, 6, 7, 8) OR OLD.state = 1 AND OLD.phase IS 'retry-wait')
	OR EXISTS (SELECT 1 FROM attempts WHERE grid = OLD.grid AND local = OLD.n AND ended = 0)) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its place never changes while an attempt of it may be in a batch system',
		OLD.grid, OLD.n));
END;

-- The same rows once their grid job is archived. They never change.
CREATE TABLE history_local_jobs (
	grid           INTEGER NOT NULL REFERENCES grid_jobs (id),
	n              INTEGER NOT NULL,
	unit           TEXT    NOT NULL,
	first          INTEGER NOT NULL,
	count          INTEGER NOT NULL,
	serial         INTEGER NOT NULL,
	args           TEXT,
	state          INTEGER NOT NULL,
	phase          TEXT,
	attempt        INTEGER NOT NULL,
	early          INTEGER NOT NULL,
	late_handled   INTEGER NOT NULL,
	late_unhandled INTEGER NOT NULL,
	retry_args     TEXT,
	not_before     INTEGER NOT NULL,
	kill           INTEGER NOT NULL,
	tag            TEXT,
	pos            INTEGER NOT NULL,
	batch_id       TEXT,
	host           TEXT,
	submitted      INTEGER NOT NULL,
	started        INTEGER NOT NULL,
	ended          INTEGER NOT NULL,
	exit           INTEGER NOT NULL,
	message        TEXT,
	prog_phase     TEXT,
	prog_done      INTEGER NOT NULL,
	prog_total     INTEGER NOT NULL,
	cluster        TEXT,
	holding        TEXT,
	again          INTEGER NOT NULL DEFAULT 0,
	again_stopped  TEXT,
	failing        TEXT,
	since          INTEGER NOT NULL DEFAULT 0,
	suspended      INTEGER NOT NULL DEFAULT 0,
	step           INTEGER NOT NULL DEFAULT 0,
	place          INTEGER NOT NULL DEFAULT 0,
	serials        TEXT,
	PRIMARY KEY (grid, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER history_local_jobs_fixed BEFORE UPDATE ON history_local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

-- Rows leave the history only unchanged for the live tables while they return, or with a grid job that is being
-- removed.
CREATE TRIGGER history_local_jobs_keep BEFORE DELETE ON history_local_jobs
WHEN NOT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN local_jobs AS l ON l.grid = g.id AND l.n = OLD.n
	WHERE g.id = OLD.grid AND g.reviving = 1 AND l.state = OLD.state AND l.attempt = OLD.attempt)
	AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

-- What the archived local jobs own, derived from their parts.
CREATE VIEW history_cover AS
	SELECT grid, step, unit, first, first + count - 1 AS last, n AS local FROM history_local_jobs;

-- The cover ledger: which local job owns which units of a step. Only the triggers of local_jobs write the ledger, so
-- ledger and local jobs never disagree.
CREATE TABLE cover (
	grid  INTEGER NOT NULL,
	step  INTEGER NOT NULL,
	unit  TEXT    NOT NULL,
	first INTEGER NOT NULL,
	last  INTEGER NOT NULL CHECK (last >= first),
	local INTEGER NOT NULL,
	PRIMARY KEY (grid, step, unit, first)
) STRICT, WITHOUT ROWID;

-- The stored ranges are disjoint, so only the last range that starts at or before the end of the new range can touch
-- the new range.
CREATE TRIGGER cover_overlap BEFORE INSERT ON cover BEGIN
	SELECT RAISE(ABORT, format('cover: %s %d-%d of local job %d.%d overlaps ', NEW.unit, NEW.first, NEW.last, NEW.grid,
		NEW.local)
		|| (SELECT format('%d-%d of local job %d.%d', first, last, grid, local) FROM cover
			WHERE grid = NEW.grid AND step = NEW.step AND unit = NEW.unit AND first <= NEW.last
				ORDER BY first DESC LIMIT 1))
	WHERE NEW.first <= (SELECT last FROM cover
		WHERE grid = NEW.grid AND step = NEW.step AND unit = NEW.unit AND first <= NEW.last
			ORDER BY first DESC LIMIT 1);
	SELECT RAISE(ABORT, format('cover: there is no local job %d.%d with this part', NEW.grid, NEW.local))
	WHERE NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.local
		AND unit = NEW.unit AND first = NEW.first AND first + count - 1 = NEW.last);
END;

CREATE TRIGGER cover_fixed BEFORE UPDATE ON cover BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d owns its part for good', OLD.grid, OLD.local));
END;

CREATE TRIGGER cover_keep BEFORE DELETE ON cover
WHEN EXISTS (SELECT 1 FROM local_jobs WHERE grid = OLD.grid AND n = OLD.local) BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d owns its part for good', OLD.grid, OLD.local));
END;

-- Bulks. A small index finds the bulks that are not over: intent 0, accepted 1, released 2.
CREATE TABLE bulks (
	tag     TEXT    PRIMARY KEY CHECK (length(tag) BETWEEN 1 AND 15),
	cluster TEXT    NOT NULL,
	uid     INTEGER NOT NULL,
	gid     INTEGER NOT NULL,
	user    TEXT    NOT NULL,
	request TEXT    NOT NULL,                   -- JSON
	members INTEGER NOT NULL CHECK (members > 0),
	created INTEGER NOT NULL,
	state   INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
	id      TEXT,
	settled INTEGER NOT NULL,
	tries   INTEGER NOT NULL,
	error   TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX bulks_live ON bulks (created, tag) WHERE state < 3;
CREATE INDEX bulks_id ON bulks (id) WHERE id IS NOT NULL; -- jjm find --batch-id

CREATE TRIGGER bulks_fixed BEFORE UPDATE OF tag, cluster, uid, gid, user, request, members, created ON bulks BEGIN
	SELECT RAISE(ABORT, format('bulk %s: what was intended never changes', OLD.tag));
END;

-- A bulk may have members of several grid jobs, and is deleted with the last of these grid jobs.
CREATE TRIGGER bulks_keep BEFORE DELETE ON bulks
WHEN OLD.state < 3 OR EXISTS (SELECT 1 FROM attempts WHERE tag = OLD.tag)
	OR EXISTS (SELECT 1 FROM history_attempts WHERE tag = OLD.tag) BEGIN
	SELECT RAISE(ABORT, format('bulk %s: a bulk is never deleted', OLD.tag));
END;

CREATE TABLE attempts (
	grid    INTEGER NOT NULL,
	local   INTEGER NOT NULL,
	attempt INTEGER NOT NULL CHECK (attempt >= 0),
	tag     TEXT    NOT NULL REFERENCES bulks (tag),
	pos     INTEGER NOT NULL CHECK (pos >= 0),
	ended   INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (grid, local, attempt),
	UNIQUE (tag, pos),
	FOREIGN KEY (grid, local) REFERENCES local_jobs (grid, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER attempts_fixed BEFORE UPDATE OF grid, local, attempt, tag, pos ON attempts BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: an attempt keeps its number and its place', OLD.grid, OLD.local,
		OLD.attempt));
END;

CREATE TRIGGER attempts_over BEFORE UPDATE ON attempts WHEN OLD.ended <> 0 BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: it has ended', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER attempts_keep BEFORE DELETE ON attempts
WHEN NOT EXISTS (SELECT 1 FROM history_attempts WHERE grid = OLD.grid AND local = OLD.local AND attempt = OLD.attempt)
	BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: an attempt is never deleted', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TABLE history_attempts (
	grid    INTEGER NOT NULL,
	local   INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	tag     TEXT    NOT NULL REFERENCES bulks (tag),
	pos     INTEGER NOT NULL,
	ended   INTEGER NOT NULL CHECK (ended <> 0),
	PRIMARY KEY (grid, local, attempt),
	UNIQUE (tag, pos)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER history_attempts_fixed BEFORE UPDATE ON history_attempts BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: history never changes', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER history_attempts_keep BEFORE DELETE ON history_attempts
WHEN NOT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN attempts AS a ON a.grid = g.id AND a.local = OLD.local
	AND a.attempt = OLD.attempt
	WHERE g.id = OLD.grid AND g.reviving = 1 AND a.tag = OLD.tag AND a.pos = OLD.pos AND a.ended = OLD.ended)
	AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: history never changes', OLD.grid, OLD.local, OLD.attempt));
END;

-- Evidence and verdict of ended attempts: append-only, live and archived alike, because moving rows of a kilobyte and
-- more is expensive.
CREATE TABLE evidence (
	id       INTEGER PRIMARY KEY,
	grid     INTEGER NOT NULL,
	local    INTEGER NOT NULL,
	attempt  INTEGER NOT NULL,
	evidence TEXT    NOT NULL,                  -- JSON
	verdict  TEXT    NOT NULL,                  -- JSON
	-- Where and when the attempt ran, as far as the evidence says: for jjm find --host. ran_from is 0 if it is unknown.
	ran_on    TEXT,
	ran_from  INTEGER NOT NULL DEFAULT 0,
	ran_until INTEGER NOT NULL DEFAULT 0,
	UNIQUE (grid, local, attempt)
) STRICT;

CREATE INDEX evidence_host ON evidence (ran_on, ran_until, ran_from) WHERE ran_on IS NOT NULL;

CREATE TRIGGER evidence_fixed BEFORE UPDATE ON evidence BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: evidence is kept as it was', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER evidence_keep BEFORE DELETE ON evidence
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: evidence is kept as it was', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TABLE journal (
	seq    INTEGER PRIMARY KEY AUTOINCREMENT,
	time   INTEGER NOT NULL,
	grid   INTEGER NOT NULL,
	first  INTEGER NOT NULL CHECK (first >= -1),
	last   INTEGER NOT NULL CHECK (last >= first),
	was    TEXT,
	became TEXT    NOT NULL,
	cause  TEXT,
	source TEXT,
	actor  TEXT
) STRICT;

CREATE INDEX journal_grid ON journal (grid);

CREATE INDEX journal_untold ON journal (time) WHERE became = 'not-notified';

CREATE TRIGGER journal_fixed BEFORE UPDATE ON journal BEGIN
	SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_keep BEFORE DELETE ON journal BEGIN
	SELECT RAISE(ABORT, 'the journal is append-only');
END;

-- The grid job of each handle, and if set, the reason why the last submission with the handle was refused.
CREATE TABLE handles (
	handle  TEXT    PRIMARY KEY CHECK (length(handle) = 25),
	uid     INTEGER NOT NULL,
	grid    INTEGER REFERENCES grid_jobs (id),
	refused TEXT,
	time    INTEGER NOT NULL,
	CHECK (grid IS NOT NULL OR refused IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX handles_grid ON handles (grid) WHERE grid IS NOT NULL;

CREATE TRIGGER handles_keep BEFORE DELETE ON handles BEGIN
	SELECT RAISE(ABORT, format('handle %s: a handle is never deleted', OLD.handle));
END;

-- A request key that is used again names a later grid job, never an earlier one.
CREATE TRIGGER handles_forward BEFORE UPDATE ON handles
WHEN NEW.uid <> OLD.uid OR OLD.grid IS NOT NULL AND (NEW.grid IS NULL OR NEW.grid < OLD.grid) BEGIN
	SELECT RAISE(ABORT, format('handle %s: it keeps its owner, and names no earlier grid job', OLD.handle));
END;

-- When a gatekeeper was first told the end of a grid job.
CREATE TABLE told (
	grid INTEGER PRIMARY KEY REFERENCES grid_jobs (id),
	time INTEGER NOT NULL
) STRICT;

-- How past generations ended: copies of the row of the grid job. Gatekeepers and people were told these ends, so they
-- stay. docs/GENERATIONS.md describes generations.
CREATE TABLE endings (
	grid       INTEGER NOT NULL REFERENCES grid_jobs (id),
	generation INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	kill       INTEGER NOT NULL,
	kill_by    TEXT,
	reason     TEXT,
	expected   INTEGER NOT NULL,
	made       INTEGER NOT NULL,
	counts     TEXT,
	exit       INTEGER NOT NULL,
	usage      TEXT,
	causes     TEXT,
	proof      TEXT,
	tar        TEXT,
	tar_bytes  INTEGER NOT NULL,
	tar_sha256 TEXT,
	ended      INTEGER NOT NULL,
	reopened   INTEGER NOT NULL,
	actor      TEXT    NOT NULL CHECK (length(actor) > 0), -- who reopened it, and why
	why        TEXT    NOT NULL CHECK (length(why) > 0),
	PRIMARY KEY (grid, generation)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER endings_new BEFORE INSERT ON endings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: generation %d is not over, or it ended in another way', NEW.grid,
		NEW.generation))
	WHERE NOT EXISTS (SELECT 1 FROM grid_jobs AS g WHERE g.id = NEW.grid AND g.generation = NEW.generation
		AND g.status IN (6, 7, 8, 9, 11) AND g.status = NEW.status AND g.kill = NEW.kill AND g.kill_by IS NEW.kill_by
		AND g.reason IS NEW.reason AND g.expected = NEW.expected AND g.made = NEW.made AND g.counts IS NEW.counts
		AND g.exit = NEW.exit AND g.usage IS NEW.usage AND g.causes IS NEW.causes AND g.proof IS NEW.proof
		AND g.tar IS NEW.tar AND g.tar_bytes = NEW.tar_bytes AND g.tar_sha256 IS NEW.tar_sha256
			AND g.ended = NEW.ended);
END;

CREATE TRIGGER endings_fixed BEFORE UPDATE ON endings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how generation %d ended never changes', OLD.grid, OLD.generation));
END;

CREATE TRIGGER endings_keep BEFORE DELETE ON endings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how generation %d ended is never forgotten', OLD.grid, OLD.generation));
END;

-- Requests to reopen a grid job that is over: stored first, carried out later. A grid job has at most one open request
-- (done = 0).
CREATE TABLE reopenings (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	grid       INTEGER NOT NULL REFERENCES grid_jobs (id),
	generation INTEGER NOT NULL,                -- that is to begin
	request       TEXT    NOT NULL,                -- JSON
	actor      TEXT    NOT NULL CHECK (length(actor) > 0),
	why        TEXT    NOT NULL CHECK (length(why) > 0),
	time       INTEGER NOT NULL,
	done       INTEGER NOT NULL DEFAULT 0,      -- when it was carried out or refused
	refused    TEXT                             -- why it was refused after all
) STRICT;

CREATE UNIQUE INDEX reopenings_open ON reopenings (grid) WHERE done = 0;

CREATE TRIGGER reopenings_new BEFORE INSERT ON reopenings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it is not over, or generation %d is not its next one', NEW.grid,
		NEW.generation))
	WHERE NEW.done <> 0 OR NOT EXISTS (SELECT 1 FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11)
		AND generation = NEW.generation - 1);
END;

CREATE TRIGGER reopenings_fixed BEFORE UPDATE ON reopenings
WHEN OLD.done <> 0 OR NEW.id <> OLD.id OR NEW.grid <> OLD.grid OR NEW.generation <> OLD.generation
	OR NEW.request <> OLD.request
	OR NEW.actor <> OLD.actor OR NEW.why <> OLD.why OR NEW.time <> OLD.time BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a request to reopen it never changes', OLD.grid));
END;

CREATE TRIGGER reopenings_keep BEFORE DELETE ON reopenings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a request to reopen it is never forgotten', OLD.grid));
END;

CREATE TRIGGER reopenings_removed BEFORE INSERT ON reopenings
WHEN EXISTS (SELECT 1 FROM removals WHERE grid = NEW.grid) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it is removed', NEW.grid));
END;

-- Which grid job does what another grid job left undone. Both are verified together.
CREATE TABLE recoveries (
	grid     INTEGER PRIMARY KEY REFERENCES grid_jobs (id),
	recovers INTEGER NOT NULL REFERENCES grid_jobs (id) CHECK (recovers < grid)
) STRICT;

CREATE INDEX recoveries_of ON recoveries (recovers, grid);

CREATE TRIGGER recoveries_new BEFORE INSERT ON recoveries BEGIN
	SELECT RAISE(ABORT,
		format('grid job %d: grid job %d, which it recovers, is not over, or belongs to another account',
		NEW.grid, NEW.recovers))
	WHERE NOT EXISTS (SELECT 1 FROM grid_jobs AS a JOIN grid_jobs AS b ON b.uid = a.uid
		WHERE a.id = NEW.grid AND b.id = NEW.recovers AND b.status IN (6, 7, 8, 9, 11));
END;

CREATE TRIGGER recoveries_fixed BEFORE UPDATE ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what it recovers never changes', OLD.grid));
END;

CREATE TRIGGER recoveries_keep BEFORE DELETE ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what it recovers is never forgotten', OLD.grid));
END;

-- A recovery does what a generation of a grid job left undone: not while the grid job is being reopened, and not once a
-- later generation may have done it.
CREATE TRIGGER recoveries_reopened BEFORE INSERT ON recoveries BEGIN
	SELECT RAISE(ABORT,
		format('grid job %d: it does what generation %d of grid job %d left undone, which is in generation %d now',
		NEW.grid, coalesce(a.spec ->> '$.recovers_generation', 1), NEW.recovers, b.generation))
	FROM grid_jobs AS a JOIN grid_jobs AS b ON b.id = NEW.recovers
	WHERE a.id = NEW.grid AND coalesce(a.spec ->> '$.recovers_generation', 1) <> b.generation;
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, which it recovers, is being reopened', NEW.grid,
		NEW.recovers))
	WHERE EXISTS (SELECT 1 FROM reopenings WHERE grid = NEW.recovers AND done = 0);
END;

-- No event is done twice by two recoveries. The file of a recovery covers what a grid job and all its recoveries left
-- undone, direct ones and recoveries of recoveries. So the file names how many there were, and no later recovery of a
-- grid job further up in the chain exists outside of the grid job's own recoveries. A removed grid job does not count.
CREATE TRIGGER recoveries_once BEFORE INSERT ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it is recovery %d of grid job %d, whose next recovery is recovery %d',
		NEW.grid, coalesce(a.spec ->> '$.recovers_number', 1), NEW.recovers, below.n + 1))
	FROM grid_jobs AS a, (WITH RECURSIVE own (grid) AS (SELECT grid FROM recoveries WHERE recovers = NEW.recovers
			UNION SELECT r.grid FROM own JOIN recoveries AS r ON r.recovers = own.grid)
		SELECT count(*) AS n FROM own) AS below
	WHERE a.id = NEW.grid AND coalesce(a.spec ->> '$.recovers_number', 1) <> below.n + 1;
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, a later recovery than grid job %d, may do the same work',
		NEW.grid, rival.grid, NEW.recovers))
	FROM (WITH RECURSIVE up (grid) AS (SELECT recovers FROM recoveries WHERE grid = NEW.recovers
			UNION SELECT r.recovers FROM up JOIN recoveries AS r ON r.grid = up.grid),
		kin (grid) AS (SELECT min(grid) FROM up
			UNION SELECT r.grid FROM kin JOIN recoveries AS r ON r.recovers = kin.grid),
		own (grid) AS (SELECT NEW.recovers UNION SELECT r.grid FROM own JOIN recoveries AS r ON r.recovers = own.grid)
		SELECT max(grid) AS grid FROM kin WHERE grid > NEW.recovers AND grid NOT IN own
			AND grid NOT IN (SELECT grid FROM removals)) AS rival
	WHERE rival.grid IS NOT NULL;
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, which grid job %d recovers, was reopened since', NEW.grid,
		b.id, a.id))
	FROM (WITH RECURSIVE up (grid, recovers) AS (SELECT grid, recovers FROM recoveries WHERE grid = NEW.recovers
			UNION SELECT r.grid, r.recovers FROM up JOIN recoveries AS r ON r.grid = up.recovers)
		SELECT grid, recovers FROM up) AS chain
		JOIN grid_jobs AS a ON a.id = chain.grid JOIN grid_jobs AS b ON b.id = chain.recovers
	WHERE b.id NOT IN (SELECT grid FROM removals)
		AND (coalesce(a.spec ->> '$.recovers_generation', 1) <> b.generation OR b.status NOT IN (6, 7, 8, 9, 11)
			OR EXISTS (SELECT 1 FROM reopenings WHERE grid = b.id AND done = 0));
END;

CREATE TRIGGER recoveries_removed BEFORE INSERT ON recoveries
WHEN EXISTS (SELECT 1 FROM removals WHERE grid = NEW.recovers) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, which it recovers, is removed', NEW.grid, NEW.recovers));
END;

-- Results that no longer count, because the outputs of the completed local job were lost. A retraction concerns one
-- attempt: a local job whose part nobody else can own produces the outputs again in a later attempt, which counts.
CREATE TABLE retractions (
	grid    INTEGER NOT NULL REFERENCES grid_jobs (id),
	n       INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	time    INTEGER NOT NULL,
	actor   TEXT    NOT NULL CHECK (length(actor) > 0),
	reason  TEXT    NOT NULL CHECK (length(reason) > 0),
	PRIMARY KEY (grid, n, attempt)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER retractions_new BEFORE INSERT ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its attempt %d has not completed, so there is nothing to retract',
		NEW.grid, NEW.n, NEW.attempt))
	WHERE NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.n AND state = 5
		AND attempt = NEW.attempt)
		AND NOT EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = NEW.grid AND n = NEW.n AND state = 5
			AND attempt = NEW.attempt);
END;

CREATE TRIGGER retractions_fixed BEFORE UPDATE ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

CREATE TRIGGER retractions_keep BEFORE DELETE ON retractions
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

-- Who removes which grid job: stored first, carried out later, never taken back. All rows of the grid job are deleted
-- except its own, which keeps what was told and that it was removed. docs/REMOVING.md describes removing.
CREATE TABLE removals (
	grid  INTEGER PRIMARY KEY REFERENCES grid_jobs (id),
	actor TEXT    NOT NULL CHECK (length(actor) > 0),
	time  INTEGER NOT NULL,
	done  INTEGER NOT NULL DEFAULT 0            -- when all of it was gone
) STRICT;

CREATE INDEX removals_open ON removals (grid) WHERE done = 0;

CREATE TRIGGER removals_new BEFORE INSERT ON removals BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it is not over, or about to begin another generation', NEW.grid))
	WHERE NEW.done <> 0 OR EXISTS (SELECT 1 FROM reopenings WHERE grid = NEW.grid AND done = 0)
		OR NOT EXISTS (SELECT 1 FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11));
	SELECT RAISE(ABORT, format('grid job %d: a recovery of it is not over', NEW.grid))
	WHERE EXISTS (SELECT 1 FROM recoveries AS r JOIN grid_jobs AS g ON g.id = r.grid
		WHERE r.recovers = NEW.grid AND g.status NOT IN (6, 7, 8, 9, 11));
END;

CREATE TRIGGER removals_fixed BEFORE UPDATE ON removals BEGIN
	SELECT RAISE(ABORT, format('grid job %d: that it is removed never changes', OLD.grid))
	WHERE OLD.done <> 0 OR NEW.grid <> OLD.grid OR NEW.actor <> OLD.actor OR NEW.time <> OLD.time;
	SELECT RAISE(ABORT, format('grid job %d: it is not removed while rows of it are left', OLD.grid))
	WHERE EXISTS (SELECT 1 FROM local_jobs WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM history_attempts WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM evidence WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM part_inputs WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM cover_input WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM input_files WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM inputs WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM retractions WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM steps WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM output_templates WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM told WHERE grid = OLD.grid)
		OR EXISTS (SELECT 1 FROM notices WHERE grid = OLD.grid);
END;

CREATE TRIGGER removals_keep BEFORE DELETE ON removals BEGIN
	SELECT RAISE(ABORT, format('grid job %d: that it was removed is never forgotten', OLD.grid));
END;

-- Datasets. A dataset belongs to an account and outlives grid jobs. Its files are numbered from 0 in the order in which
-- they were added, and never change. Rows about what a step reads and owns stay in their tables when the grid job is
-- archived: they are found by its id, so live work never reads them.
--
-- A container is a name that its datasets have in common. The dataset of the outputs that a grid job merged is named
-- "(merge of 17)" and belongs to that grid job; all other datasets belong to their account.
CREATE TABLE datasets (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	uid       INTEGER NOT NULL,
	name      TEXT    NOT NULL CHECK (length(name) > 0),
	container TEXT,
	created   INTEGER NOT NULL,
	closed    INTEGER NOT NULL DEFAULT 0,       -- since when; 0 = more files may come
	files     INTEGER NOT NULL DEFAULT 0,
	events    INTEGER NOT NULL DEFAULT 0,
	bytes     INTEGER NOT NULL DEFAULT 0,
	-- The grid job whose outputs are in the dataset; 0 if people or catalogues list the files. Through the maker the
	-- files are found from which an output was made.
	maker     INTEGER NOT NULL DEFAULT 0,
	-- When the dataset was removed; 0 = not removed. One change takes name, container and maker from the row, so that
	-- nothing finds the dataset any longer. Then its files are deleted in chunks, then the row. docs/DATASETS.md says
	-- what is refused.
	removed   INTEGER NOT NULL DEFAULT 0,
	UNIQUE (uid, name)
) STRICT;

CREATE INDEX datasets_container ON datasets (uid, container, name) WHERE container IS NOT NULL;

-- The datasets that a reopened grid job fills are open again until it is over.
CREATE TRIGGER datasets_closed BEFORE UPDATE OF closed ON datasets WHEN OLD.closed <> 0 AND NEW.closed <> OLD.closed
	AND NOT (NEW.closed = 0 AND EXISTS (SELECT 1 FROM grid_jobs WHERE id = OLD.maker AND generation > 1
		AND status NOT IN (6, 7, 8, 9, 11))) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is closed, for good', OLD.name));
END;

-- The removal of a grid job looks for the datasets that it filled.
CREATE INDEX datasets_made ON datasets (maker);
CREATE INDEX datasets_removed ON datasets (id) WHERE removed <> 0;

CREATE TRIGGER datasets_remove BEFORE UPDATE OF removed ON datasets BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is removed, for good', OLD.name)) WHERE OLD.removed <> 0;
	SELECT RAISE(ABORT, format('dataset %s: to remove it takes its name, its container and its maker', OLD.name))
	WHERE NEW.name <> format('(removed %d)', OLD.id) OR NEW.container IS NOT NULL OR NEW.maker <> 0;
	SELECT RAISE(ABORT, format('dataset %s: grid job %d reads it', OLD.name, grid)) FROM inputs WHERE dataset = OLD.id;
	SELECT RAISE(ABORT, format('dataset %s: dataset %d has files of it', OLD.name, dataset)) FROM expansions
		WHERE member = OLD.id;
	SELECT RAISE(ABORT, format('dataset %s: grid job %d fills it', OLD.name, id)) FROM grid_jobs
	WHERE id = OLD.maker AND status NOT IN (6, 7, 8, 9, 11);
END;

CREATE TRIGGER datasets_fixed BEFORE UPDATE OF id, uid, name, container, created ON datasets
WHEN NEW.id <> OLD.id OR NEW.uid <> OLD.uid OR NEW.created <> OLD.created OR NEW.container IS NOT NULL
	OR (NEW.name <> OLD.name AND (OLD.removed <> 0 OR NEW.removed = 0)) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: its name and owner never change', OLD.name));
END;

CREATE TRIGGER datasets_maker BEFORE UPDATE OF maker ON datasets WHEN OLD.maker <> 0 AND NEW.maker <> OLD.maker
	AND NOT (NEW.maker = 0 AND OLD.removed = 0 AND NEW.removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: grid job %d makes it, for good', OLD.name, OLD.maker));
END;

CREATE TRIGGER datasets_keep BEFORE DELETE ON datasets
WHEN OLD.removed = 0 AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = CAST(substr(OLD.name, 11) AS INTEGER)
	AND done = 0
	AND OLD.name = format('(merge of %d)', grid)) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: a dataset that is not removed is never deleted', OLD.name));
END;

CREATE TABLE files (
	dataset     INTEGER NOT NULL REFERENCES datasets (id),
	n           INTEGER NOT NULL CHECK (n BETWEEN 0 AND 2147483647),
	lfn         TEXT    NOT NULL CHECK (length(lfn) > 0),
	size        INTEGER NOT NULL CHECK (size >= 0),
	events      INTEGER NOT NULL CHECK (events >= 0),
	first_event INTEGER NOT NULL,
	checksum    TEXT,
	boundary    TEXT,
	added       INTEGER NOT NULL,
	more        TEXT,                           -- JSON: lumis, locations, parents
	PRIMARY KEY (dataset, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX files_lfn ON files (dataset, lfn);

CREATE TRIGGER files_order BEFORE INSERT ON files BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is closed: no file can be added', name)) FROM datasets
		WHERE id = NEW.dataset AND closed <> 0;
	SELECT RAISE(ABORT, format('dataset %s: file %d: the next number is %d', name, NEW.n, files)) FROM datasets
		WHERE id = NEW.dataset AND files <> NEW.n;
END;

CREATE TRIGGER files_count AFTER INSERT ON files BEGIN
	UPDATE datasets SET files = files + 1, events = events + NEW.events, bytes = bytes + NEW.size
		WHERE id = NEW.dataset;
END;

CREATE TRIGGER files_fixed BEFORE UPDATE ON files BEGIN
	SELECT RAISE(ABORT, format('file %s: what is known of a file of a dataset never changes', OLD.lfn));
END;

CREATE TRIGGER files_keep BEFORE DELETE ON files
WHEN NOT EXISTS (SELECT 1 FROM datasets WHERE id = OLD.dataset AND removed <> 0)
	AND NOT EXISTS (SELECT 1 FROM datasets AS d JOIN removals AS r ON r.grid = CAST(substr(d.name, 11) AS INTEGER)
		AND r.done = 0
		WHERE d.id = OLD.dataset AND d.name = format('(merge of %d)', r.grid)) BEGIN
	SELECT RAISE(ABORT, format('file %s: a file is never taken from its dataset', OLD.lfn));
END;

-- Nothing starts to use a removed dataset.
CREATE TRIGGER files_removed BEFORE INSERT ON files
WHEN EXISTS (SELECT 1 FROM datasets WHERE id = NEW.dataset AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: it is removed', NEW.dataset));
END;

-- Marks of files that cannot be read: missing 4, lost 5, broken 6 (see jjm.FileState), with who marked the file and
-- why. Steps that start later skip the file too. A mark can be taken back; the journal keeps by whom and why.
CREATE TABLE file_marks (
	dataset INTEGER NOT NULL,
	file    INTEGER NOT NULL,
	state   INTEGER NOT NULL CHECK (state BETWEEN 4 AND 6),
	time    INTEGER NOT NULL,
	actor   TEXT    NOT NULL CHECK (length(actor) > 0),
	reason  TEXT    NOT NULL CHECK (length(reason) > 0),
	PRIMARY KEY (dataset, file),
	FOREIGN KEY (dataset, file) REFERENCES files (dataset, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER file_marks_fixed BEFORE UPDATE ON file_marks BEGIN
	SELECT RAISE(ABORT, format('file %d of dataset %d: its mark stands', OLD.file, OLD.dataset));
END;

-- Which datasets of a container a dataset was made of, and how many files of each it took. Files of a dataset never
-- change, so the next files follow.
CREATE TABLE expansions (
	dataset INTEGER NOT NULL REFERENCES datasets (id),
	member  INTEGER NOT NULL REFERENCES datasets (id) CHECK (member <> dataset),
	files   INTEGER NOT NULL CHECK (files >= 0),
	PRIMARY KEY (dataset, member)
) STRICT, WITHOUT ROWID;

CREATE INDEX expansions_member ON expansions (member, dataset);

CREATE TRIGGER expansions_back BEFORE UPDATE ON expansions WHEN NEW.files < OLD.files OR NEW.dataset <> OLD.dataset
	OR NEW.member <> OLD.member BEGIN
	SELECT RAISE(ABORT, format('dataset %d: what it took of dataset %d stays in it', OLD.dataset, OLD.member));
END;

CREATE TRIGGER expansions_keep BEFORE DELETE ON expansions
WHEN NOT EXISTS (SELECT 1 FROM datasets WHERE id = OLD.dataset AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: what it took of dataset %d stays in it', OLD.dataset, OLD.member));
END;

CREATE TRIGGER expansions_removed BEFORE INSERT ON expansions
WHEN EXISTS (SELECT 1 FROM datasets WHERE id IN (NEW.dataset, NEW.member) AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: it, or dataset %d, is removed', NEW.dataset, NEW.member));
END;

-- The datasets that a step reads, with the counters of their files. Only the master's files are counted: see
-- input_files.
CREATE TABLE inputs (
	grid        INTEGER NOT NULL REFERENCES grid_jobs (id),
	step        INTEGER NOT NULL,
	dataset     INTEGER NOT NULL REFERENCES datasets (id),
	pos         INTEGER NOT NULL,               -- among the inputs of the step
	master      INTEGER NOT NULL CHECK (master IN (0, 1)),
	attributes  TEXT,
	files       INTEGER NOT NULL DEFAULT 0,
	to_be_used  INTEGER NOT NULL DEFAULT 0,
	used        INTEGER NOT NULL DEFAULT 0,
	finished    INTEGER NOT NULL DEFAULT 0,
	failed      INTEGER NOT NULL DEFAULT 0,
	events      INTEGER NOT NULL DEFAULT 0,
	events_used INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (grid, step, dataset),
	CHECK (finished >= 0 AND failed >= 0 AND finished + failed <= used AND used <= to_be_used AND to_be_used <= files
		AND 0 <= events_used AND events_used <= events)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX inputs_master ON inputs (grid, step) WHERE master = 1;
CREATE INDEX inputs_dataset ON inputs (dataset, grid);

CREATE TRIGGER inputs_fixed BEFORE UPDATE OF grid, step, dataset, pos, master, attributes ON inputs BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what a step reads never changes', OLD.grid));
END;

CREATE TRIGGER inputs_keep BEFORE DELETE ON inputs
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what a step reads is never forgotten', OLD.grid));
END;

CREATE TRIGGER inputs_removed BEFORE INSERT ON inputs
WHEN EXISTS (SELECT 1 FROM datasets WHERE id = NEW.dataset AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: it is removed', NEW.dataset));
END;

-- The state of the files of the master dataset that a step has noticed. file is the number in that dataset, state the
-- number of jjm.FileState: ready 0, picked 1, finished 2, failed 3, missing 4, lost 5, broken 6, dropped 7.
CREATE TABLE input_files (
	grid     INTEGER NOT NULL,
	step     INTEGER NOT NULL,
	file     INTEGER NOT NULL,
	state    INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 7),
	avail    INTEGER NOT NULL DEFAULT 1 CHECK (avail IN (0, 1)), -- some of it may be cut yet
	open     INTEGER NOT NULL DEFAULT 0 CHECK (open >= 0), -- pieces of local jobs that are not over
	lost     INTEGER NOT NULL DEFAULT 0 CHECK (lost >= 0), -- pieces of local jobs that failed for good
	attempts INTEGER NOT NULL DEFAULT 0,
	failures INTEGER NOT NULL DEFAULT 0,
	why      TEXT,
	PRIMARY KEY (grid, step, file),
	CHECK (state < 2 OR avail = 0),
	CHECK (state <> 2 OR open = 0 AND lost = 0),
	CHECK (state <> 3 OR open = 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX input_files_avail ON input_files (grid, step, file) WHERE avail = 1;

CREATE TRIGGER input_files_new BEFORE INSERT ON input_files BEGIN
	SELECT RAISE(ABORT, format('grid job %d: step %d has no master dataset with a file %d', NEW.grid, NEW.step,
		NEW.file))
	WHERE NOT EXISTS (SELECT 1 FROM inputs AS i JOIN files AS f ON f.dataset = i.dataset AND f.n = NEW.file
		WHERE i.grid = NEW.grid AND i.step = NEW.step AND i.master = 1);
	SELECT RAISE(ABORT, format('grid job %d: a file that a step takes notice of is ready', NEW.grid))
	WHERE NEW.state <> 0 OR NEW.avail <> 1 OR NEW.open <> 0 OR NEW.lost <> 0;
END;

CREATE TRIGGER input_files_noticed AFTER INSERT ON input_files BEGIN
	UPDATE inputs SET files = files + 1, to_be_used = to_be_used + 1,
		events = events + (SELECT events FROM files WHERE dataset = inputs.dataset AND n = NEW.file)
	WHERE grid = NEW.grid AND step = NEW.step AND master = 1;
END;

CREATE TRIGGER input_files_counted AFTER UPDATE OF state ON input_files WHEN NEW.state <> OLD.state BEGIN
	UPDATE inputs SET
		to_be_used = to_be_used + (NEW.state < 4) - (OLD.state < 4),
		used = used + (NEW.state BETWEEN 1 AND 3) - (OLD.state BETWEEN 1 AND 3),
		finished = finished + (NEW.state = 2) - (OLD.state = 2),
		failed = failed + (NEW.state = 3) - (OLD.state = 3),
		events_used = events_used + ((NEW.state = 2) - (OLD.state = 2)) *
			(SELECT events FROM files WHERE dataset = inputs.dataset AND n = NEW.file)
	WHERE grid = NEW.grid AND step = NEW.step AND master = 1;
END;

CREATE TRIGGER input_files_fixed BEFORE UPDATE OF grid, step, file ON input_files BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d keeps its number', OLD.grid, OLD.file));
END;

-- Finished (2) never changes, unless a result was retracted.
CREATE TRIGGER input_files_finished BEFORE UPDATE OF state ON input_files WHEN OLD.state = 2 AND NEW.state <> 2
	AND NOT EXISTS (SELECT 1 FROM retractions AS r JOIN cover_input AS c ON c.grid = r.grid AND c.local = r.n
		WHERE r.grid = OLD.grid AND c.step = OLD.step AND c.file = OLD.file) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: finished stays finished', OLD.grid, OLD.file));
END;

CREATE TRIGGER input_files_keep BEFORE DELETE ON input_files
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: what became of a file is never forgotten', OLD.grid, OLD.file));
END;

-- What the parts of local jobs read, and which local job's work each took over.
CREATE TABLE part_inputs (
	id      INTEGER PRIMARY KEY,
	grid    INTEGER NOT NULL,
	n       INTEGER NOT NULL,
	step    INTEGER NOT NULL,
	origin  INTEGER,                            -- the local job whose work this is
	attempt INTEGER NOT NULL,                   -- how many had this work before
	input   TEXT    NOT NULL,                   -- JSON
	UNIQUE (grid, n)
) STRICT;

CREATE TRIGGER part_inputs_fixed BEFORE UPDATE ON part_inputs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what its part reads never changes', OLD.grid, OLD.n));
END;

CREATE TRIGGER part_inputs_keep BEFORE DELETE ON part_inputs
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what its part reads is kept', OLD.grid, OLD.n));
END;

-- The cover ledger of files: which local job owns which piece of a file of the master dataset. run is -1 for events
-- (first and last are counted from 0 within the file; a whole file is 0..9223372036854775807), else the pieces are
-- sections of that run. released is when the piece was given back.
CREATE TABLE cover_input (
	grid     INTEGER NOT NULL,
	local    INTEGER NOT NULL,
	step     INTEGER NOT NULL,
	file     INTEGER NOT NULL,
	run      INTEGER NOT NULL CHECK (run >= -1),
	first    INTEGER NOT NULL CHECK (first >= 0),
	last     INTEGER NOT NULL CHECK (last >= first),
	released INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (grid, local, file, run, first)
) STRICT, WITHOUT ROWID;

CREATE INDEX cover_input_now ON cover_input (grid, step, file, run, first, last) WHERE released = 0;

-- The owned pieces are disjoint, so only the last piece that starts at or before the end of the new piece can touch the
-- new piece.
CREATE TRIGGER cover_input_overlap BEFORE INSERT ON cover_input BEGIN
	SELECT RAISE(ABORT, format('cover: file %d %s%d-%d of local job %d.%d overlaps a piece of local job %d.%d',
		NEW.file,
		CASE NEW.run WHEN -1 THEN '' ELSE 'run ' || NEW.run || ' ' END, NEW.first, NEW.last, NEW.grid, NEW.local,
			NEW.grid,
		(SELECT local FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file AND run = NEW.run
			AND released = 0 AND first <= NEW.last ORDER BY first DESC LIMIT 1)))
	WHERE NEW.first <= (SELECT last FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file
		AND run = NEW.run
		AND released = 0 AND first <= NEW.last ORDER BY first DESC LIMIT 1);
	SELECT RAISE(ABORT, format('cover: file %d of local job %d.%d is owned by sections and by events', NEW.file,
		NEW.grid, NEW.local))
	WHERE EXISTS (SELECT 1 FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file
		AND released = 0
			AND run = -1 AND NEW.run >= 0)
		OR NEW.run = -1 AND EXISTS (SELECT 1 FROM cover_input WHERE grid = NEW.grid AND step = NEW.step
			AND file = NEW.file
			AND released = 0 AND run >= 0);
	SELECT RAISE(ABORT, format('cover: there is no local job %d.%d that owns by %s', NEW.grid, NEW.local,
		CASE NEW.run WHEN -1 THEN 'file or range' ELSE 'lumi' END))
	WHERE NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.local
		AND (NEW.run = -1 AND unit IN ('file', 'range') OR NEW.run >= 0 AND unit = 'lumi') AND state IN (0, 6));
	SELECT RAISE(ABORT, format('cover: file %d of local job %d.%d is not one to be processed', NEW.file, NEW.grid,
		NEW.local))
	WHERE NOT EXISTS (SELECT 1 FROM input_files WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file
		AND state IN (0, 1, 3));
	SELECT RAISE(ABORT, 'cover: a new entry is not given back') WHERE NEW.released <> 0;
END;

CREATE TRIGGER cover_input_fixed BEFORE UPDATE ON cover_input
WHEN NEW.grid <> OLD.grid OR NEW.local <> OLD.local OR NEW.step <> OLD.step OR NEW.file <> OLD.file
	OR NEW.run <> OLD.run
	OR NEW.first <> OLD.first OR NEW.last <> OLD.last OR OLD.released <> 0 BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d owns file %d until it gives it back, once', OLD.grid, OLD.local,
		OLD.file));
END;

-- Only a failed (6, frozen 10) or killed (7) local job gives back what it owned.
CREATE TRIGGER cover_input_released BEFORE UPDATE OF released ON cover_input
WHEN NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = OLD.grid AND n = OLD.local AND state IN (6, 7, 10)) BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d has neither failed nor been killed: it keeps file %d', OLD.grid,
		OLD.local, OLD.file));
END;

-- Nobody starts to own a marked file, not even a piece of it that was given back.
CREATE TRIGGER cover_input_marked BEFORE INSERT ON cover_input BEGIN
	SELECT RAISE(ABORT, format('cover: file %d of local job %d.%d is marked as one that cannot be read', NEW.file,
		NEW.grid, NEW.local))
	WHERE EXISTS (SELECT 1 FROM inputs AS i JOIN file_marks AS m ON m.dataset = i.dataset AND m.file = NEW.file
		WHERE i.grid = NEW.grid AND i.step = NEW.step AND i.master = 1);
END;

CREATE TRIGGER cover_input_step BEFORE INSERT ON cover_input
WHEN EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.local AND step <> NEW.step) BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d is not of step %d', NEW.grid, NEW.local, NEW.step));
END;

CREATE TRIGGER cover_input_keep BEFORE DELETE ON cover_input
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('cover: that local job %d.%d owned file %d is kept', OLD.grid, OLD.local, OLD.file));
END;

-- Orders of administrators about a cluster, a queue ('slurm/long'), a job type, a user or a grid job (its id). A pause
-- of a grid job needs no reason. Maintenance windows start at a time of their own; a cluster or queue may have several.
-- An order that is over is deleted; the journal keeps it.
CREATE TABLE orders (
	kind   TEXT    NOT NULL CHECK (kind IN ('cluster', 'queue', 'type', 'user', 'job')),
	name   TEXT    NOT NULL CHECK (length(name) > 0),
	verb   TEXT    NOT NULL CHECK (verb IN ('drain', 'pause', 'maintenance')),
	start  INTEGER NOT NULL DEFAULT 0,          -- of a maintenance window; 0: at once
	reason TEXT    NOT NULL CHECK (length(reason) > 0 OR kind = 'job'),
	actor  TEXT    NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL DEFAULT 0,          -- 0: until it is resumed
	PRIMARY KEY (kind, name, verb, start),
	CHECK (kind <> 'job' OR verb = 'pause'),
	CHECK ((verb = 'maintenance') = (start > 0)),
	CHECK (verb <> 'maintenance' OR kind IN ('cluster', 'queue') AND until > start)
) STRICT, WITHOUT ROWID;

-- Banned people. A lifted ban is deleted; the journal keeps it.
CREATE TABLE bans (
	kind    TEXT    NOT NULL CHECK (kind IN ('user', 'dn')),
	name    TEXT    NOT NULL CHECK (length(name) > 0),
	reason  TEXT    NOT NULL CHECK (length(reason) > 0),
	actor   TEXT    NOT NULL,
	uid     INTEGER NOT NULL,
	since   INTEGER NOT NULL,
	account INTEGER CHECK (account >= 0),       -- the uid; NULL for a DN
	PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- Hosts that jjm's jobs are kept off. An exclusion that is over is deleted; the journal keeps it.
CREATE TABLE exclusions (
	cluster TEXT    NOT NULL CHECK (length(cluster) > 0),
	host    TEXT    NOT NULL CHECK (length(host) > 0),
	reason  TEXT    NOT NULL CHECK (length(reason) > 0),
	actor   TEXT    NOT NULL,
	since   INTEGER NOT NULL,
	until   INTEGER NOT NULL DEFAULT 0,         -- 0: until somebody includes the host
	PRIMARY KEY (cluster, host)
) STRICT, WITHOUT ROWID;

-- Notices that are not delivered yet. A notice is deleted once it is delivered or given up. change is the entry of the
-- journal that it is about: a change of the status of the grid job.
CREATE TABLE notices (
	target     TEXT    NOT NULL CHECK (length(target) > 0),
	change     INTEGER NOT NULL REFERENCES journal (seq),
	grid       INTEGER NOT NULL REFERENCES grid_jobs (id),
	generation INTEGER NOT NULL CHECK (generation > 0),
	since      INTEGER NOT NULL,
	tries      INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
	next       INTEGER NOT NULL DEFAULT 0,      -- not tried before
	PRIMARY KEY (target, change)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER notices_fixed BEFORE UPDATE OF target, change, grid, generation, since ON notices BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what a notice is about never changes', OLD.grid));
END;
