//! The nouns of session memory.
