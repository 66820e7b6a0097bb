-- Records that a program submitted under its own id are looked up by that id. The condition is
-- repeated in the queries, because only then SQLite uses the index.
CREATE INDEX records_submitted ON records (message) WHERE message >= 'given/' AND message < 'given0';
