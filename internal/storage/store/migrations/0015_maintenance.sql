-- Schema 15: maintenance windows of a cluster or a queue, which begin at a time of their
-- own. Several may be announced for one target.

CREATE TABLE orders_new (
	kind   TEXT    NOT NULL CHECK (kind IN ('cluster', 'queue', 'type', 'user', 'job')),
	name   TEXT    NOT NULL CHECK (length(name) > 0),
	verb   TEXT    NOT NULL CHECK (verb IN ('drain', 'pause', 'maintenance')),
	start  INTEGER NOT NULL DEFAULT 0,          -- of a maintenance window; 0: at once
	reason TEXT    NOT NULL CHECK (length(reason) > 0 OR kind = 'job'),
	actor  TEXT    NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL DEFAULT 0,          -- 0: until it is resumed
	PRIMARY KEY (kind, name, verb, start),
	CHECK (kind <> 'job' OR verb = 'pause'),
	CHECK ((verb = 'maintenance') = (start > 0)),
	CHECK (verb <> 'maintenance' OR kind IN ('cluster', 'queue') AND until > start)
) STRICT, WITHOUT ROWID;

INSERT INTO orders_new (kind, name, verb, reason, actor, since, until)
	SELECT kind, name, verb, reason, actor, since, until FROM orders;
DROP TABLE orders;
ALTER TABLE orders_new RENAME TO orders;
