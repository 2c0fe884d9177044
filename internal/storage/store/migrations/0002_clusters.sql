-- Schema 2: a grid job may use several clusters, and administrators' orders.

-- Where the local jobs of a grid job may go, best first: a JSON list, decided
-- once. column cluster keeps the first.
ALTER TABLE grid_jobs ADD COLUMN clusters TEXT;
UPDATE grid_jobs SET clusters = json_array(cluster) WHERE cluster IS NOT NULL;

-- The cluster of the current or last attempt. Until now a grid job had one; a
-- local job that was in a bulk was there.
ALTER TABLE local_jobs ADD COLUMN cluster TEXT;
UPDATE local_jobs SET cluster = (SELECT cluster FROM grid_jobs WHERE id = grid) WHERE tag IS NOT NULL;

ALTER TABLE history_local_jobs ADD COLUMN cluster TEXT;
DROP TRIGGER history_local_jobs_fixed;
UPDATE history_local_jobs SET cluster = (SELECT cluster FROM grid_jobs WHERE id = grid) WHERE tag IS NOT NULL;
CREATE TRIGGER history_local_jobs_fixed BEFORE UPDATE ON history_local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: history never changes', OLD.grid, OLD.n));
END;

-- Orders of administrators. One that is over is deleted; the journal remembers.
CREATE TABLE orders (
	kind   TEXT    NOT NULL CHECK (kind IN ('cluster', 'type', 'user')),
	name   TEXT    NOT NULL CHECK (length(name) > 0),
	verb   TEXT    NOT NULL CHECK (verb IN ('drain', 'pause')),
	reason TEXT    NOT NULL CHECK (length(reason) > 0),
	actor  TEXT    NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL DEFAULT 0,          -- 0: until it is resumed
	PRIMARY KEY (kind, name, verb)
) STRICT, WITHOUT ROWID;
