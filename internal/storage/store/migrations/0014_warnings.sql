-- Schema 14: what people should know of a grid job though its status does not tell it.

ALTER TABLE grid_jobs ADD COLUMN warnings TEXT; -- JSON
