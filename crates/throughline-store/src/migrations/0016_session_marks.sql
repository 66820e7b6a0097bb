-- What the user says of a session: its name, whether it is starred or archived, and its tags as a
-- JSON array. It stays when the session is read again.
CREATE TABLE session_marks (
    session  INTEGER PRIMARY KEY REFERENCES sessions (id),
    name     TEXT,
    starred  INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    tags     TEXT NOT NULL DEFAULT '[]'
);
