-- The latest named events of Throughline's own work, with their figures as a JSON object: numbers,
-- names and ids, no captured text.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    name    TEXT NOT NULL,
    session INTEGER REFERENCES sessions (id),
    figures TEXT NOT NULL
);
CREATE INDEX events_by_session ON events (session);
