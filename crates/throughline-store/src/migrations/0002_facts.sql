-- Short durable statements. A pin is a fact with `pinned`; a preference has the kind of that name.
-- `id` is made of the workspace and the text's words, so that what is said again meets itself;
-- `words` are those words, so that thousands of facts are compared in a few milliseconds.
CREATE TABLE facts (
    id         BLOB PRIMARY KEY,
    workspace  INTEGER REFERENCES workspaces (id),
    kind       TEXT NOT NULL,
    text       TEXT NOT NULL,
    words      TEXT NOT NULL,
    tags       TEXT,
    trust      INTEGER NOT NULL,
    pinned     INTEGER NOT NULL DEFAULT 0,
    made       INTEGER NOT NULL,
    seen       INTEGER NOT NULL,
    times      INTEGER NOT NULL DEFAULT 1,
    superseded BLOB
) WITHOUT ROWID;
CREATE INDEX facts_by_workspace ON facts (workspace);

-- What a fact was taken from. A fact that a person stated has none; any other goes with its last.
CREATE TABLE fact_sources (
    fact    BLOB NOT NULL,
    record  BLOB NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions (id),
    PRIMARY KEY (fact, record)
) WITHOUT ROWID;
CREATE INDEX fact_sources_by_record ON fact_sources (record);
CREATE INDEX fact_sources_by_session ON fact_sources (session);

-- How many records a session had when it was last searched for facts.
CREATE TABLE fact_looks (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    records INTEGER NOT NULL
);
