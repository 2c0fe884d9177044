-- Schema 8: steps beyond the first. Local jobs of all steps of a grid job are
-- numbered in one sequence; grid_jobs.made counts all of them. The first step,
-- 0, stands in grid_jobs as before.

CREATE TABLE steps (
	grid     INTEGER NOT NULL REFERENCES grid_jobs (id),
	step     INTEGER NOT NULL CHECK (step > 0),
	splitter TEXT    NOT NULL,
	made     INTEGER NOT NULL DEFAULT 0,        -- local jobs of this step
	closed   INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
	carry    BLOB,
	PRIMARY KEY (grid, step)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER steps_keep BEFORE DELETE ON steps BEGIN
	SELECT RAISE(ABORT, format('grid job %d: a step is never forgotten', OLD.grid));
END;

CREATE TRIGGER steps_fixed BEFORE UPDATE OF grid, step, splitter ON steps
WHEN NEW.grid <> OLD.grid OR NEW.step <> OLD.step OR NEW.splitter <> OLD.splitter BEGIN
	SELECT RAISE(ABORT, format('grid job %d: how step %d is cut never changes', OLD.grid, OLD.step));
END;

ALTER TABLE local_jobs ADD COLUMN step INTEGER NOT NULL DEFAULT 0 CHECK (step >= 0);
ALTER TABLE history_local_jobs ADD COLUMN step INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER local_jobs_step BEFORE INSERT ON local_jobs
WHEN NEW.step > 0 AND NOT EXISTS (SELECT 1 FROM steps WHERE grid = NEW.grid AND step = NEW.step) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its grid job has no step %d', NEW.grid, NEW.n, NEW.step));
END;

CREATE TRIGGER local_jobs_step_fixed BEFORE UPDATE OF step ON local_jobs WHEN NEW.step <> OLD.step BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d stays in its step', OLD.grid, OLD.n));
END;

-- The cover of each step is its own.
DROP VIEW history_cover;
CREATE VIEW history_cover AS
	SELECT grid, step, unit, first, first + count - 1 AS last, n AS local FROM history_local_jobs;

DROP TRIGGER local_jobs_cover;
CREATE TRIGGER local_jobs_cover AFTER INSERT ON local_jobs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its grid job is over', NEW.grid, NEW.n))
	FROM grid_jobs WHERE id = NEW.grid AND status IN (6, 7, 8, 9, 11);
	INSERT INTO cover (grid, step, unit, first, last, local)
	VALUES (NEW.grid, NEW.step, NEW.unit, NEW.first, NEW.first + NEW.count - 1, NEW.n);
END;

DROP TRIGGER local_jobs_uncover;
CREATE TRIGGER local_jobs_uncover AFTER DELETE ON local_jobs BEGIN
	DELETE FROM cover WHERE grid = OLD.grid AND step = OLD.step AND unit = OLD.unit AND first = OLD.first;
END;

CREATE TRIGGER cover_input_step BEFORE INSERT ON cover_input
WHEN EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.local AND step <> NEW.step) BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d is not of step %d', NEW.grid, NEW.local, NEW.step));
END;

-- Done needs all steps to be over, besides what grid_jobs_truth asks for: that
-- every local job completed, and every file of every step's dataset is finished.
CREATE TRIGGER grid_jobs_steps BEFORE UPDATE OF status ON grid_jobs WHEN NEW.status = 6 AND OLD.status <> 6 BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done, but its step %d is not closed', NEW.id, step))
	FROM steps WHERE grid = NEW.id AND closed = 0;
END;
