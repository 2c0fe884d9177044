-- Schema 9: where local jobs may go, and who made a dataset.

-- The places of the files of a grid job that not all of its clusters can read: a
-- JSON list, in which a local job names its own by number, from 1. 0 is none: it
-- may go to all clusters of its grid job, as every local job could until now.
ALTER TABLE grid_jobs ADD COLUMN places TEXT;
ALTER TABLE local_jobs ADD COLUMN place INTEGER NOT NULL DEFAULT 0 CHECK (place >= 0);
ALTER TABLE history_local_jobs ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER local_jobs_place_fixed BEFORE UPDATE OF place ON local_jobs WHEN NEW.place <> OLD.place BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its place never changes', OLD.grid, OLD.n));
END;

-- The grid job whose outputs a dataset has; 0 where people or catalogues list its
-- files. From there the files that an output was made from are found.
ALTER TABLE datasets ADD COLUMN maker INTEGER NOT NULL DEFAULT 0;

UPDATE datasets SET maker = g.id
FROM (SELECT id, uid, spec ->> '$.output_dataset' AS name FROM grid_jobs WHERE spec ->> '$.output_dataset' IS NOT NULL) AS g
WHERE datasets.uid = g.uid AND datasets.name = g.name;

CREATE TRIGGER datasets_maker BEFORE UPDATE OF maker ON datasets WHEN OLD.maker <> 0 AND NEW.maker <> OLD.maker BEGIN
	SELECT RAISE(ABORT, format('dataset %s: grid job %d makes it, for good', OLD.name, OLD.maker));
END;
