-- Schema 3 belongs to a change that is not here.
SELECT 1;
