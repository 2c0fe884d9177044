-- Gatekeepers know grid jobs by handles, made of owner and request key.

-- Where the grid job came from, and what it used: JSON.
ALTER TABLE grid_jobs ADD COLUMN origin TEXT;
ALTER TABLE grid_jobs ADD COLUMN usage TEXT;

-- What a handle means: a grid job, and if set, the reason why none was made of
-- what a gatekeeper was told is accepted last.
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

-- A key that is used anew names a later grid job, never an earlier one.
CREATE TRIGGER handles_forward BEFORE UPDATE ON handles
WHEN NEW.uid <> OLD.uid OR OLD.grid IS NOT NULL AND (NEW.grid IS NULL OR NEW.grid < OLD.grid) BEGIN
	SELECT RAISE(ABORT, format('handle %s: it keeps its owner, and names no earlier grid job', OLD.handle));
END;

CREATE TRIGGER grid_jobs_origin_fixed BEFORE UPDATE OF origin ON grid_jobs WHEN NEW.origin IS NOT OLD.origin BEGIN
	SELECT RAISE(ABORT, format('grid job %d: where it came from never changes', OLD.id));
END;
