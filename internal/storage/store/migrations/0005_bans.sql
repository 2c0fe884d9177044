-- Who is kept out. A ban that was lifted is deleted; the journal remembers.
CREATE TABLE bans (
	kind   TEXT    NOT NULL CHECK (kind IN ('user', 'dn')),
	name   TEXT    NOT NULL CHECK (length(name) > 0),
	reason TEXT    NOT NULL CHECK (length(reason) > 0),
	actor  TEXT    NOT NULL,
	uid    INTEGER NOT NULL,
	since  INTEGER NOT NULL,
	PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
