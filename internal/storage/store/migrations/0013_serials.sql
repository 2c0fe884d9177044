-- Schema 13: the numbers of output names. Each template of a grid job has a counter,
-- which every new local job of its step takes the next number from: none comes twice,
-- and none is left out.

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

CREATE TRIGGER output_templates_keep BEFORE DELETE ON output_templates BEGIN
	SELECT RAISE(ABORT, format('grid job %d: the counter of output template %d is kept', OLD.grid, OLD.n));
END;

-- The numbers of a local job, as JSON, in the order of the templates of its step.
ALTER TABLE local_jobs ADD COLUMN serials TEXT;
ALTER TABLE history_local_jobs ADD COLUMN serials TEXT;

CREATE TRIGGER local_jobs_serials BEFORE INSERT ON local_jobs
WHEN NEW.serials IS NOT NULL OR EXISTS (SELECT 1 FROM output_templates WHERE grid = NEW.grid AND step = NEW.step) BEGIN
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

CREATE TRIGGER local_jobs_serials_fixed BEFORE UPDATE OF serials ON local_jobs WHEN NEW.serials IS NOT OLD.serials BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: the numbers of its output names never change', OLD.grid, OLD.n));
END;
