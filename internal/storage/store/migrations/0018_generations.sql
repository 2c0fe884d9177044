-- Schema 18: generations. A grid job that is over can be reopened; how it ended stays stored,
-- because gatekeepers and people were told of it. docs/GENERATIONS.md has the whole story.

-- Which life of the grid job this is. The other columns of the row are those of this one.
ALTER TABLE grid_jobs ADD COLUMN generation INTEGER NOT NULL DEFAULT 1 CHECK (generation > 0);

-- Set while its rows come back from the history, for a reopening. It is final and archived
-- (2) meanwhile, and its rows are in both: the lower ones in the history.
ALTER TABLE grid_jobs ADD COLUMN reviving INTEGER NOT NULL DEFAULT 0 CHECK (reviving IN (0, 1));
CREATE INDEX grid_jobs_reviving ON grid_jobs (id) WHERE reviving = 1;

-- How the generations ended that are past: copies of the row as it was.
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
	SELECT RAISE(ABORT, format('grid job %d: generation %d is not over, or it ended in another way', NEW.grid, NEW.generation))
	WHERE NOT EXISTS (SELECT 1 FROM grid_jobs AS g WHERE g.id = NEW.grid AND g.generation = NEW.generation
		AND g.status IN (6, 7, 8, 9, 11) AND g.status = NEW.status AND g.kill = NEW.kill AND g.kill_by IS NEW.kill_by
		AND g.reason IS NEW.reason AND g.expected = NEW.expected AND g.made = NEW.made AND g.counts IS NEW.counts
		AND g.exit = NEW.exit AND g.usage IS NEW.usage AND g.causes IS NEW.causes AND g.proof IS NEW.proof
		AND g.tar IS NEW.tar AND g.tar_bytes = NEW.tar_bytes AND g.tar_sha256 IS NEW.tar_sha256 AND g.ended = NEW.ended);
END;

CREATE TRIGGER endings_fixed BEFORE UPDATE ON endings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how generation %d ended never changes', OLD.grid, OLD.generation));
END;

CREATE TRIGGER endings_keep BEFORE DELETE ON endings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how generation %d ended is never forgotten', OLD.grid, OLD.generation));
END;

-- What somebody wishes of a grid job that is over: stored first, carried out later. Of one
-- grid job one wish is open at a time (done = 0).
CREATE TABLE reopenings (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	grid       INTEGER NOT NULL REFERENCES grid_jobs (id),
	generation INTEGER NOT NULL,                -- that is to begin
	wish       TEXT    NOT NULL,                -- JSON
	actor      TEXT    NOT NULL CHECK (length(actor) > 0),
	why        TEXT    NOT NULL CHECK (length(why) > 0),
	time       INTEGER NOT NULL,
	done       INTEGER NOT NULL DEFAULT 0,      -- when it was carried out or refused
	refused    TEXT                             -- why it was refused after all
) STRICT;

CREATE UNIQUE INDEX reopenings_open ON reopenings (grid) WHERE done = 0;

CREATE TRIGGER reopenings_new BEFORE INSERT ON reopenings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it is not over, or generation %d is not its next one', NEW.grid, NEW.generation))
	WHERE NEW.done <> 0 OR NOT EXISTS (SELECT 1 FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11)
		AND generation = NEW.generation - 1);
END;

CREATE TRIGGER reopenings_fixed BEFORE UPDATE ON reopenings
WHEN OLD.done <> 0 OR NEW.id <> OLD.id OR NEW.grid <> OLD.grid OR NEW.generation <> OLD.generation OR NEW.wish <> OLD.wish
	OR NEW.actor <> OLD.actor OR NEW.why <> OLD.why OR NEW.time <> OLD.time BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a wish to reopen it never changes', OLD.grid));
END;

CREATE TRIGGER reopenings_keep BEFORE DELETE ON reopenings BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a wish to reopen it is never forgotten', OLD.grid));
END;

CREATE TRIGGER grid_jobs_reviving BEFORE UPDATE OF reviving ON grid_jobs WHEN NEW.reviving <> OLD.reviving BEGIN
	SELECT RAISE(ABORT, format('grid job %d: nobody wishes to reopen it, or its rows are not all in the history', OLD.id))
	WHERE NEW.reviving = 1 AND (OLD.archived <> 2 OR NOT EXISTS (SELECT 1 FROM reopenings WHERE grid = OLD.id AND done = 0));
	SELECT RAISE(ABORT, format('grid job %d: some of its rows are not back in the history', OLD.id))
	WHERE NEW.reviving = 0 AND NEW.generation = OLD.generation AND EXISTS (SELECT 1 FROM local_jobs WHERE grid = OLD.id);
END;

-- A new generation begins as running, without a tar and an end, with all its rows in the
-- live tables, and only if the end of the one before is stored.
CREATE TRIGGER grid_jobs_generation BEFORE UPDATE OF generation ON grid_jobs WHEN NEW.generation <> OLD.generation BEGIN
	SELECT RAISE(ABORT, format('grid job %d: generation %d cannot follow generation %d now', OLD.id, NEW.generation, OLD.generation))
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

-- Final statuses, tars and the history stay as they are (0001), but for a new generation.
DROP TRIGGER grid_jobs_final;
CREATE TRIGGER grid_jobs_final BEFORE UPDATE OF status ON grid_jobs
WHEN OLD.status IN (6, 7, 8, 9, 11) AND NEW.status <> OLD.status AND NEW.generation = OLD.generation BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a final status never changes (%d to %d)', OLD.id, OLD.status, NEW.status));
END;

DROP TRIGGER grid_jobs_done_stays;
CREATE TRIGGER grid_jobs_done_stays BEFORE UPDATE OF made, closed, tar ON grid_jobs
WHEN OLD.status = 6 AND NEW.generation = OLD.generation
	AND (NEW.made <> OLD.made OR NEW.closed <> OLD.closed OR NEW.tar IS NOT OLD.tar) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done, so its cutting and its tar stay', OLD.id));
END;

DROP TRIGGER grid_jobs_archive;
CREATE TRIGGER grid_jobs_archive BEFORE UPDATE OF archived ON grid_jobs
WHEN NEW.archived < OLD.archived AND NEW.generation = OLD.generation
	OR NEW.archived > OLD.archived AND OLD.status NOT IN (6, 7, 8, 9, 11) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: only a final grid job is archived, and for good', OLD.id));
END;

-- Rows may leave the history only for the live tables, unchanged, while they come back.
DROP TRIGGER history_local_jobs_keep;
CREATE TRIGGER history_local_jobs_keep BEFORE DELETE ON history_local_jobs
WHEN NOT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN local_jobs AS l ON l.grid = g.id AND l.n = OLD.n
	WHERE g.id = OLD.grid AND g.reviving = 1 AND l.state = OLD.state AND l.attempt = OLD.attempt) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

DROP TRIGGER history_attempts_keep;
CREATE TRIGGER history_attempts_keep BEFORE DELETE ON history_attempts
WHEN NOT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN attempts AS a ON a.grid = g.id AND a.local = OLD.local AND a.attempt = OLD.attempt
	WHERE g.id = OLD.grid AND g.reviving = 1 AND a.tag = OLD.tag AND a.pos = OLD.pos AND a.ended = OLD.ended) BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: history never changes', OLD.grid, OLD.local, OLD.attempt));
END;

DROP TRIGGER local_jobs_cover;
CREATE TRIGGER local_jobs_cover AFTER INSERT ON local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its grid job is over', NEW.grid, NEW.n))
	FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11) AND NOT (reviving = 1
		AND EXISTS (SELECT 1 FROM history_local_jobs AS h WHERE h.grid = NEW.grid AND h.n = NEW.n AND h.step = NEW.step
			AND h.unit = NEW.unit AND h.first = NEW.first AND h.count = NEW.count AND h.state = NEW.state AND h.attempt = NEW.attempt));
	INSERT INTO cover (grid, step, unit, first, last, local)
	VALUES (NEW.grid, NEW.step, NEW.unit, NEW.first, NEW.first + NEW.count - 1, NEW.n);
END;

-- The numbers of its output names were counted when it was made.
DROP TRIGGER local_jobs_serials;
CREATE TRIGGER local_jobs_serials BEFORE INSERT ON local_jobs
WHEN (NEW.serials IS NOT NULL OR EXISTS (SELECT 1 FROM output_templates WHERE grid = NEW.grid AND step = NEW.step))
	AND NOT EXISTS (SELECT 1 FROM grid_jobs WHERE id = NEW.grid AND reviving = 1) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its output names need %d numbers, and it has %s', NEW.grid, NEW.n, t.n,
		coalesce(NEW.serials, 'none')))
	FROM (SELECT count(*) AS n FROM output_templates WHERE grid = NEW.grid AND step = NEW.step) AS t
	WHERE t.n <> coalesce(json_array_length(NEW.serials), 0);
	SELECT RAISE(ABORT, format('local job %d.%d: output template %d: number %d, but the next is %d', NEW.grid, NEW.n, t.n,
		json_extract(NEW.serials, '$[' || t.n || ']'), t.last + 1))
	FROM output_templates AS t
	WHERE t.grid = NEW.grid AND t.step = NEW.step AND json_extract(NEW.serials, '$[' || t.n || ']') IS NOT t.last + 1;
	UPDATE output_templates SET last = last + 1 WHERE grid = NEW.grid AND step = NEW.step;
END;

-- A recovery does what a generation of a grid job left undone: not while that is reopened,
-- and not once a later generation may have done it.
CREATE TRIGGER recoveries_reopened BEFORE INSERT ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it does what generation %d of grid job %d left undone, which is in generation %d now',
		NEW.grid, coalesce(a.spec ->> '$.recovers_generation', 1), NEW.recovers, b.generation))
	FROM grid_jobs AS a JOIN grid_jobs AS b ON b.id = NEW.recovers
	WHERE a.id = NEW.grid AND coalesce(a.spec ->> '$.recovers_generation', 1) <> b.generation;
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, which it recovers, is being reopened', NEW.grid, NEW.recovers))
	WHERE EXISTS (SELECT 1 FROM reopenings WHERE grid = NEW.recovers AND done = 0);
END;

-- The datasets of what a reopened grid job makes are open again until it is over.
DROP TRIGGER datasets_closed;
CREATE TRIGGER datasets_closed BEFORE UPDATE OF closed ON datasets WHEN OLD.closed <> 0 AND NEW.closed <> OLD.closed
	AND NOT (NEW.closed = 0 AND EXISTS (SELECT 1 FROM grid_jobs WHERE id = OLD.maker AND generation > 1
		AND status NOT IN (6, 7, 8, 9, 11))) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is closed, for good', OLD.name));
END;
