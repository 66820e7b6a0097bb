-- What was put before a model, and what came of it. Of the prompt only a keyed hash is kept. The
-- session may be too young to have a row, so it stands here by name.
CREATE TABLE injections (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    session   TEXT,
    workspace TEXT,
    at        INTEGER NOT NULL,
    prompt    BLOB NOT NULL,
    tokens    INTEGER NOT NULL,
    verdict   INTEGER,
    looked    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX injections_by_name ON injections (name);
CREATE INDEX injections_by_session ON injections (session);

-- `used` is what the session then did with the item: 1 used, 0 ignored, NULL not yet known.
CREATE TABLE injected (
    injection INTEGER NOT NULL REFERENCES injections (id),
    position  INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    item      BLOB NOT NULL,
    tokens    INTEGER NOT NULL,
    used      INTEGER,
    PRIMARY KEY (injection, position)
) WITHOUT ROWID;
CREATE INDEX injected_by_item ON injected (item);

-- Which sessions touched a file.
CREATE INDEX records_by_path ON records (path, session, kind, at) WHERE path IS NOT NULL;
