-- A row's terms are taken out of the index with it: told which they are, FTS5 removes them from its pages at once
-- (`secure-delete`), where a table that only marks deleted rows must be merged as a whole before they are gone. Nobody
-- asks how long documents are, so their sizes are not kept.
DROP TABLE search_terms;
DROP TABLE search;
CREATE VIRTUAL TABLE search USING fts5 (
    terms,
    content = '', columnsize = 0, detail = none,
    tokenize = "ascii tokenchars '@='"
);
INSERT INTO search (search, rank) VALUES ('automerge', 8);
INSERT INTO search (search, rank) VALUES ('hashsize', 16000000);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE search_terms USING fts5vocab (search, row);

-- Beside each mark a sum of the terms the row is indexed by: only who tells the same terms can take them out.
ALTER TABLE marks ADD COLUMN sums BLOB;
