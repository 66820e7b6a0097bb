-- Where sessions stood. All checkpoints of a session are made of its records alone and are replaced
-- together; `revision` is the session's at that time.
CREATE TABLE checkpoints (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id),
    number      INTEGER NOT NULL,
    interaction INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    data        TEXT NOT NULL,
    UNIQUE (session, number)
);
