-- What was forgotten and must not come back. Everything here is a keyed hash: it can be compared with
-- what is read, and nothing can be read from it.
CREATE TABLE tombstones (
    id      INTEGER PRIMARY KEY,
    name    BLOB NOT NULL UNIQUE,
    kind    TEXT NOT NULL,
    flavor  TEXT NOT NULL,
    records INTEGER NOT NULL,
    at      INTEGER NOT NULL
);

CREATE TABLE tombstone_keys (
    key       BLOB NOT NULL,
    tombstone INTEGER NOT NULL REFERENCES tombstones (id),
    sort      INTEGER NOT NULL,
    PRIMARY KEY (key, tombstone)
) WITHOUT ROWID;
CREATE INDEX tombstone_keys_of ON tombstone_keys (tombstone);
CREATE INDEX tombstone_keys_by_sort ON tombstone_keys (sort, key);

-- Rows were deleted whose traces are still in the index, in the write-ahead log or in copies beside
-- the store. Written with the deletion, removed when the last trace is.
CREATE TABLE traces (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    since INTEGER NOT NULL
);

-- A file that holds only forgotten sessions: it is known by its key, and not by its path.
ALTER TABLE sources ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
