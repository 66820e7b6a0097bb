//! Fixtures of each generation of the format, and what must hold for all of them.
