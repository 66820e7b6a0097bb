-- The index holds terms made by our own hand (stems, parts of identifiers, names of speakers, words of the
-- scope), each once per record and without places: the texts of the best candidates are read anyway.
DROP TABLE search;
CREATE VIRTUAL TABLE search USING fts5 (
    terms,
    content = '', contentless_delete = 1, detail = none,
    tokenize = "ascii tokenchars '@='"
);
INSERT INTO search (search, rank) VALUES ('automerge', 8);
INSERT INTO search (search, rank) VALUES ('hashsize', 16000000);

-- Eight bytes for every indexed row, 1,024 rows to a page: session, day, kind and size, so that
-- thousands of candidates can be weighed without reading their rows.
CREATE TABLE marks (
    page INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- The terms that occur in the index, for words that do not.
CREATE VIRTUAL TABLE search_terms USING fts5vocab (search, row);
