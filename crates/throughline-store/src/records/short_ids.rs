//! How many characters of an id tell it apart from all others.

use memory::{RecordId, SessionId};
use rusqlite::{Connection, OptionalExtension};

use crate::Store;
use crate::error::Result;

/// Shorter ids are hard to recognize in a list.
const SHORT_ID_CHARS: usize = 8;

impl Store {
    /// Returns the shortest beginning of a session's own id that selects this session, at least
    /// eight characters. A subagent's id is returned whole, because it begins with its parent's.
    pub fn short_session_id(&self, session: &SessionId) -> Result<String> {
        let native = session.native();
        if native.contains('/') {
            return Ok(native.to_owned());
        }
        let adjacent = self.read(|connection| adjacent_ids(connection, native))?;
        let shared = adjacent.iter().map(|other| common_chars(other, native));
        let needed = shared.max().map_or(0, |shared| shared + 1);
        Ok(native.chars().take(needed.max(SHORT_ID_CHARS)).collect())
    }

    /// Returns the shortest beginning of a record's id that selects this record, at least eight
    /// digits.
    pub fn short_record_id(&self, record: RecordId) -> Result<String> {
        let id = record.to_string();
        for digits in (SHORT_ID_CHARS..id.len()).step_by(4) {
            if self.records_by_prefix(&id[..digits], 2)?.len() < 2 {
                return Ok(id[..digits].to_owned());
            }
        }
        Ok(id)
    }
}

/// Returns the ids of the sessions directly before and after `native` in the order of the index,
/// without `native` itself and its subagents.
fn adjacent_ids(connection: &Connection, native: &str) -> Result<Vec<String>> {
    const OWN_ID: &str = "substr(name, instr(name, ':') + 1)";
    // Subagents' ids continue with a slash, and a zero is the character after it.
    let after_subagents = format!("{native}0");
    let mut found = Vec::new();
    for (condition, bound) in [
        ("< ?1 ORDER BY 1 DESC", native),
        (">= ?1 ORDER BY 1", &after_subagents),
    ] {
        let sql = format!("SELECT {OWN_ID} FROM sessions WHERE {OWN_ID} {condition} LIMIT 1");
        let mut statement = connection.prepare_cached(&sql)?;
        let id: Option<String> = statement.query_row([bound], |row| row.get(0)).optional()?;
        found.extend(id);
    }
    Ok(found)
}

fn common_chars(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_as_long_as_needed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let names = [
            "claude:aaaaaaaa-1111", "claude:aaaaaaaa-1111/agent-1", "codex:aaaaaaaa-2222",
            "codex:bbbbbbbb-1", "grok:short",
        ];
        store
            .write(move |tx, _| {
                for name in names {
                    let flavor = name.split(':').next();
                    tx.execute(
                        "INSERT INTO sessions (name, flavor) VALUES (?1, ?2)",
                        [Some(name), flavor],
                    )?;
                }
                Ok(())
            })
            .unwrap();
        let short = |name: &str| store.short_session_id(&SessionId::new(name)).unwrap();
        assert_eq!(short("claude:aaaaaaaa-1111"), "aaaaaaaa-1");
        assert_eq!(
            short("claude:aaaaaaaa-1111/agent-1"),
            "aaaaaaaa-1111/agent-1"
        );
        assert_eq!(short("codex:bbbbbbbb-1"), "bbbbbbbb");
        assert_eq!(short("grok:short"), "short");
    }
}
