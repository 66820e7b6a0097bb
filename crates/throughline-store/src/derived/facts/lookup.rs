//! Finds facts by scope, by id and by text.

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Fact, FactId, FactKind, RecordId, SessionId, Trust};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Store;
use crate::columns::columns;
use crate::error::Result;
use crate::index::terms;
use crate::records::sessions::timestamp_from_millis;

/// Only so many words of a long prompt are compared with facts.
const PROMPT_WEIGHT_MAX: f64 = 6.0;

/// The scope of the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactScope {
    /// All facts.
    All,
    /// The facts of workspaces whose key or folder contains this text.
    Part(String),
    /// The facts of exactly these workspaces, by key, and the global ones.
    Workspaces(Vec<String>),
}

/// Which facts to list.
#[derive(Clone, Debug)]
pub struct FactFilter {
    pub scope: FactScope,
    pub kind: Option<FactKind>,
    /// Whether superseded facts are included.
    pub history: bool,
    pub limit: usize,
}

impl Store {
    /// Lists facts: pins and preferences first, then the latest.
    pub fn facts(&self, filter: &FactFilter) -> Result<Vec<Fact>> {
        let (part, keys) = match &filter.scope {
            FactScope::All => (None, None),
            FactScope::Part(part) => (Some(part.as_str()), None),
            FactScope::Workspaces(keys) => {
                (None, Some(serde_json::to_string(keys).unwrap_or_default()))
            }
        };
        let columns = fact_columns::SQL;
        let sql = format!(
            "SELECT {columns} FROM {FACTS} WHERE (?1 IS NULL OR instr(w.key, ?1) OR EXISTS
                 (SELECT 1 FROM roots x WHERE x.workspace = w.id AND instr(x.path, ?1)))
               AND (?2 IS NULL OR f.workspace IS NULL OR w.key IN (SELECT value FROM json_each(?2)))
               AND (?3 IS NULL OR f.kind = ?3) AND (?4 OR f.superseded IS NULL)
             ORDER BY f.superseded IS NOT NULL, f.pinned DESC, f.kind = 'preference' DESC,
               f.seen DESC, f.id LIMIT ?5"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let kind = filter.kind.map(FactKind::name);
            let mut rows = statement.query(params![part, keys, kind, filter.history, limit])?;
            let mut facts = Vec::new();
            while let Some(row) = rows.next()? {
                facts.push(fact(connection, row)?);
            }
            Ok(facts)
        })
    }

    /// Returns the facts whose id begins with `prefix`, in hexadecimal; at most `limit`.
    pub fn facts_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Fact>> {
        let columns = fact_columns::SQL;
        let sql = format!(
            "SELECT {columns} FROM {FACTS} WHERE substr(lower(hex(f.id)), 1, length(?1)) = lower(?1)
             ORDER BY f.id LIMIT ?2"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut rows = statement.query(params![prefix, limit])?;
            let mut facts = Vec::new();
            while let Some(row) = rows.next()? {
                facts.push(fact(connection, row)?);
            }
            Ok(facts)
        })
    }

    /// Returns the fact with an id.
    pub fn fact(&self, id: FactId) -> Result<Option<Fact>> {
        self.read(|connection| one(connection, id))
    }

    /// Returns the session that a fact was first extracted from.
    pub fn fact_session(&self, id: FactId) -> Result<Option<SessionId>> {
        let sql = "SELECT s.name FROM fact_sources x JOIN sessions s ON s.id = x.session
             WHERE x.fact = ?1 ORDER BY s.started, s.id LIMIT 1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let name = statement.query_row([id.as_bytes()], |row| row.get::<_, String>(0));
            Ok(name.optional()?.map(SessionId::new))
        })
    }

    /// Says whether a fact was extracted from a session.
    pub fn is_fact_of_session(&self, id: FactId, session: &SessionId) -> Result<bool> {
        self.read(|connection| stated_by(connection, id, session))
    }

    /// Returns the facts that share words with `words`, with their scores, best first, and all
    /// pinned facts. Only facts of these workspaces and global ones count, and none that `session`
    /// itself stated.
    pub fn facts_about(
        &self,
        words: &StemmedText,
        workspaces: &[String],
        session: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<(Fact, f64)>> {
        let keys = serde_json::to_string(workspaces).unwrap_or_default();
        self.read(|connection| {
            let mut scored = scored(connection, words, &keys)?;
            scored.sort_by(|a, b| {
                let rank = |x: &ScoredFact| (x.pinned, x.score);
                rank(b)
                    .partial_cmp(&rank(a))
                    .unwrap_or(std::cmp::Ordering::Equal)
                    .then(a.id.cmp(&b.id))
            });
            let mut best = Vec::new();
            for candidate in scored {
                if best.len() == limit {
                    break;
                }
                if let Some(session) = session
                    && stated_by(connection, candidate.id, session)?
                {
                    continue;
                }
                if let Some(fact) = one(connection, candidate.id)? {
                    best.push((fact, candidate.score));
                }
            }
            Ok(best)
        })
    }
}

impl Store {
    /// Returns the facts with a word that begins with each word of a text that is being typed:
    /// pins first, then the latest. Only facts of these workspaces and global ones count.
    pub fn facts_with_words(
        &self,
        typed: &str,
        workspaces: &[String],
        limit: usize,
    ) -> Result<Vec<Fact>> {
        let typed = index_words(typed);
        let content = typed.iter().filter(|word| !terms::is_stop(word));
        let wanted: Vec<&str> = content.map(String::as_str).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let keys = serde_json::to_string(workspaces).unwrap_or_default();
        let columns = fact_columns::SQL;
        let sql = format!(
            "SELECT {columns} FROM {FACTS} WHERE f.superseded IS NULL AND (f.workspace IS NULL OR
                w.key IN (SELECT value FROM json_each(?1))) ORDER BY f.pinned DESC, f.seen DESC"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([keys])?;
            let mut facts = Vec::new();
            while let Some(row) = rows.next()? {
                let text = row.get_ref(3)?.as_str().unwrap_or_default();
                // Most facts have other words, which a text of ASCII shows without being split.
                if text.is_ascii() && !wanted.iter().all(|word| contains_ignoring_case(text, word))
                {
                    continue;
                }
                let words = index_words(text);
                let has = |wanted: &&str| words.iter().any(|word| word.starts_with(wanted));
                if wanted.iter().all(has) {
                    facts.push(fact(connection, row)?);
                    if facts.len() == limit {
                        break;
                    }
                }
            }
            Ok(facts)
        })
    }
}

/// Says whether a text of ASCII contains a word in lower case.
fn contains_ignoring_case(text: &str, word: &str) -> bool {
    let mut windows = text.as_bytes().windows(word.len().max(1));
    windows.any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns the words of a text as the index folds them, compounds in parts.
fn index_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    terms::words(text, |word| {
        if !word.is_compound {
            words.push(word.folded.into_owned());
        }
    });
    words
}

struct ScoredFact {
    id: FactId,
    pinned: bool,
    score: f64,
}

/// Compares every fact in scope. There are few, and their words are stored ready for comparison.
fn scored(connection: &Connection, words: &StemmedText, keys: &str) -> Result<Vec<ScoredFact>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, words, pinned FROM facts WHERE superseded IS NULL AND (workspace IS NULL OR
            workspace IN (SELECT id FROM workspaces
                WHERE key IN (SELECT value FROM json_each(?1))))",
    )?;
    let mut rows = statement.query([keys])?;
    let mut scored = Vec::new();
    while let Some(row) = rows.next()? {
        let line = row.get_ref(1)?.as_str().unwrap_or_default();
        let pinned: bool = row.get(2)?;
        // Most facts share no word and are skipped before they are decoded.
        let shares = line.split(' ').any(|stem| words.stems.contains(stem));
        if !shares && !pinned {
            continue;
        }
        let score = words.similarity_to_line(line, PROMPT_WEIGHT_MAX);
        scored.push(ScoredFact {
            id: FactId::from_bytes(row.get(0)?),
            pinned,
            score,
        });
    }
    Ok(scored)
}

fn stated_by(connection: &Connection, fact: FactId, session: &SessionId) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM fact_sources x JOIN sessions s ON s.id = x.session
             WHERE x.fact = ?1 AND s.name = ?2",
        )?
        .exists(params![fact.as_bytes(), session.as_str()])?)
}

fn one(connection: &Connection, id: FactId) -> Result<Option<Fact>> {
    let columns = fact_columns::SQL;
    let sql = format!("SELECT {columns} FROM {FACTS} WHERE f.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([id.as_bytes()])?;
    rows.next()?.map(|row| fact(connection, row)).transpose()
}

/// Facts `f` with their workspace `w`.
pub(crate) const FACTS: &str = "facts f LEFT JOIN workspaces w ON w.id = f.workspace";

columns! {
    /// The columns of a fact in [`FACTS`].
    pub(crate) mod fact_columns {
        id: "f.id",
        workspace: "w.key",
        kind: "f.kind",
        text: "f.text",
        tags: "f.tags",
        trust: "f.trust",
        pinned: "f.pinned",
        made: "f.made",
        seen: "f.seen",
        times: "f.times",
        superseded: "f.superseded",
    }
}

fn fact(connection: &Connection, row: &Row<'_>) -> Result<Fact> {
    use fact_columns as column;
    let id = FactId::from_bytes(row.get(column::id)?);
    let tags: Option<String> = row.get(column::tags)?;
    let superseded: Option<[u8; 16]> = row.get(column::superseded)?;
    let mut statement = connection
        .prepare_cached("SELECT record FROM fact_sources WHERE fact = ?1 ORDER BY record")?;
    let sources =
        statement.query_map([id.as_bytes()], |row| Ok(RecordId::from_bytes(row.get(0)?)))?;
    let time = |at: i64| timestamp_from_millis(Some(at)).unwrap_or(Timestamp::UNIX_EPOCH);
    Ok(Fact {
        id,
        workspace: row.get(column::workspace)?,
        kind: kind(&row.get::<_, String>(column::kind)?),
        text: row.get(column::text)?,
        tags: tags
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
        trust: trust(row.get(column::trust)?),
        pinned: row.get(column::pinned)?,
        made: time(row.get(column::made)?),
        seen: time(row.get(column::seen)?),
        times: row.get(column::times)?,
        superseded: superseded.map(FactId::from_bytes),
        sources: sources.collect::<Result<_, _>>()?,
    })
}

pub(super) fn kind(name: &str) -> FactKind {
    FactKind::from_name(name).unwrap_or(FactKind::Note)
}

pub(super) fn trust(number: i64) -> Trust {
    crate::records::trust_from_number(number)
}
