-- The context cache of each workspace, as the daemon last wrote it. `card` is JSON.
CREATE TABLE context_cache (
    id         INTEGER PRIMARY KEY,
    workspace  INTEGER NOT NULL REFERENCES workspaces (id),
    key        TEXT NOT NULL,
    card       TEXT NOT NULL,
    reads      INTEGER NOT NULL,
    last       INTEGER NOT NULL,
    prefetched INTEGER NOT NULL,
    UNIQUE (workspace, key)
);

-- Cards that expired in the cache or left a full working memory, the latest of each key.
CREATE TABLE archived_cards (
    id        INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL REFERENCES workspaces (id),
    key       TEXT NOT NULL,
    card      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    UNIQUE (workspace, key)
);

-- How many lookups each layer answered, by the day (days since 1970-01-01).
CREATE TABLE layer_counts (
    workspace INTEGER NOT NULL REFERENCES workspaces (id),
    day       INTEGER NOT NULL,
    source    TEXT NOT NULL,
    layer     TEXT NOT NULL,
    count     INTEGER NOT NULL,
    PRIMARY KEY (workspace, day, source, layer)
) WITHOUT ROWID;

-- Measurements of the layers by the day: how many, their sum and the largest.
CREATE TABLE layer_figures (
    workspace INTEGER NOT NULL REFERENCES workspaces (id),
    day       INTEGER NOT NULL,
    name      TEXT NOT NULL,
    count     INTEGER NOT NULL,
    total     INTEGER NOT NULL,
    highest   INTEGER NOT NULL,
    PRIMARY KEY (workspace, day, name)
) WITHOUT ROWID;

-- Grows whenever text is forgotten or redacted, so that no process keeps using cards it holds.
CREATE TABLE card_generation (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    generation INTEGER NOT NULL
);
INSERT INTO card_generation (id, generation) VALUES (1, 0);
