-- Files of datasets that cannot be read: missing 4, lost 5, broken 6 (see
-- jjm.FileState). A mark stands for good, with who made it and why; steps that
-- begin later pass the file over as well.

CREATE TABLE file_marks (
	dataset INTEGER NOT NULL,
	file    INTEGER NOT NULL,
	state   INTEGER NOT NULL CHECK (state BETWEEN 4 AND 6),
	time    INTEGER NOT NULL,
	actor   TEXT    NOT NULL CHECK (length(actor) > 0),
	reason  TEXT    NOT NULL CHECK (length(reason) > 0),
	PRIMARY KEY (dataset, file),
	FOREIGN KEY (dataset, file) REFERENCES files (dataset, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER file_marks_fixed BEFORE UPDATE ON file_marks BEGIN
	SELECT RAISE(ABORT, format('file %d of dataset %d: its mark stands', OLD.file, OLD.dataset));
END;

CREATE TRIGGER file_marks_keep BEFORE DELETE ON file_marks BEGIN
	SELECT RAISE(ABORT, format('file %d of dataset %d: its mark stands', OLD.file, OLD.dataset));
END;

-- Nobody comes to own what is marked, not even what was given back of it.
CREATE TRIGGER cover_input_marked BEFORE INSERT ON cover_input BEGIN
	SELECT RAISE(ABORT, format('cover: file %d of local job %d.%d is marked as one that cannot be read', NEW.file, NEW.grid, NEW.local))
	WHERE EXISTS (SELECT 1 FROM inputs AS i JOIN file_marks AS m ON m.dataset = i.dataset AND m.file = NEW.file
		WHERE i.grid = NEW.grid AND i.step = NEW.step AND i.master = 1);
END;
