-- Schema 10: marks of files can be taken back; the journal tells by whom and why.

DROP TRIGGER file_marks_keep;

-- Which grid job does what another one left undone. It is verified with it.
CREATE TABLE recoveries (
	grid     INTEGER PRIMARY KEY REFERENCES grid_jobs (id),
	recovers INTEGER NOT NULL REFERENCES grid_jobs (id) CHECK (recovers < grid)
) STRICT;

CREATE INDEX recoveries_of ON recoveries (recovers, grid);

CREATE TRIGGER recoveries_new BEFORE INSERT ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: grid job %d, which it recovers, is not over, or belongs to another account', NEW.grid, NEW.recovers))
	WHERE NOT EXISTS (SELECT 1 FROM grid_jobs AS a JOIN grid_jobs AS b ON b.uid = a.uid
		WHERE a.id = NEW.grid AND b.id = NEW.recovers AND b.status IN (6, 7, 8, 9, 11));
END;

CREATE TRIGGER recoveries_fixed BEFORE UPDATE ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what it recovers never changes', OLD.grid));
END;

CREATE TRIGGER recoveries_keep BEFORE DELETE ON recoveries BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what it recovers is never forgotten', OLD.grid));
END;

-- Local jobs whose outputs were lost after they completed: what they did does not
-- count any more.
CREATE TABLE retractions (
	grid   INTEGER NOT NULL REFERENCES grid_jobs (id),
	n      INTEGER NOT NULL,
	time   INTEGER NOT NULL,
	actor  TEXT    NOT NULL CHECK (length(actor) > 0),
	reason TEXT    NOT NULL CHECK (length(reason) > 0),
	PRIMARY KEY (grid, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER retractions_new BEFORE INSERT ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: it has not completed, so there is nothing to retract', NEW.grid, NEW.n))
	WHERE NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.n AND state = 5)
		AND NOT EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = NEW.grid AND n = NEW.n AND state = 5);
END;

CREATE TRIGGER retractions_fixed BEFORE UPDATE ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

CREATE TRIGGER retractions_keep BEFORE DELETE ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

-- Completed (5) and finished (2) stay so, unless the result was retracted.
DROP TRIGGER local_jobs_completed;
CREATE TRIGGER local_jobs_completed BEFORE UPDATE OF state ON local_jobs WHEN OLD.state = 5 AND NEW.state <> 5
	AND NOT (NEW.state = 6 AND EXISTS (SELECT 1 FROM retractions WHERE grid = OLD.grid AND n = OLD.n)) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: completed stays completed', OLD.grid, OLD.n));
END;

DROP TRIGGER input_files_finished;
CREATE TRIGGER input_files_finished BEFORE UPDATE OF state ON input_files WHEN OLD.state = 2 AND NEW.state <> 2
	AND NOT EXISTS (SELECT 1 FROM retractions AS r JOIN cover_input AS c ON c.grid = r.grid AND c.local = r.n
		WHERE r.grid = OLD.grid AND c.step = OLD.step AND c.file = OLD.file) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: finished stays finished', OLD.grid, OLD.file));
END;

-- Which datasets of a container a dataset was made of, and how many of the files of
-- each were taken: they never change, so the next ones follow.
CREATE TABLE expansions (
	dataset INTEGER NOT NULL REFERENCES datasets (id),
	member  INTEGER NOT NULL REFERENCES datasets (id) CHECK (member <> dataset),
	files   INTEGER NOT NULL CHECK (files >= 0),
	PRIMARY KEY (dataset, member)
) STRICT, WITHOUT ROWID;

CREATE INDEX expansions_member ON expansions (member, dataset);
CREATE INDEX datasets_container ON datasets (uid, container, name) WHERE container IS NOT NULL;

CREATE TRIGGER expansions_back BEFORE UPDATE ON expansions WHEN NEW.files < OLD.files OR NEW.dataset <> OLD.dataset OR NEW.member <> OLD.member BEGIN
	SELECT RAISE(ABORT, format('dataset %d: what it took of dataset %d stays in it', OLD.dataset, OLD.member));
END;

CREATE TRIGGER expansions_keep BEFORE DELETE ON expansions BEGIN
	SELECT RAISE(ABORT, format('dataset %d: what it took of dataset %d stays in it', OLD.dataset, OLD.member));
END;
