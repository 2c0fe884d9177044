-- Schema 16: what it rests on that the work of a grid job that is done was done exactly once.

ALTER TABLE grid_jobs ADD COLUMN proof TEXT CHECK (proof IN ('count', 'exit', 'type'));
