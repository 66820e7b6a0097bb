-- Sessions in the order of their lists, and by the id that their agent gave them.

CREATE INDEX sessions_by_activity ON sessions (coalesce(ended, started, 0) DESC, name);
CREATE INDEX sessions_by_native_id ON sessions (substr(name, instr(name, ':') + 1));
