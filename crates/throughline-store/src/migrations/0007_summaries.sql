-- Who works on a session right now. A holder that died loses its lease after a while.
CREATE TABLE leases (
    session INTEGER NOT NULL REFERENCES sessions (id),
    kind    TEXT NOT NULL,
    holder  BLOB NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (session, kind)
) WITHOUT ROWID;

-- The running notes of a session. Their text is a file; this is what belongs to it. `state` is what
-- the extractor carries from one time to the next, `folded` the records that it covers, `line` and
-- `ordinal` the last of them. `looked` is the session's count of records when it was last looked at.
-- `stale` marks notes that hold what must go: a secret that was recognised later.
CREATE TABLE summaries (
    session      INTEGER PRIMARY KEY REFERENCES sessions (id),
    looked       INTEGER NOT NULL,
    state        TEXT,
    folded       INTEGER NOT NULL DEFAULT 0,
    line         INTEGER NOT NULL DEFAULT 0,
    ordinal      INTEGER NOT NULL DEFAULT 0,
    version      INTEGER NOT NULL DEFAULT 0,
    way          TEXT,
    made         INTEGER,
    last_message TEXT,
    tokens       INTEGER NOT NULL DEFAULT 0,
    tool_calls   INTEGER NOT NULL DEFAULT 0,
    stale        INTEGER NOT NULL DEFAULT 0
);

-- What each writing of the notes took, and the thresholds that were in force.
CREATE TABLE extractions (
    session       INTEGER NOT NULL REFERENCES sessions (id),
    version       INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    way           TEXT NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    duration_ms   INTEGER NOT NULL,
    start_tokens  INTEGER NOT NULL,
    more_tokens   INTEGER NOT NULL,
    more_calls    INTEGER NOT NULL,
    PRIMARY KEY (session, version)
) WITHOUT ROWID;

-- Every call of a model that Throughline itself made.
CREATE TABLE model_calls (
    id          INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    purpose     TEXT NOT NULL,
    session     INTEGER REFERENCES sessions (id),
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    usd         REAL,
    outcome     TEXT NOT NULL
);
CREATE INDEX model_calls_by_time ON model_calls (at);
