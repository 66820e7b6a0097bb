-- What happened in a session that may recur in others, one row per kind and name. `evicted` rows
-- tell of records that are gone; the others are made again with the session's digest.
CREATE TABLE signals (
    id           INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES sessions (id),
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    text         TEXT NOT NULL,
    times        INTEGER NOT NULL,
    ms           INTEGER NOT NULL,
    tokens       INTEGER NOT NULL,
    overcome     INTEGER NOT NULL,
    first_record BLOB,
    version      INTEGER NOT NULL,
    evicted      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX signals_by_session ON signals (session);

-- Recurring problems and successes, as the last run of the detector found them.
CREATE TABLE patterns (
    id   TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    at   INTEGER NOT NULL
) WITHOUT ROWID;

-- The sessions that a pattern was found in. A pattern goes when one of them is forgotten, and
-- comes back with the next run if the others suffice.
CREATE TABLE pattern_sessions (
    pattern TEXT NOT NULL REFERENCES patterns (id),
    session INTEGER NOT NULL REFERENCES sessions (id),
    PRIMARY KEY (pattern, session)
) WITHOUT ROWID;
CREATE INDEX pattern_sessions_by_session ON pattern_sessions (session);

-- What the user decided about a pattern, and the evidence at that time.
CREATE TABLE review_log (
    id       INTEGER PRIMARY KEY,
    pattern  TEXT NOT NULL,
    decision TEXT NOT NULL,
    why      TEXT,
    evidence TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    flavors  INTEGER NOT NULL,
    at       INTEGER NOT NULL
);
CREATE INDEX review_log_by_pattern ON review_log (pattern, id);

-- Decisions that wait to be sent to the team's hub.
CREATE TABLE decision_queue (
    id      INTEGER PRIMARY KEY,
    review  INTEGER NOT NULL UNIQUE REFERENCES review_log (id),
    payload TEXT NOT NULL,
    sent    INTEGER
);
