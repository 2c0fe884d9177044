-- Schema 11: a ban of an account holds by its number. Those of before have none until
-- the daemon has asked the machine.
ALTER TABLE bans ADD COLUMN account INTEGER CHECK (account >= 0);
