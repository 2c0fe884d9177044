-- Schema 20: removing. A grid job that is over can be removed: its rows go, but for its own,
-- which keeps what was told of it and that it was removed. docs/REMOVING.md has the whole story.

-- When a gatekeeper was first told the end of a grid job.
CREATE TABLE told (
	grid INTEGER PRIMARY KEY REFERENCES grid_jobs (id),
	time INTEGER NOT NULL
) STRICT;

-- Who removes which grid job: stored first, carried out later, never taken back.
CREATE TABLE removals (
	grid  INTEGER PRIMARY KEY REFERENCES grid_jobs (id),
	actor TEXT    NOT NULL CHECK (length(actor) > 0),
	time  INTEGER NOT NULL,
	done  INTEGER NOT NULL DEFAULT 0            -- when all of it was gone
) STRICT;

CREATE INDEX removals_open ON removals (grid) WHERE done = 0;

-- What a grid job filled is looked for when it is to be removed.
CREATE INDEX datasets_made ON datasets (maker);

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
		OR EXISTS (SELECT 1 FROM inputs WHERE grid = OLD.grid);
END;

CREATE TRIGGER removals_keep BEFORE DELETE ON removals BEGIN
	SELECT RAISE(ABORT, format('grid job %d: that it was removed is never forgotten', OLD.grid));
END;

CREATE TRIGGER reopenings_removed BEFORE INSERT ON reopenings
WHEN EXISTS (SELECT 1 FROM removals WHERE grid = NEW.grid) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: it is removed', NEW.grid));
END;

CREATE TRIGGER recoveries_removed BEFORE INSERT ON recoveries
WHEN EXISTS (SELECT 1 FROM removals WHERE grid = NEW.recovers) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, which it recovers, is removed', NEW.grid, NEW.recovers));
END;

-- What was accepted never changes (0001), but for the job file of a grid job that is removed.
DROP TRIGGER grid_jobs_fixed;
CREATE TRIGGER grid_jobs_fixed BEFORE UPDATE OF id, uid, gid, user, type, spec, req_key, base_dir, accepted ON grid_jobs
WHEN NEW.id <> OLD.id OR NEW.uid <> OLD.uid OR NEW.gid <> OLD.gid OR NEW.user <> OLD.user OR NEW.type <> OLD.type
	OR NEW.req_key IS NOT OLD.req_key OR NEW.accepted <> OLD.accepted
	OR NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.id AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what was accepted never changes', OLD.id));
END;

-- Rows are never deleted (0001, 0006, 0008, 0013, 0018, 0019), but of a grid job that is being removed.
DROP TRIGGER history_local_jobs_keep;
CREATE TRIGGER history_local_jobs_keep BEFORE DELETE ON history_local_jobs
WHEN NOT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN local_jobs AS l ON l.grid = g.id AND l.n = OLD.n
	WHERE g.id = OLD.grid AND g.reviving = 1 AND l.state = OLD.state AND l.attempt = OLD.attempt)
	AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

DROP TRIGGER history_attempts_keep;
CREATE TRIGGER history_attempts_keep BEFORE DELETE ON history_attempts
WHEN NOT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN attempts AS a ON a.grid = g.id AND a.local = OLD.local AND a.attempt = OLD.attempt
	WHERE g.id = OLD.grid AND g.reviving = 1 AND a.tag = OLD.tag AND a.pos = OLD.pos AND a.ended = OLD.ended)
	AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: history never changes', OLD.grid, OLD.local, OLD.attempt));
END;

DROP TRIGGER evidence_keep;
CREATE TRIGGER evidence_keep BEFORE DELETE ON evidence
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('attempt %d.%d #%d: evidence is kept as it was', OLD.grid, OLD.local, OLD.attempt));
END;

DROP TRIGGER part_inputs_keep;
CREATE TRIGGER part_inputs_keep BEFORE DELETE ON part_inputs
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what its part reads is kept', OLD.grid, OLD.n));
END;

DROP TRIGGER cover_input_keep;
CREATE TRIGGER cover_input_keep BEFORE DELETE ON cover_input
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('cover: that local job %d.%d owned file %d is kept', OLD.grid, OLD.local, OLD.file));
END;

DROP TRIGGER input_files_keep;
CREATE TRIGGER input_files_keep BEFORE DELETE ON input_files
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: what became of a file is never forgotten', OLD.grid, OLD.file));
END;

DROP TRIGGER inputs_keep;
CREATE TRIGGER inputs_keep BEFORE DELETE ON inputs
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what a step reads is never forgotten', OLD.grid));
END;

DROP TRIGGER steps_keep;
CREATE TRIGGER steps_keep BEFORE DELETE ON steps
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a step is never forgotten', OLD.grid));
END;

DROP TRIGGER output_templates_keep;
CREATE TRIGGER output_templates_keep BEFORE DELETE ON output_templates
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: the counter of output template %d is kept', OLD.grid, OLD.n));
END;

DROP TRIGGER retractions_keep;
CREATE TRIGGER retractions_keep BEFORE DELETE ON retractions
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = OLD.grid AND done = 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

-- A bulk may have members of several grid jobs, and goes with the last of them.
DROP TRIGGER bulks_keep;
CREATE TRIGGER bulks_keep BEFORE DELETE ON bulks
WHEN OLD.state < 3 OR EXISTS (SELECT 1 FROM attempts WHERE tag = OLD.tag)
	OR EXISTS (SELECT 1 FROM history_attempts WHERE tag = OLD.tag) BEGIN
	SELECT RAISE(ABORT, format('bulk %s: a bulk is never deleted', OLD.tag));
END;

-- The dataset of the outputs that a grid job merged is its own, "(merge of 17)". All others
-- belong to their account and stay.
DROP TRIGGER datasets_keep;
CREATE TRIGGER datasets_keep BEFORE DELETE ON datasets
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE grid = CAST(substr(OLD.name, 11) AS INTEGER) AND done = 0
	AND OLD.name = format('(merge of %d)', grid)) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: a dataset is never deleted', OLD.name));
END;

DROP TRIGGER files_keep;
CREATE TRIGGER files_keep BEFORE DELETE ON files
WHEN NOT EXISTS (SELECT 1 FROM datasets AS d JOIN removals AS r ON r.grid = CAST(substr(d.name, 11) AS INTEGER) AND r.done = 0
	WHERE d.id = OLD.dataset AND d.name = format('(merge of %d)', r.grid)) BEGIN
	SELECT RAISE(ABORT, format('file %s: a file is never taken from its dataset', OLD.lfn));
END;
