-- Schema 1: the authoritative state of jjm.
--
-- Times are milliseconds since 1970-01-01 UTC, 0 for "not yet". Numbers of
-- states are those of package jjm; a test pins them. An empty text is NULL
-- where the column allows it: most rows of the large tables have few texts.
-- Triggers hold the promises that no code above may break; their messages are
-- read by people.

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

-- Grid jobs, live and archived: few rows, found by id. Ids are never reused.
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
	archived   INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1, 2)) -- no, being moved, yes
) STRICT;

CREATE UNIQUE INDEX grid_jobs_key ON grid_jobs (uid, req_key) WHERE key_held = 1;
CREATE INDEX grid_jobs_live ON grid_jobs (id) WHERE archived < 2;
CREATE INDEX grid_jobs_status ON grid_jobs (status);

CREATE TRIGGER grid_jobs_keep BEFORE DELETE ON grid_jobs BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a grid job is never deleted', OLD.id));
END;

CREATE TRIGGER grid_jobs_fixed BEFORE UPDATE OF id, uid, gid, user, type, spec, req_key, base_dir, accepted ON grid_jobs BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what was accepted never changes', OLD.id));
END;

CREATE TRIGGER grid_jobs_key_released BEFORE UPDATE OF key_held ON grid_jobs WHEN NEW.key_held > OLD.key_held BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a released request key is not taken back', OLD.id));
END;

CREATE TRIGGER grid_jobs_born_final BEFORE INSERT ON grid_jobs WHEN NEW.status IN (6, 7) OR NEW.archived > 0 BEGIN
	SELECT RAISE(ABORT, 'a new grid job is not done, finished or archived');
END;

-- Final: done 6, finished 7, failed 8, broken 9, aborted 11.
CREATE TRIGGER grid_jobs_final BEFORE UPDATE OF status ON grid_jobs
WHEN OLD.status IN (6, 7, 8, 9, 11) AND NEW.status <> OLD.status BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a final status never changes (%d to %d)', OLD.id, OLD.status, NEW.status));
END;

CREATE TRIGGER grid_jobs_done_stays BEFORE UPDATE OF made, closed, tar ON grid_jobs
WHEN OLD.status = 6 AND (NEW.made <> OLD.made OR NEW.closed <> OLD.closed OR NEW.tar IS NOT OLD.tar) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done, so its cutting and its tar stay', OLD.id));
END;

CREATE TRIGGER grid_jobs_archive BEFORE UPDATE OF archived ON grid_jobs
WHEN NEW.archived < OLD.archived OR NEW.archived > OLD.archived AND OLD.status NOT IN (6, 7, 8, 9, 11) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: only a final grid job is archived, and for good', OLD.id));
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
	state          INTEGER NOT NULL CHECK (state BETWEEN 0 AND 8),
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
	PRIMARY KEY (grid, n)
) STRICT, WITHOUT ROWID;

-- The same rows once their grid job is archived. Nothing changes here.
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
	PRIMARY KEY (grid, n)
) STRICT, WITHOUT ROWID;

-- The cover ledger: which local job owns which units of a step. It is written
-- by the triggers of local_jobs alone, so the two cannot disagree.
CREATE TABLE cover (
	grid  INTEGER NOT NULL,
	step  INTEGER NOT NULL,
	unit  TEXT    NOT NULL,
	first INTEGER NOT NULL,
	last  INTEGER NOT NULL CHECK (last >= first),
	local INTEGER NOT NULL,
	PRIMARY KEY (grid, step, unit, first)
) STRICT, WITHOUT ROWID;

-- What the archived local jobs own, derived from their parts.
CREATE VIEW history_cover AS
	SELECT grid, 0 AS step, unit, first, first + count - 1 AS last, n AS local FROM history_local_jobs;

-- The ranges there are disjoint, so the one that starts last at or before the
-- end of the new range is the only one that can touch it.
CREATE TRIGGER cover_overlap BEFORE INSERT ON cover BEGIN
	SELECT RAISE(ABORT, format('cover: %s %d-%d of local job %d.%d overlaps ', NEW.unit, NEW.first, NEW.last, NEW.grid, NEW.local)
		|| (SELECT format('%d-%d of local job %d.%d', first, last, grid, local) FROM cover
			WHERE grid = NEW.grid AND step = NEW.step AND unit = NEW.unit AND first <= NEW.last ORDER BY first DESC LIMIT 1))
	WHERE NEW.first <= (SELECT last FROM cover
		WHERE grid = NEW.grid AND step = NEW.step AND unit = NEW.unit AND first <= NEW.last ORDER BY first DESC LIMIT 1);
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

CREATE TRIGGER local_jobs_cover AFTER INSERT ON local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its grid job is over', NEW.grid, NEW.n))
	FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11);
	INSERT INTO cover (grid, step, unit, first, last, local)
	VALUES (NEW.grid, 0, NEW.unit, NEW.first, NEW.first + NEW.count - 1, NEW.n);
END;

CREATE TRIGGER local_jobs_fixed BEFORE UPDATE OF grid, n, unit, first, count, serial, args ON local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d owns its part for good', OLD.grid, OLD.n));
END;

-- Completed: 5.
CREATE TRIGGER local_jobs_completed BEFORE UPDATE OF state ON local_jobs WHEN OLD.state = 5 AND NEW.state <> 5 BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: completed stays completed', OLD.grid, OLD.n));
END;

CREATE TRIGGER local_jobs_keep BEFORE DELETE ON local_jobs
WHEN NOT EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = OLD.grid AND n = OLD.n) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: a local job is never deleted', OLD.grid, OLD.n));
END;

CREATE TRIGGER local_jobs_uncover AFTER DELETE ON local_jobs BEGIN
	DELETE FROM cover WHERE grid = OLD.grid AND step = 0 AND unit = OLD.unit AND first = OLD.first;
END;

CREATE TRIGGER history_local_jobs_fixed BEFORE UPDATE ON history_local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

CREATE TRIGGER history_local_jobs_keep BEFORE DELETE ON history_local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

-- What a final status claims. Local jobs that were moved to the history while
-- the status was not final do not exist, so local_jobs holds them all.
CREATE TRIGGER grid_jobs_truth BEFORE UPDATE OF status ON grid_jobs
WHEN NEW.status IN (6, 7, 8, 9, 11) AND NEW.status <> OLD.status BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done or finished needs its tar', NEW.id))
	WHERE NEW.status IN (6, 7) AND NEW.tar IS NULL;
	SELECT RAISE(ABORT, format('grid job %d: done needs its cutting closed', NEW.id))
	WHERE NEW.status = 6 AND NEW.closed = 0;
	SELECT RAISE(ABORT, format('grid job %d: done, but of its %d local jobs %d are there and %d completed',
		NEW.id, NEW.made, c.there, c.completed))
	FROM (SELECT count(*) AS there, coalesce(sum(state = 5), 0) AS completed FROM local_jobs WHERE grid = NEW.id) AS c
	WHERE NEW.status = 6 AND (c.there <> NEW.made OR c.completed <> NEW.made);
	-- submitting 1, submitted 2, running 3, completing 4, held 8
	SELECT RAISE(ABORT, format('grid job %d: cannot be over while local job %d.%d is not', NEW.id, l.grid, l.n))
	FROM (SELECT grid, n FROM local_jobs WHERE grid = NEW.id AND state IN (1, 2, 3, 4, 8) LIMIT 1) AS l;
END;

-- Bulks. A small index finds those that are not over: intent 0, accepted 1,
-- released 2.
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

CREATE TRIGGER bulks_keep BEFORE DELETE ON bulks BEGIN
	SELECT RAISE(ABORT, format('bulk %s: a bulk is never deleted', OLD.tag));
END;

CREATE TRIGGER bulks_fixed BEFORE UPDATE OF tag, cluster, uid, gid, user, request, members, created ON bulks BEGIN
	SELECT RAISE(ABORT, format('bulk %s: what was intended never changes', OLD.tag));
END;

-- Attempts: members of bulks. ended is 0 while an attempt is open.
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

CREATE TRIGGER attempts_fixed BEFORE UPDATE OF grid, local, attempt, tag, pos ON attempts BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: an attempt keeps its number and its place', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER attempts_over BEFORE UPDATE ON attempts WHEN OLD.ended <> 0 BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: it has ended', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER attempts_keep BEFORE DELETE ON attempts
WHEN NOT EXISTS (SELECT 1 FROM history_attempts WHERE grid = OLD.grid AND local = OLD.local AND attempt = OLD.attempt) BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: an attempt is never deleted', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER history_attempts_fixed BEFORE UPDATE ON history_attempts BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: history never changes', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER history_attempts_keep BEFORE DELETE ON history_attempts BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: history never changes', OLD.grid, OLD.local, OLD.attempt));
END;

-- Evidence and verdict of ended attempts: append-only, live and archived alike,
-- because rows of a kilobyte and more are dear to move.
CREATE TABLE evidence (
	id       INTEGER PRIMARY KEY,
	grid     INTEGER NOT NULL,
	local    INTEGER NOT NULL,
	attempt  INTEGER NOT NULL,
	evidence TEXT    NOT NULL,                  -- JSON
	verdict  TEXT    NOT NULL,                  -- JSON
	UNIQUE (grid, local, attempt)
) STRICT;

CREATE TRIGGER evidence_fixed BEFORE UPDATE ON evidence BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: evidence is kept as it was', OLD.grid, OLD.local, OLD.attempt));
END;

CREATE TRIGGER evidence_keep BEFORE DELETE ON evidence BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: evidence is kept as it was', OLD.grid, OLD.local, OLD.attempt));
END;

-- The journal: append-only. Its index is (grid, seq), since seq is the rowid.
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

CREATE TRIGGER journal_fixed BEFORE UPDATE ON journal BEGIN
	SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_keep BEFORE DELETE ON journal BEGIN
	SELECT RAISE(ABORT, 'the journal is append-only');
END;
