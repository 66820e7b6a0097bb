-- What a workspace knows beyond single records, in short form. `data` is JSON with the index entry:
-- time, patterns, summary and sizes. All capsules of a workspace are replaced together.
CREATE TABLE capsules (
    id        INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL REFERENCES workspaces (id),
    kind      TEXT NOT NULL,
    name      TEXT NOT NULL,
    data      TEXT NOT NULL,
    UNIQUE (workspace, kind, name)
);
