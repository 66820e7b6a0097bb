-- Names are stored once; rows elsewhere carry their numbers.

CREATE TABLE workspaces (
    id  INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE
);

-- The folders a workspace was seen in. A log that names no remote finds its workspace by these.
CREATE TABLE roots (
    path      TEXT PRIMARY KEY,
    workspace INTEGER NOT NULL REFERENCES workspaces (id)
) WITHOUT ROWID;
CREATE INDEX roots_of_workspace ON roots (workspace);

CREATE TABLE sessions (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    flavor     TEXT NOT NULL,
    kind       TEXT NOT NULL DEFAULT 'main',
    title      TEXT,
    title_rank INTEGER NOT NULL DEFAULT 0,
    workspace  INTEGER REFERENCES workspaces (id),
    cwd        TEXT,
    branch     TEXT,
    model      TEXT,
    version    TEXT,
    parent     TEXT,
    started    INTEGER,
    ended      INTEGER,
    records    INTEGER NOT NULL DEFAULT 0,
    prompts    INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    errors     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_time ON sessions (started);
CREATE INDEX sessions_by_workspace ON sessions (workspace);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;

CREATE TABLE contexts (
    id     INTEGER PRIMARY KEY,
    cwd    TEXT NOT NULL,
    branch TEXT NOT NULL,
    model  TEXT NOT NULL,
    UNIQUE (cwd, branch, model)
);

-- `row` is also the row of the search index. The text lies in `content`, or in `blocks` from `start`
-- on, or in `bodies`.
-- `copy` marks what a fork or a resume repeated: shown with its session, not found by search.
CREATE TABLE records (
    row       INTEGER PRIMARY KEY,
    id        BLOB NOT NULL UNIQUE,
    session   INTEGER NOT NULL REFERENCES sessions (id),
    line      INTEGER NOT NULL,
    ordinal   INTEGER NOT NULL,
    at        INTEGER,
    kind      INTEGER NOT NULL,
    trust     INTEGER NOT NULL,
    copy      INTEGER NOT NULL DEFAULT 0,
    source    INTEGER NOT NULL,
    context   INTEGER NOT NULL,
    message   TEXT NOT NULL,
    tool      TEXT,
    path      TEXT,
    call      TEXT,
    tags      TEXT,
    metadata  TEXT,
    size      INTEGER NOT NULL,
    checksum  INTEGER NOT NULL,
    redaction INTEGER NOT NULL,
    content   TEXT,
    block     INTEGER,
    start     INTEGER,
    body      BLOB
);
CREATE INDEX records_by_session ON records (session, line, ordinal);
CREATE INDEX records_by_body ON records (body) WHERE body IS NOT NULL;

-- Short texts, compressed together.
CREATE TABLE blocks (
    id   INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- Long texts, compressed, kept once.
CREATE TABLE bodies (
    hash BLOB PRIMARY KEY,
    data BLOB NOT NULL
);

CREATE VIRTUAL TABLE search USING fts5 (
    text, scope,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 2"
);

CREATE TABLE usage (
    key         BLOB PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id),
    at          INTEGER,
    model       TEXT,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost_usd    REAL
);
CREATE INDEX usage_by_session ON usage (session);

-- A secret is known again by its keyed hash; the value is never here.
CREATE TABLE secrets (
    session INTEGER NOT NULL REFERENCES sessions (id),
    hash    BLOB NOT NULL,
    length  INTEGER NOT NULL,
    rule    TEXT NOT NULL,
    PRIMARY KEY (session, hash)
) WITHOUT ROWID;

-- One row per file of an agent: how far it was read, and how we know that it is still the same.
CREATE TABLE sources (
    id      INTEGER PRIMARY KEY,
    key     BLOB NOT NULL UNIQUE,
    flavor  TEXT NOT NULL,
    path    TEXT NOT NULL,
    device  INTEGER NOT NULL,
    inode   INTEGER NOT NULL,
    size    INTEGER NOT NULL,
    mtime   INTEGER NOT NULL,
    ctime   INTEGER NOT NULL,
    offset  INTEGER NOT NULL,
    line    INTEGER NOT NULL,
    head    BLOB NOT NULL,
    tail    BLOB NOT NULL,
    settled INTEGER NOT NULL,
    archived   INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    gone    INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    state   TEXT
);
CREATE INDEX sources_by_inode ON sources (device, inode);

-- The agents' own logs, redacted, in pieces whose texts lie in `bodies`: a log that was moved or
-- copied is kept once.
CREATE TABLE raw (
    source     INTEGER NOT NULL REFERENCES sources (id),
    generation INTEGER NOT NULL,
    offset     INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    body       BLOB NOT NULL,
    PRIMARY KEY (source, generation, offset)
) WITHOUT ROWID;
CREATE INDEX raw_by_body ON raw (body);

CREATE TABLE source_sessions (
    source  INTEGER NOT NULL REFERENCES sources (id),
    session INTEGER NOT NULL REFERENCES sessions (id),
    PRIMARY KEY (source, session)
) WITHOUT ROWID;
CREATE INDEX sources_of_session ON source_sessions (session);

CREATE TABLE skips (
    source INTEGER NOT NULL REFERENCES sources (id),
    line   INTEGER NOT NULL,
    why    TEXT NOT NULL,
    PRIMARY KEY (source, line, why)
) WITHOUT ROWID;

-- Kinds of log entries that no adapter knew: how a format's drift is noticed.
CREATE TABLE drift (
    source INTEGER NOT NULL REFERENCES sources (id),
    kind   TEXT NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (source, kind)
) WITHOUT ROWID;

INSERT INTO search (search, rank) VALUES ('automerge', 8);
INSERT INTO search (search, rank) VALUES ('hashsize', 16000000);
