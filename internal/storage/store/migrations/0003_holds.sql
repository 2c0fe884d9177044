-- Schema 3: holds of local jobs.

-- What is remembered of a local job's holds: JSON, NULL for most. It outlives
-- the attempt, because its counters bound how often a hold is released and how
-- often an attempt is given up for one.
ALTER TABLE local_jobs ADD COLUMN holding TEXT;
ALTER TABLE history_local_jobs ADD COLUMN holding TEXT;
