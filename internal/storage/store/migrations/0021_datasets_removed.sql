-- Schema 21: datasets can be removed. One change takes the name, the container and the maker from
-- the row of a dataset, so that nothing finds it any more; its files are deleted after that, a
-- chunk at a time, then the row. docs/DATASETS.md says what is refused.

ALTER TABLE datasets ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;   -- since when; 0 = it is there

CREATE INDEX datasets_removed ON datasets (id) WHERE removed <> 0;

CREATE TRIGGER datasets_remove BEFORE UPDATE OF removed ON datasets BEGIN
	SELECT RAISE(ABORT, format('dataset %s: it is removed, for good', OLD.name)) WHERE OLD.removed <> 0;
	SELECT RAISE(ABORT, format('dataset %s: to remove it takes its name, its container and its maker', OLD.name))
	WHERE NEW.name <> format('(removed %d)', OLD.id) OR NEW.container IS NOT NULL OR NEW.maker <> 0;
	SELECT RAISE(ABORT, format('dataset %s: grid job %d reads it', OLD.name, grid)) FROM inputs WHERE dataset = OLD.id;
	SELECT RAISE(ABORT, format('dataset %s: dataset %d has files of it', OLD.name, dataset)) FROM expansions WHERE member = OLD.id;
	SELECT RAISE(ABORT, format('dataset %s: grid job %d fills it', OLD.name, id)) FROM grid_jobs
	WHERE id = OLD.maker AND status NOT IN (6, 7, 8, 9, 11);
END;

-- A container is a name that its datasets have in common: it is removed when none has it any more.
DROP TRIGGER datasets_fixed;
CREATE TRIGGER datasets_fixed BEFORE UPDATE OF id, uid, name, container, created ON datasets
WHEN NEW.id <> OLD.id OR NEW.uid <> OLD.uid OR NEW.created <> OLD.created OR NEW.container IS NOT NULL
	OR (NEW.name <> OLD.name AND (OLD.removed <> 0 OR NEW.removed = 0)) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: its name and owner never change', OLD.name));
END;

DROP TRIGGER datasets_maker;
CREATE TRIGGER datasets_maker BEFORE UPDATE OF maker ON datasets WHEN OLD.maker <> 0 AND NEW.maker <> OLD.maker
	AND NOT (NEW.maker = 0 AND OLD.removed = 0 AND NEW.removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: grid job %d makes it, for good', OLD.name, OLD.maker));
END;

DROP TRIGGER datasets_keep;
CREATE TRIGGER datasets_keep BEFORE DELETE ON datasets
WHEN OLD.removed = 0 AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = CAST(substr(OLD.name, 11) AS INTEGER) AND done = 0
	AND OLD.name = format('(merge of %d)', grid)) BEGIN
	SELECT RAISE(ABORT, format('dataset %s: a dataset that is not removed is never deleted', OLD.name));
END;

DROP TRIGGER files_keep;
CREATE TRIGGER files_keep BEFORE DELETE ON files
WHEN NOT EXISTS (SELECT 1 FROM datasets WHERE id = OLD.dataset AND removed <> 0)
	AND NOT EXISTS (SELECT 1 FROM datasets AS d JOIN removals AS r ON r.grid = CAST(substr(d.name, 11) AS INTEGER) AND r.done = 0
		WHERE d.id = OLD.dataset AND d.name = format('(merge of %d)', r.grid)) BEGIN
	SELECT RAISE(ABORT, format('file %s: a file is never taken from its dataset', OLD.lfn));
END;

DROP TRIGGER expansions_keep;
CREATE TRIGGER expansions_keep BEFORE DELETE ON expansions
WHEN NOT EXISTS (SELECT 1 FROM datasets WHERE id = OLD.dataset AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: what it took of dataset %d stays in it', OLD.dataset, OLD.member));
END;

-- Nothing begins to use what is removed.
CREATE TRIGGER files_removed BEFORE INSERT ON files
WHEN EXISTS (SELECT 1 FROM datasets WHERE id = NEW.dataset AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: it is removed', NEW.dataset));
END;

CREATE TRIGGER inputs_removed BEFORE INSERT ON inputs
WHEN EXISTS (SELECT 1 FROM datasets WHERE id = NEW.dataset AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: it is removed', NEW.dataset));
END;

CREATE TRIGGER expansions_removed BEFORE INSERT ON expansions
WHEN EXISTS (SELECT 1 FROM datasets WHERE id IN (NEW.dataset, NEW.member) AND removed <> 0) BEGIN
	SELECT RAISE(ABORT, format('dataset %d: it, or dataset %d, is removed', NEW.dataset, NEW.member));
END;
