-- What remains of a session: made of its records as they were at a revision. `base` tells of the
-- records that are gone; what is made of the others is added to it.
CREATE TABLE digests (
    session  INTEGER PRIMARY KEY REFERENCES sessions (id),
    version  INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    made     INTEGER NOT NULL,
    outcome  TEXT NOT NULL,
    trust    INTEGER NOT NULL,
    data     TEXT NOT NULL,
    base     TEXT
);

-- What was evicted of a session: how much, and the first eight bytes of the records' ids, so that
-- a log that is read again does not bring them back. `lost` counts those no digest tells of.
CREATE TABLE evictions (
    session    INTEGER PRIMARY KEY REFERENCES sessions (id),
    at         INTEGER NOT NULL,
    pass       TEXT NOT NULL,
    records    INTEGER NOT NULL,
    prompts    INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    errors     INTEGER NOT NULL,
    lost       INTEGER NOT NULL,
    ids        BLOB NOT NULL
);

-- When each recurring piece of work was last done.
CREATE TABLE chores (
    name TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) WITHOUT ROWID;

-- Counts up with every change of a session's records or usage.
ALTER TABLE sessions ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
-- The revision that was packed for the long term.
ALTER TABLE sessions ADD COLUMN packed INTEGER;

-- A packed piece of a log lies in a block, and its `body` is empty.
ALTER TABLE raw ADD COLUMN block INTEGER;
ALTER TABLE raw ADD COLUMN start INTEGER;
ALTER TABLE raw ADD COLUMN length INTEGER;

CREATE INDEX records_by_block ON records (block) WHERE block IS NOT NULL;
CREATE INDEX raw_by_block ON raw (block) WHERE block IS NOT NULL;
