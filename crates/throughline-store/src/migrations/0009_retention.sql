-- When the text of a session was last captured, in milliseconds. NULL until the first retention run
-- after the sweep that read it: no sweep evicts what it has just read.
ALTER TABLE sessions ADD COLUMN captured INTEGER;

-- Earlier versions evicted sessions by age alone, in a store that had room for them. Such a session
-- is read again where the agent still has its log: each record that comes back loses its mark.
-- Sessions that went because of a cap keep their marks, so that they are not read and evicted in
-- turns.
ALTER TABLE evictions ADD COLUMN reread INTEGER NOT NULL DEFAULT 0;
UPDATE evictions SET reread = 1 WHERE pass = 'age';
UPDATE sources SET device = 0, inode = 0, size = 0, mtime = 0, ctime = 0, offset = 0, line = 0,
    head = x'ffffffffffffffffffffffffffffffff', tail = zeroblob(16), archived = 0, settled = 0,
    state = NULL
WHERE NOT gone AND NOT forgotten AND id IN (
    SELECT x.source FROM source_sessions x JOIN evictions e ON e.session = x.session
    WHERE e.reread);

-- Rows of the search index that stand for the title and the digest of an evicted session. They
-- share their numbers with the rows of `records`.
CREATE TABLE digest_rows (
    row     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL UNIQUE REFERENCES sessions (id),
    id      BLOB NOT NULL UNIQUE
);
