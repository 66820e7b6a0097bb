//! For a prompt, now: ranked hits, and a context pack within its budget, or silence.
//!
//! Knows nothing of SQL: candidates come from the store with what it knows of them. `now` is an
//! argument, and nothing here writes before a prompt is answered.
