-- Schema 19: a retraction is about the result of one attempt. A local job whose part nobody
-- else can own makes what was lost again itself, in a later attempt, whose result counts.

DROP TRIGGER local_jobs_completed;
DROP TRIGGER input_files_finished;

CREATE TABLE retractions_of_attempts (
	grid    INTEGER NOT NULL REFERENCES grid_jobs (id),
	n       INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	time    INTEGER NOT NULL,
	actor   TEXT    NOT NULL CHECK (length(actor) > 0),
	reason  TEXT    NOT NULL CHECK (length(reason) > 0),
	PRIMARY KEY (grid, n, attempt)
) STRICT, WITHOUT ROWID;

INSERT INTO retractions_of_attempts (grid, n, attempt, time, actor, reason)
	SELECT r.grid, r.n, coalesce(l.attempt, h.attempt, 0), r.time, r.actor, r.reason FROM retractions AS r
	LEFT JOIN local_jobs AS l ON l.grid = r.grid AND l.n = r.n
	LEFT JOIN history_local_jobs AS h ON h.grid = r.grid AND h.n = r.n;
DROP TABLE retractions;
ALTER TABLE retractions_of_attempts RENAME TO retractions;

CREATE TRIGGER retractions_new BEFORE INSERT ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its attempt %d has not completed, so there is nothing to retract',
		NEW.grid, NEW.n, NEW.attempt))
	WHERE NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.n AND state = 5 AND attempt = NEW.attempt)
		AND NOT EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = NEW.grid AND n = NEW.n AND state = 5
			AND attempt = NEW.attempt);
END;

CREATE TRIGGER retractions_fixed BEFORE UPDATE ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

CREATE TRIGGER retractions_keep BEFORE DELETE ON retractions BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what was retracted stays so', OLD.grid, OLD.n));
END;

-- Completed (5) stays so, unless the result was retracted: then the local job has failed (6), or
-- waits for a later attempt (submitting, 1) of a grid job that was reopened.
CREATE TRIGGER local_jobs_completed BEFORE UPDATE OF state ON local_jobs WHEN OLD.state = 5 AND NEW.state <> 5
	AND NOT (EXISTS (SELECT 1 FROM retractions WHERE grid = OLD.grid AND n = OLD.n AND attempt = OLD.attempt)
		AND (NEW.state = 6 OR NEW.state = 1 AND NEW.attempt > OLD.attempt
			AND EXISTS (SELECT 1 FROM grid_jobs WHERE id = OLD.grid AND generation > 1))) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: completed stays completed', OLD.grid, OLD.n));
END;

CREATE TRIGGER input_files_finished BEFORE UPDATE OF state ON input_files WHEN OLD.state = 2 AND NEW.state <> 2
	AND NOT EXISTS (SELECT 1 FROM retractions AS r JOIN cover_input AS c ON c.grid = r.grid AND c.local = r.n
		WHERE r.grid = OLD.grid AND c.step = OLD.step AND c.file = OLD.file) BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: finished stays finished', OLD.grid, OLD.file));
END;
