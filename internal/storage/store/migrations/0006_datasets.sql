-- Schema 6: datasets, what steps read of them, and who owns which files.
--
-- A dataset belongs to an account and outlives grid jobs. Its files are
-- numbered from 0 in the order in which they came, and are neither changed nor
-- removed. Rows about what a step reads and owns stay where they are when the
-- grid job is archived: they are found by its id, so live work never meets them.

CREATE TABLE datasets (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	uid       INTEGER NOT NULL,
	name      TEXT    NOT NULL CHECK (length(name) > 0),
	container TEXT,
	created   INTEGER NOT NULL,
	closed    INTEGER NOT NULL DEFAULT 0,       -- since when; 0 = more files may come
	files     INTEGER NOT NULL DEFAULT 0,
	events    INTEGER NOT NULL DEFAULT 0,
	bytes     INTEGER NOT NULL DEFAULT 0,
	UNIQUE (uid, name)
) STRICT;

CREATE TRIGGER datasets_keep BEFORE DELETE ON datasets BEGIN
	SELECT RAISE(ABORT, format('dataset %s: a dataset is never deleted', OLD.name));
END;

CREATE TRIGGER datasets_fixed BEFORE UPDATE OF id, uid, name, container, created ON datasets BEGIN
	SELECT RAISE(ABORT, format('dataset %s: its name and owner never change', OLD.name));
END;

CREATE TRIGGER datasets_closed BEFORE UPDATE OF closed ON datasets WHEN OLD.closed <> 0 AND NEW.closed <> OLD.closed BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is closed, for good', OLD.name));
END;

CREATE TABLE files (
	dataset     INTEGER NOT NULL REFERENCES datasets (id),
	n           INTEGER NOT NULL CHECK (n BETWEEN 0 AND 2147483647),
	lfn         TEXT    NOT NULL CHECK (length(lfn) > 0),
	size        INTEGER NOT NULL CHECK (size >= 0),
	events      INTEGER NOT NULL CHECK (events >= 0),
	first_event INTEGER NOT NULL,
	checksum    TEXT,
	boundary    TEXT,
	added       INTEGER NOT NULL,
	more        TEXT,                           -- JSON: lumis, locations, parents
	PRIMARY KEY (dataset, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX files_lfn ON files (dataset, lfn);

CREATE TRIGGER files_order BEFORE INSERT ON files BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is closed: no file can be added', name)) FROM datasets WHERE id = NEW.dataset AND closed <> 0;
	SELECT RAISE(ABORT, format('dataset %s: file %d: the next number is %d', name, NEW.n, files)) FROM datasets WHERE id = NEW.dataset AND files <> NEW.n;
END;

CREATE TRIGGER files_count AFTER INSERT ON files BEGIN
	UPDATE datasets SET files = files + 1, events = events + NEW.events, bytes = bytes + NEW.size WHERE id = NEW.dataset;
END;

CREATE TRIGGER files_fixed BEFORE UPDATE ON files BEGIN
	SELECT RAISE(ABORT, format('file %s: what is known of a file of a dataset never changes', OLD.lfn));
END;

CREATE TRIGGER files_keep BEFORE DELETE ON files BEGIN
	SELECT RAISE(ABORT, format('file %s: a file is never taken from its dataset', OLD.lfn));
END;

-- The datasets that a step reads, with the counters of its files. Only the
-- master's are counted: see input_files.
CREATE TABLE inputs (
	grid        INTEGER NOT NULL REFERENCES grid_jobs (id),
	step        INTEGER NOT NULL,
	dataset     INTEGER NOT NULL REFERENCES datasets (id),
	pos         INTEGER NOT NULL,               -- among the inputs of the step
	master      INTEGER NOT NULL CHECK (master IN (0, 1)),
	attributes  TEXT,
	files       INTEGER NOT NULL DEFAULT 0,
	to_be_used  INTEGER NOT NULL DEFAULT 0,
	used        INTEGER NOT NULL DEFAULT 0,
	finished    INTEGER NOT NULL DEFAULT 0,
	failed      INTEGER NOT NULL DEFAULT 0,
	events      INTEGER NOT NULL DEFAULT 0,
	events_used INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (grid, step, dataset),
	CHECK (finished >= 0 AND failed >= 0 AND finished + failed <= used AND used <= to_be_used AND to_be_used <= files
		AND 0 <= events_used AND events_used <= events)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX inputs_master ON inputs (grid, step) WHERE master = 1;
CREATE INDEX inputs_dataset ON inputs (dataset, grid);

CREATE TRIGGER inputs_keep BEFORE DELETE ON inputs BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what a step reads is never forgotten', OLD.grid));
END;

CREATE TRIGGER inputs_fixed BEFORE UPDATE OF grid, step, dataset, pos, master, attributes ON inputs BEGIN
	SELECT RAISE(ABORT, format('grid job %d: what a step reads never changes', OLD.grid));
END;

-- What has become of the files of the master dataset that a step took notice
-- of; file is the number in that dataset, state that of jjm.FileState: ready 0,
-- picked 1, finished 2, failed 3, missing 4, lost 5, broken 6, dropped 7.
CREATE TABLE input_files (
	grid     INTEGER NOT NULL,
	step     INTEGER NOT NULL,
	file     INTEGER NOT NULL,
	state    INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 7),
	avail    INTEGER NOT NULL DEFAULT 1 CHECK (avail IN (0, 1)), -- some of it may be cut yet
	open     INTEGER NOT NULL DEFAULT 0 CHECK (open >= 0), -- pieces of local jobs that are not over
	lost     INTEGER NOT NULL DEFAULT 0 CHECK (lost >= 0), -- pieces of local jobs that failed for good
	attempts INTEGER NOT NULL DEFAULT 0,
	failures INTEGER NOT NULL DEFAULT 0,
	why      TEXT,
	PRIMARY KEY (grid, step, file),
	CHECK (state < 2 OR avail = 0),
	CHECK (state <> 2 OR open = 0 AND lost = 0),
	CHECK (state <> 3 OR open = 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX input_files_avail ON input_files (grid, step, file) WHERE avail = 1;

CREATE TRIGGER input_files_new BEFORE INSERT ON input_files BEGIN
	SELECT RAISE(ABORT, format('grid job %d: step %d has no master dataset with a file %d', NEW.grid, NEW.step, NEW.file))
	WHERE NOT EXISTS (SELECT 1 FROM inputs AS i JOIN files AS f ON f.dataset = i.dataset AND f.n = NEW.file
		WHERE i.grid = NEW.grid AND i.step = NEW.step AND i.master = 1);
	SELECT RAISE(ABORT, format('grid job %d: a file that a step takes notice of is ready', NEW.grid))
	WHERE NEW.state <> 0 OR NEW.avail <> 1 OR NEW.open <> 0 OR NEW.lost <> 0;
END;

CREATE TRIGGER input_files_noticed AFTER INSERT ON input_files BEGIN
	UPDATE inputs SET files = files + 1, to_be_used = to_be_used + 1,
		events = events + (SELECT events FROM files WHERE dataset = inputs.dataset AND n = NEW.file)
	WHERE grid = NEW.grid AND step = NEW.step AND master = 1;
END;

CREATE TRIGGER input_files_counted AFTER UPDATE OF state ON input_files WHEN NEW.state <> OLD.state BEGIN
	UPDATE inputs SET
		to_be_used = to_be_used + (NEW.state < 4) - (OLD.state < 4),
		used = used + (NEW.state BETWEEN 1 AND 3) - (OLD.state BETWEEN 1 AND 3),
		finished = finished + (NEW.state = 2) - (OLD.state = 2),
		failed = failed + (NEW.state = 3) - (OLD.state = 3),
		events_used = events_used + ((NEW.state = 2) - (OLD.state = 2)) *
			(SELECT events FROM files WHERE dataset = inputs.dataset AND n = NEW.file)
	WHERE grid = NEW.grid AND step = NEW.step AND master = 1;
END;

CREATE TRIGGER input_files_finished BEFORE UPDATE OF state ON input_files WHEN OLD.state = 2 AND NEW.state <> 2 BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: finished stays finished', OLD.grid, OLD.file));
END;

CREATE TRIGGER input_files_fixed BEFORE UPDATE OF grid, step, file ON input_files BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d keeps its number', OLD.grid, OLD.file));
END;

CREATE TRIGGER input_files_keep BEFORE DELETE ON input_files BEGIN
	SELECT RAISE(ABORT, format('grid job %d: file %d: what became of a file is never forgotten', OLD.grid, OLD.file));
END;

-- What the parts of local jobs read, and which local job's work each took over.
CREATE TABLE part_inputs (
	id      INTEGER PRIMARY KEY,
	grid    INTEGER NOT NULL,
	n       INTEGER NOT NULL,
	step    INTEGER NOT NULL,
	origin  INTEGER,                            -- the local job whose work this is
	attempt INTEGER NOT NULL,                   -- how many had this work before
	input   TEXT    NOT NULL,                   -- JSON
	UNIQUE (grid, n)
) STRICT;

CREATE TRIGGER part_inputs_fixed BEFORE UPDATE ON part_inputs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what its part reads never changes', OLD.grid, OLD.n));
END;

CREATE TRIGGER part_inputs_keep BEFORE DELETE ON part_inputs BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: what its part reads is kept', OLD.grid, OLD.n));
END;

-- The cover ledger of files: which local job owns which piece of a file of the
-- master dataset. run is -1 for events (first and last are counted from 0
-- within the file; a whole file is 0..9223372036854775807), else the pieces are
-- sections of that run. released is when the piece was given back.
CREATE TABLE cover_input (
	grid     INTEGER NOT NULL,
	local    INTEGER NOT NULL,
	step     INTEGER NOT NULL,
	file     INTEGER NOT NULL,
	run      INTEGER NOT NULL CHECK (run >= -1),
	first    INTEGER NOT NULL CHECK (first >= 0),
	last     INTEGER NOT NULL CHECK (last >= first),
	released INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (grid, local, file, run, first)
) STRICT, WITHOUT ROWID;

CREATE INDEX cover_input_now ON cover_input (grid, step, file, run, first, last) WHERE released = 0;

-- The pieces that are owned are disjoint, so the one that starts last at or
-- before the end of the new one is the only one that can touch it.
CREATE TRIGGER cover_input_overlap BEFORE INSERT ON cover_input BEGIN
	SELECT RAISE(ABORT, format('cover: file %d %s%d-%d of local job %d.%d overlaps a piece of local job %d.%d', NEW.file,
		CASE NEW.run WHEN -1 THEN '' ELSE 'run ' || NEW.run || ' ' END, NEW.first, NEW.last, NEW.grid, NEW.local, NEW.grid,
		(SELECT local FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file AND run = NEW.run
			AND released = 0 AND first <= NEW.last ORDER BY first DESC LIMIT 1)))
	WHERE NEW.first <= (SELECT last FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file AND run = NEW.run
		AND released = 0 AND first <= NEW.last ORDER BY first DESC LIMIT 1);
	SELECT RAISE(ABORT, format('cover: file %d of local job %d.%d is owned by sections and by events', NEW.file, NEW.grid, NEW.local))
	WHERE EXISTS (SELECT 1 FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file AND released = 0
			AND run = -1 AND NEW.run >= 0)
		OR NEW.run = -1 AND EXISTS (SELECT 1 FROM cover_input WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file
			AND released = 0 AND run >= 0);
	SELECT RAISE(ABORT, format('cover: there is no local job %d.%d that owns by %s', NEW.grid, NEW.local,
		CASE NEW.run WHEN -1 THEN 'file or range' ELSE 'lumi' END))
	WHERE NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = NEW.grid AND n = NEW.local
		AND (NEW.run = -1 AND unit IN ('file', 'range') OR NEW.run >= 0 AND unit = 'lumi') AND state IN (0, 6));
	SELECT RAISE(ABORT, format('cover: file %d of local job %d.%d is not one to be processed', NEW.file, NEW.grid, NEW.local))
	WHERE NOT EXISTS (SELECT 1 FROM input_files WHERE grid = NEW.grid AND step = NEW.step AND file = NEW.file AND state IN (0, 1, 3));
	SELECT RAISE(ABORT, 'cover: a new entry is not given back') WHERE NEW.released <> 0;
END;

CREATE TRIGGER cover_input_fixed BEFORE UPDATE ON cover_input
WHEN NEW.grid <> OLD.grid OR NEW.local <> OLD.local OR NEW.step <> OLD.step OR NEW.file <> OLD.file OR NEW.run <> OLD.run
	OR NEW.first <> OLD.first OR NEW.last <> OLD.last OR OLD.released <> 0 BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d owns file %d until it gives it back, once', OLD.grid, OLD.local, OLD.file));
END;

-- Given back is what a failed (6) or killed (7) local job owned.
CREATE TRIGGER cover_input_released BEFORE UPDATE OF released ON cover_input
WHEN NOT EXISTS (SELECT 1 FROM local_jobs WHERE grid = OLD.grid AND n = OLD.local AND state IN (6, 7)) BEGIN
	SELECT RAISE(ABORT, format('cover: local job %d.%d has neither failed nor been killed: it keeps file %d', OLD.grid, OLD.local, OLD.file));
END;

CREATE TRIGGER cover_input_keep BEFORE DELETE ON cover_input BEGIN
	SELECT RAISE(ABORT, format('cover: that local job %d.%d owned file %d is kept', OLD.grid, OLD.local, OLD.file));
END;

CREATE TRIGGER local_jobs_given_back BEFORE UPDATE OF state ON local_jobs
WHEN NEW.state <> OLD.state AND NEW.state NOT IN (6, 7)
	AND EXISTS (SELECT 1 FROM cover_input WHERE grid = OLD.grid AND local = OLD.n AND released <> 0) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its work was given back', OLD.grid, OLD.n));
END;

-- What a final status claims (see 0001): a local job whose work was given back
-- counts as if it had not been, and all files of the step must be finished.
DROP TRIGGER grid_jobs_truth;
CREATE TRIGGER grid_jobs_truth BEFORE UPDATE OF status ON grid_jobs
WHEN NEW.status IN (6, 7, 8, 9, 11) AND NEW.status <> OLD.status BEGIN
	SELECT RAISE(ABORT, format('grid job %d: done or finished needs its tar', NEW.id))
	WHERE NEW.status IN (6, 7) AND NEW.tar IS NULL;
	SELECT RAISE(ABORT, format('grid job %d: done needs its cutting closed', NEW.id))
	WHERE NEW.status = 6 AND NEW.closed = 0;
	SELECT RAISE(ABORT, format('grid job %d: done, but of its %d local jobs %d are there and %d completed',
		NEW.id, NEW.made, c.there, c.completed))
	FROM (SELECT count(*) AS there, coalesce(sum(state = 5 OR state IN (6, 7)
			AND EXISTS (SELECT 1 FROM cover_input AS o WHERE o.grid = l.grid AND o.local = l.n)
			AND NOT EXISTS (SELECT 1 FROM cover_input AS o WHERE o.grid = l.grid AND o.local = l.n AND o.released = 0)), 0) AS completed
		FROM local_jobs AS l WHERE l.grid = NEW.id) AS c
	WHERE NEW.status = 6 AND (c.there <> NEW.made OR c.completed <> NEW.made);
	SELECT RAISE(ABORT, format('grid job %d: done, but of the %d files of its dataset %d are finished', NEW.id, i.to_be_used, i.finished))
	FROM (SELECT to_be_used, finished FROM inputs WHERE grid = NEW.id AND master = 1 AND finished <> to_be_used LIMIT 1) AS i
	WHERE NEW.status = 6;
	-- submitting 1, submitted 2, running 3, completing 4, held 8
	SELECT RAISE(ABORT, format('grid job %d: cannot be over while local job %d.%d is not', NEW.id, l.grid, l.n))
	FROM (SELECT grid, n FROM local_jobs WHERE grid = NEW.id AND state IN (1, 2, 3, 4, 8) LIMIT 1) AS l;
END;
