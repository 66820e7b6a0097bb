//! Search over records: a question as typed, filters, ranked hits.
//!
//! Words are matched by the full-text index with the scope inside it, so that filtering by
//! workspace, session, agent and type costs nothing. What people type is never handed to the index
//! as syntax: every word is quoted.

use jiff::Timestamp;
use memory::{Flavor, Kind, RecordId, SessionId};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde::Serialize;

use crate::error::Result;
use crate::sessions::timestamp;
use crate::snippet::{self, Snippet};
use crate::{Store, records};

/// A text longer than this is a paste, not a question; the rest would only slow the index.
const WORDS_MAX: usize = 64;

/// What to look for, and where.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words, "phrases", and -words that must not occur.
    pub text: String,
    pub kinds: Vec<Kind>,
    pub flavor: Option<Flavor>,
    /// A part of the workspace's key or root.
    pub workspace: Option<String>,
    pub session: Option<SessionId>,
    pub tool: Option<String>,
    /// A part of the path, with `*` for any run of characters.
    pub path: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub limit: usize,
}

/// A record that matched.
#[derive(Clone, Debug, Serialize)]
pub struct Hit {
    pub id: RecordId,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub score: f64,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub snippet: Snippet,
}

/// What a search found, and how far it had to stretch.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub rung: Rung,
    pub hits: Vec<Hit>,
}

/// How the words were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Every word occurs.
    AllWords,
    /// No record has every word; some occur.
    AnyWord,
    /// The question holds no word to look for.
    NoWords,
}

impl Store {
    /// Finds records. Any text is a valid question.
    pub fn search(&self, query: &Query) -> Result<Found> {
        let words = Words::parse(&query.text);
        if words.wanted.is_empty() {
            return Ok(Found {
                rung: Rung::NoWords,
                hits: Vec::new(),
            });
        }
        self.read(|connection| {
            let Some(scope) = scope(connection, query)? else {
                return Ok(Found {
                    rung: Rung::AllWords,
                    hits: Vec::new(),
                });
            };
            let all = hits(
                connection,
                query,
                &words,
                &words.expression(" AND ", &scope),
            )?;
            if !all.is_empty() || words.wanted.len() == 1 {
                return Ok(Found {
                    rung: Rung::AllWords,
                    hits: all,
                });
            }
            let any = hits(connection, query, &words, &words.expression(" OR ", &scope))?;
            Ok(Found {
                rung: Rung::AnyWord,
                hits: any,
            })
        })
    }
}

/// Returns the index's form of a question that only rows with all its words answer.
pub(crate) fn all_words(question: &str) -> Option<String> {
    let words = Words::parse(question);
    (!words.wanted.is_empty()).then(|| words.expression(" AND ", ""))
}

/// A question, taken apart.
#[derive(Debug, Default, PartialEq)]
struct Words {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl Words {
    fn parse(text: &str) -> Self {
        let mut words = Self::default();
        let mut rest = text;
        while words.wanted.len() + words.unwanted.len() < WORDS_MAX {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
            if rest.is_empty() {
                break;
            }
            let negated = rest.starts_with('-')
                && rest[1..].starts_with(|c: char| c == '"' || c.is_alphanumeric());
            let body = if negated { &rest[1..] } else { rest };
            let (word, after) = match body.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => {
                    let end = body.find(|c: char| c.is_whitespace() || c.is_control());
                    body.split_at(end.unwrap_or(body.len()))
                }
            };
            rest = after;
            if word.contains(char::is_alphanumeric) {
                let list = if negated {
                    &mut words.unwanted
                } else {
                    &mut words.wanted
                };
                list.push(word.to_owned());
            }
        }
        words
    }

    /// Returns the index's own form of the question; `scope` is ours and needs no quoting.
    fn expression(&self, between: &str, scope: &str) -> String {
        let wanted = self
            .wanted
            .iter()
            .map(|word| quote(word))
            .collect::<Vec<_>>()
            .join(between);
        let mut expression = format!("text : ({wanted})");
        if !scope.is_empty() {
            expression = format!("scope : ({scope}) AND {expression}");
        }
        for word in &self.unwanted {
            expression = format!("({expression}) NOT text : {}", quote(word));
        }
        expression
    }
}

/// Quotes a word, so that nothing in it is syntax. A final `*` asks for what starts with it.
fn quote(word: &str) -> String {
    let (stem, star) = match word.strip_suffix('*') {
        Some(stem) if stem.ends_with(char::is_alphanumeric) => (stem, " *"),
        _ => (word, ""),
    };
    format!("\"{}\"{star}", stem.replace('"', "\"\"").replace('\0', " "))
}

/// Returns the words of the scope column that the filters ask for, or `None` when nothing can
/// match.
fn scope(connection: &Connection, query: &Query) -> Result<Option<String>> {
    let mut groups = Vec::new();
    if let Some(part) = &query.workspace {
        let sql = "SELECT 'w' || id FROM workspaces WHERE instr(key, ?1) UNION
                   SELECT 'w' || workspace FROM roots WHERE instr(path, ?1)";
        groups.push(names(connection, sql, part)?);
    }
    if let Some(session) = &query.session {
        let sql = "SELECT 's' || id FROM sessions WHERE name = ?1";
        groups.push(names(connection, sql, session.as_str())?);
    }
    if let Some(flavor) = query.flavor {
        groups.push(vec![format!("f{}", flavor.name())]);
    }
    if !query.kinds.is_empty() {
        groups.push(
            query
                .kinds
                .iter()
                .map(|kind| format!("k{}", *kind as i64))
                .collect(),
        );
    }
    if groups.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let groups: Vec<_> = groups
        .iter()
        .map(|any| format!("({})", any.join(" OR ")))
        .collect();
    Ok(Some(groups.join(" AND ")))
}

fn names(connection: &Connection, sql: &str, value: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([value], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn hits(
    connection: &Connection,
    query: &Query,
    words: &Words,
    expression: &str,
) -> Result<Vec<Hit>> {
    let (sql, values) = statement(query, expression);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next()? {
        let text = records::text(connection, row, 9)?;
        hits.push(Hit {
            id: RecordId::from_bytes(row.get(0)?),
            kind: records::kind(row.get(1)?),
            // FTS5 counts down from zero; people expect more to be better.
            score: -row.get::<_, f64>(2)?,
            at: timestamp(row.get(3)?),
            session: SessionId::new(row.get::<_, String>(4)?),
            title: row.get(5)?,
            workspace: row.get(6)?,
            tool: row.get(7)?,
            path: row.get(8)?,
            snippet: snippet::around(&text, &words.wanted),
        });
    }
    Ok(hits)
}

/// Returns the SQL of a search. The best rows are chosen before anything is joined to them,
/// unless a filter needs the row itself.
fn statement(query: &Query, expression: &str) -> (String, Vec<Value>) {
    let mut values = vec![
        Value::Text(expression.to_owned()),
        Value::Integer(i64::try_from(query.limit).unwrap_or(i64::MAX)),
    ];
    let mut filters = Vec::new();
    let mut filter = |sql: &str, value: Value| {
        values.push(value);
        filters.push(sql.replace('?', &format!("?{}", values.len())));
    };
    if let Some(tool) = &query.tool {
        filter("r.tool = ? COLLATE NOCASE", Value::Text(tool.clone()));
    }
    if let Some(path) = &query.path {
        filter("r.path GLOB ?", Value::Text(format!("*{}*", glob(path))));
    }
    if let Some(since) = query.since {
        filter(
            "coalesce(r.at, (SELECT started FROM sessions WHERE id = r.session)) >= ?",
            Value::Integer(since.as_millisecond()),
        );
    }
    if let Some(until) = query.until {
        filter(
            "coalesce(r.at, (SELECT started FROM sessions WHERE id = r.session)) < ?",
            Value::Integer(until.as_millisecond()),
        );
    }
    let best = if filters.is_empty() {
        "SELECT rowid AS row, rank AS score FROM search WHERE search MATCH ?1
         ORDER BY rank LIMIT ?2"
            .to_owned()
    } else {
        format!(
            "SELECT r.row AS row, f.rank AS score FROM search f JOIN records r ON r.row = f.rowid
             WHERE f.search MATCH ?1 AND {} ORDER BY f.rank LIMIT ?2",
            filters.join(" AND ")
        )
    };
    let text = records::TEXT;
    let sql = format!(
        "SELECT r.id, r.kind, best.score, r.at, s.name, s.title, w.key, r.tool, r.path, {text}
         FROM ({best}) best JOIN records r ON r.row = best.row JOIN sessions s ON s.id = r.session
         LEFT JOIN workspaces w ON w.id = s.workspace
         ORDER BY best.score, r.at DESC, r.id"
    );
    (sql, values)
}

/// Escapes what GLOB would read as a class or a single character; `*` stays.
fn glob(path: &str) -> String {
    path.replace('[', "[[]").replace('?', "[?]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Words::parse(text).expression(" AND ", ""), expected);
    }

    #[test]
    fn words_phrases_and_not() {
        check("fix parser", r#"text : ("fix" AND "parser")"#);
        check(
            r#"fix "the parser" -docs"#,
            r#"(text : ("fix" AND "the parser")) NOT text : "docs""#,
        );
        check("migrat*", r#"text : ("migrat" *)"#);
        check("scope:w12", r#"text : ("scope:w12")"#);
    }

    #[test]
    fn syntax_is_only_words() {
        check(
            r#"a " OR NEAR( * : ^ -"#,
            r#"text : ("a" AND " OR NEAR( * : ^ -")"#,
        );
        check("-- - *", "text : ()");
        check("x AND y", r#"text : ("x" AND "AND" AND "y")"#);
    }
}
