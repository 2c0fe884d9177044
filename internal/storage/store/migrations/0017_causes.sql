-- Schema 17: why local jobs of a grid job failed, counted by cause, kept with it once it
-- is over.

ALTER TABLE grid_jobs ADD COLUMN causes TEXT; -- JSON
