-- Schema 12: orders about a queue of a cluster ('slurm/long') and about one grid job
-- (its id). Who pauses a grid job need not say why.

CREATE TABLE orders_new (
	kind   TEXT    NOT NULL CHECK (kind IN ('cluster', 'queue', 'type', 'user', 'job')),
	name   TEXT    NOT NULL CHECK (length(name) > 0),
	verb   TEXT    NOT NULL CHECK (verb IN ('drain', 'pause')),
	reason TEXT    NOT NULL CHECK (length(reason) > 0 OR kind = 'job'),
	actor  TEXT    NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL DEFAULT 0,          -- 0: until it is resumed
	PRIMARY KEY (kind, name, verb),
	CHECK (kind <> 'job' OR verb = 'pause')
) STRICT, WITHOUT ROWID;

INSERT INTO orders_new (kind, name, verb, reason, actor, since, until)
	SELECT kind, name, verb, reason, actor, since, until FROM orders;
DROP TABLE orders;
ALTER TABLE orders_new RENAME TO orders;
