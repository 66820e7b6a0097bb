-- A record that its log no longer holds is kept and marked `detached`. `line` gives the order of a
-- session's records; `log_line` is the record's line in its log where that differs from `line`.
ALTER TABLE records ADD COLUMN detached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN log_line INTEGER;
CREATE INDEX records_detached ON records (source) WHERE detached;

-- Where an agent gives its entries no ids, they are named by what stands before them. `alias` is
-- the id that the record would have by the name that its entry got when the log lost its beginning.
ALTER TABLE records ADD COLUMN alias BLOB;
CREATE INDEX records_by_alias ON records (alias) WHERE alias IS NOT NULL;

-- While a log is read again from its start, `reread_after` is the last row that was stored before.
-- Lines that are appended to a log with detached records are stored `line_shift` lines later, behind
-- those records.
ALTER TABLE sources ADD COLUMN reread_after INTEGER;
ALTER TABLE sources ADD COLUMN line_shift INTEGER NOT NULL DEFAULT 0;

-- A session whose logs hold no times is dated by the modification times of its files.
ALTER TABLE sessions ADD COLUMN dated_by_file INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET (started, ended, dated_by_file) = (
    SELECT min(f.mtime) / 1000000, max(f.mtime) / 1000000, 1
    FROM source_sessions x JOIN sources f ON f.id = x.source
    WHERE x.session = sessions.id AND f.mtime > 0)
WHERE started IS NULL AND ended IS NULL AND EXISTS (
    SELECT 1 FROM source_sessions x JOIN sources f ON f.id = x.source
    WHERE x.session = sessions.id AND f.mtime > 0);
