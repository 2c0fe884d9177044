-- Schema 22: a local job that is resubmitted with other resources gets another place, which has them.

DROP TRIGGER local_jobs_place_fixed;
CREATE TRIGGER local_jobs_place_fixed BEFORE UPDATE OF place ON local_jobs
WHEN NEW.place <> OLD.place AND OLD.state NOT IN (5, 6, 7) BEGIN
	SELECT RAISE(ABORT, format('local job %d.%d: its place never changes while it is not over', OLD.grid, OLD.n));
END;
