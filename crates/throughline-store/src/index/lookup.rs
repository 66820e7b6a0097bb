//! Looking rows up for one search: which rows contain a term, their attributes, their texts.
//!
//! This module knows nothing of relevance: rows come newest first, and the caller scores them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId, Trust};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use crate::error::Result;
use crate::index::attributes::{AttributePages, RowAttributes};
use crate::index::digest_rows;
use crate::index::postings::Postings;
use crate::index::row_set::RowSet;
use crate::index::signals::{self, RecordSignals};
use crate::index::terms::{self, SCOPE, SPEAKER};
use crate::ingest::sanitizer::SENSITIVE_TAG;
use crate::query::query_all;
use crate::records::marks::MarkFilter;
use crate::records::sessions::timestamp_from_millis;
use crate::records::{SPEAKER_NAME, SUBMITTED_ID};
use crate::texts::reader::{SCATTERED_BLOCKS, TEXT_COLUMNS, TextReader};
use crate::{Query, Store, records};
use redact::Redactor;

/// A search in progress, on one snapshot of the database. Blocks that were read stay cached.
#[derive(Debug)]
pub struct Lookup<'c> {
    connection: &'c Connection,
    redactor: &'c Redactor,
    attribute_pages: AttributePages<'c>,
    texts: TextReader,
    postings: Option<Postings>,
    /// A buffer for the list that is being read.
    scratch: RefCell<Vec<u32>>,
}

/// The terms of the index and the conditions on rows that the filters of a query require.
#[derive(Clone, Debug, Default)]
pub struct SearchScope {
    /// One term of each group must occur.
    groups: Vec<Vec<String>>,
    kinds: Vec<RecordKind>,
    conditions: Vec<(&'static str, Value)>,
}

/// The rows of a scope.
#[derive(Debug)]
pub struct ScopedRows {
    /// `None`: no restriction.
    rows: Option<RowSet>,
    /// The lists that were read, because a search asks for those of its common terms again.
    lists: RefCell<HashMap<String, Rc<[u32]>>>,
}

/// Rows that contain a term.
#[derive(Debug, Default)]
pub struct TermRows {
    /// The newest rows first.
    pub rows: Vec<i64>,
    /// The number of all such rows.
    pub count: u64,
}

/// A record with what search shows and scores.
#[derive(Clone, Debug)]
pub struct CandidateRow {
    pub row: i64,
    pub id: RecordId,
    pub kind: RecordKind,
    pub trust: Trust,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub speaker: Option<String>,
    pub tags: Vec<String>,
    /// The metadata as JSON.
    pub metadata: Option<String>,
    /// The id that the program which submitted the record gave it.
    pub submitted_id: Option<String>,
    pub presence: Presence,
    pub text: String,
    /// The row is the digest of a session whose records were evicted.
    pub digest_only: bool,
}

/// Whether a record's source still holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    #[default]
    InSource,
    /// The source exists and has lost the record.
    Detached,
    /// The source itself is gone.
    SourceGone,
}

impl Store {
    /// Runs a search on one connection and one snapshot.
    pub fn lookup<T>(&self, answer: impl FnOnce(&Lookup<'_>) -> Result<T>) -> Result<T> {
        self.read(|connection| {
            let snapshot = connection.unchecked_transaction()?;
            let lookup = Lookup {
                connection: &snapshot,
                redactor: self.redactor(),
                attribute_pages: AttributePages::new(&snapshot),
                texts: TextReader::with_blocks(SCATTERED_BLOCKS),
                postings: Postings::open(&snapshot)?,
                scratch: RefCell::default(),
            };
            answer(&lookup)
        })
    }
}

impl Lookup<'_> {
    /// Returns the scope of a query's filters, or `None` when nothing can match.
    pub fn scope(&self, query: &Query) -> Result<Option<SearchScope>> {
        let mut groups = Vec::new();
        if let Some(part) = &query.workspace {
            let sql = "SELECT 'w' || id FROM workspaces WHERE instr(key, ?1) UNION
                       SELECT 'w' || workspace FROM roots WHERE instr(path, ?1)";
            groups.push(self.query_names(sql, part)?);
        }
        if let Some(key) = &query.workspace_key {
            groups.push(self.query_names("SELECT 'w' || id FROM workspaces WHERE key = ?1", key)?);
        }
        if let Some(session) = &query.session {
            let sql = "SELECT 's' || id FROM sessions WHERE name = ?1";
            groups.push(self.query_names(sql, session.as_str())?);
        }
        if !query.marks.is_empty() {
            groups.push(self.marked_sessions(&query.marks)?);
        }
        if let Some(flavor) = query.flavor {
            groups.push(vec![format!("f{}", flavor.name().replace('-', ""))]);
        }
        if let Some(tag) = &query.tag {
            groups.push(vec![terms::tag_term(tag)]);
        }
        if groups.iter().any(Vec::is_empty) {
            return Ok(None);
        }
        Ok(Some(SearchScope {
            groups,
            kinds: query.kinds.clone(),
            conditions: conditions(query),
        }))
    }

    /// Returns the scope words of the sessions that have some marks.
    fn marked_sessions(&self, marks: &MarkFilter) -> Result<Vec<String>> {
        query_all(
            self.connection,
            "SELECT 's' || session FROM session_marks
             WHERE (NOT ?1 OR starred) AND (NOT ?2 OR archived) AND (?3 IS NULL
                OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?3))",
            params![marks.starred, marks.archived, marks.tag],
            |row| row.get(0),
        )
    }

    /// Returns the rows of a scope, or `None` where only FTS5 itself can find them.
    pub fn scoped_rows(&self, scope: &SearchScope) -> Result<Option<ScopedRows>> {
        let Some(postings) = &self.postings else {
            return Ok(None);
        };
        if !scope.conditions.is_empty() {
            return Ok(None);
        }
        let mut rows: Option<RowSet> = None;
        for group in &scope.groups {
            let words = group.iter().map(|word| format!("{SCOPE}{word}"));
            let Some(any) = self.rows_with_any(postings, words)? else {
                return Ok(None);
            };
            rows = Some(match rows {
                None => any,
                Some(rows) => rows.and(&any),
            });
        }
        if !scope.kinds.is_empty() {
            let Some(kept) = self.restrict_to_kinds(postings, rows, &scope.kinds)? else {
                return Ok(None);
            };
            rows = Some(kept);
        }
        Ok(Some(ScopedRows {
            rows,
            lists: RefCell::default(),
        }))
    }

    /// Returns the rows that contain one of some terms.
    fn rows_with_any(
        &self,
        postings: &Postings,
        terms: impl Iterator<Item = String>,
    ) -> Result<Option<RowSet>> {
        let mut list = self.scratch.borrow_mut();
        let mut any = RowSet::default();
        for term in terms {
            if !postings.rows(self.connection, &term, |_| true, &mut list)? {
                return Ok(None);
            }
            any.add(&list);
        }
        Ok(Some(any))
    }

    /// Keeps the rows of some kinds; where most kinds are wanted, it removes the rows of the others
    /// instead.
    fn restrict_to_kinds(
        &self,
        postings: &Postings,
        rows: Option<RowSet>,
        kinds: &[RecordKind],
    ) -> Result<Option<RowSet>> {
        let wanted = |kind: &RecordKind| kinds.contains(kind);
        let are_most = kinds.len() * 2 > RecordKind::ALL.len();
        let terms = RecordKind::ALL
            .iter()
            .filter(|kind| wanted(kind) != (are_most && rows.is_some()))
            .map(|kind| format!("{SCOPE}k{}", *kind as i64));
        let listed = self.rows_with_any(postings, terms)?;
        Ok(listed.map(|listed| match rows {
            None => listed,
            Some(rows) if are_most => rows.without(&listed),
            Some(rows) => rows.and(&listed),
        }))
    }

    /// Returns the rows of a scope that contain all of some terms, at most `max`; `None` where only
    /// FTS5 itself can find them. A term may be a pattern: alternatives separated by spaces, of
    /// which `term*` stands for all terms that begin so.
    pub fn rows_with_terms(
        &self,
        within: &ScopedRows,
        terms: &[&str],
        max: usize,
    ) -> Result<Option<TermRows>> {
        let Some((first, others)) = terms.split_first() else {
            return Ok(Some(TermRows::default()));
        };
        let Some(list) = self.posting_list(within, first)? else {
            return Ok(None);
        };
        if others.is_empty() {
            return Ok(Some(newest_rows(&list, max)));
        }
        let mut all = list.to_vec();
        for term in others {
            let Some(list) = self.posting_list(within, term)? else {
                return Ok(None);
            };
            retain_common(&mut all, &list);
        }
        Ok(Some(newest_rows(&all, max)))
    }

    /// Returns the rows of a scope that contain a term and one of others, in ascending order;
    /// `None` where only FTS5 itself can find them.
    pub fn rows_with_term_and_any(
        &self,
        within: &ScopedRows,
        term: &str,
        others: &[&str],
    ) -> Result<Option<Vec<i64>>> {
        let mut any = RowSet::default();
        for other in others {
            let Some(list) = self.posting_list(within, other)? else {
                return Ok(None);
            };
            any.add(&list);
        }
        let list = self.posting_list(within, term)?;
        Ok(list.map(|list| {
            let both = list.iter().filter(|row| any.has(**row));
            both.map(|row| i64::from(*row)).collect()
        }))
    }

    /// Returns the rows of a scope that match a pattern, in ascending order.
    fn posting_list(&self, within: &ScopedRows, pattern: &str) -> Result<Option<Rc<[u32]>>> {
        if let Some(list) = within.lists.borrow().get(pattern) {
            return Ok(Some(list.clone()));
        }
        let Some(postings) = &self.postings else {
            return Ok(None);
        };
        let mut list = self.scratch.borrow_mut();
        let is_read = match &within.rows {
            Some(rows) => self.read_pattern(postings, pattern, |row| rows.has(row), &mut list)?,
            None => self.read_pattern(postings, pattern, |_| true, &mut list)?,
        };
        if !is_read {
            return Ok(None);
        }
        let list: Rc<[u32]> = list.as_slice().into();
        within
            .lists
            .borrow_mut()
            .insert(pattern.to_owned(), list.clone());
        Ok(Some(list))
    }

    fn read_pattern(
        &self,
        postings: &Postings,
        pattern: &str,
        is_wanted: impl Fn(u32) -> bool + Copy,
        list: &mut Vec<u32>,
    ) -> Result<bool> {
        if !pattern.contains([' ', '*']) {
            return postings.rows(self.connection, pattern, is_wanted, list);
        }
        let mut any = RowSet::default();
        for term in pattern.split(' ') {
            let is_read = match term.strip_suffix('*') {
                Some(prefix) => {
                    postings.rows_with_prefix(self.connection, prefix, is_wanted, &mut any)?
                }
                None => postings.rows(self.connection, term, is_wanted, list)?,
            };
            if !is_read {
                return Ok(false);
            }
            if !term.ends_with('*') {
                any.add(list);
            }
        }
        *list = any.to_vec();
        Ok(true)
    }

    /// Says whether any record has a named speaker.
    pub fn has_speakers(&self) -> Result<bool> {
        let next = char::from(SPEAKER as u8 + 1);
        let sql = "SELECT EXISTS (SELECT 1 FROM search_terms WHERE term >= ?1 AND term < ?2)";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([SPEAKER.to_string(), next.to_string()], |row| row.get(0))?)
    }

    fn query_names(&self, sql: &str, value: &str) -> Result<Vec<String>> {
        query_all(self.connection, sql, [value], |row| row.get(0))
    }

    /// Returns the rows that match an FTS5 expression, the newest first, at most `max`.
    pub fn rows(&self, scope: &SearchScope, expression: &str, max: usize) -> Result<Vec<i64>> {
        let words = scope.words();
        let expression = if words.is_empty() {
            expression.to_owned()
        } else {
            format!("{words} AND ({expression})")
        };
        let mut values = vec![
            Value::Text(expression),
            Value::Integer(i64::try_from(max).unwrap_or(i64::MAX)),
        ];
        let mut sql = "SELECT f.rowid FROM search f".to_owned();
        if !scope.conditions.is_empty() {
            sql += " LEFT JOIN records r ON r.row = f.rowid
                LEFT JOIN digest_rows g ON g.row = f.rowid";
        }
        sql += " WHERE f.search MATCH ?1";
        for (condition, value) in &scope.conditions {
            values.push(value.clone());
            let number = format!("?{}", values.len());
            sql += &format!(" AND {}", condition.replace('?', &number));
        }
        sql += " ORDER BY f.rowid DESC LIMIT ?2";
        query_all(self.connection, &sql, params_from_iter(values), |row| {
            row.get(0)
        })
    }

    /// Returns the approximate number of rows in a query's workspace, and the number of the latest
    /// row.
    pub fn scope_size(&self, query: &Query) -> Result<(u64, i64)> {
        let latest: i64 = self
            .connection
            .prepare_cached("SELECT coalesce(max(row), 0) FROM records")?
            .query_row([], |row| row.get(0))?;
        let whole = "SELECT coalesce(sum(records), 0) FROM sessions";
        let count = match (&query.workspace_key, &query.workspace) {
            (Some(key), _) => self
                .connection
                .prepare_cached(&format!(
                    "{whole} WHERE workspace = (SELECT id FROM workspaces WHERE key = ?1)"
                ))?
                .query_row([key], |row| row.get(0))?,
            (None, Some(part)) => self
                .connection
                .prepare_cached(&format!(
                    "{whole} WHERE workspace IN (SELECT id FROM workspaces WHERE instr(key, ?1)
                        UNION SELECT workspace FROM roots WHERE instr(path, ?1))"
                ))?
                .query_row([part], |row| row.get(0))?,
            (None, None) => u64::try_from(latest).unwrap_or(0),
        };
        Ok((count, latest))
    }

    /// Returns the attributes of rows; `None` for a row that is not indexed.
    pub fn attributes(&self, rows: &[i64]) -> Result<Vec<Option<RowAttributes>>> {
        self.attribute_pages.attributes(rows)
    }

    /// Returns the records of rows in the order of the rows, without those that no longer exist.
    pub fn candidate_rows(&self, rows: &[i64]) -> Result<Vec<CandidateRow>> {
        let sql = format!(
            "SELECT r.row, r.id, r.kind, r.trust, coalesce(r.at, s.started), s.name,
                coalesce((SELECT name FROM session_marks WHERE session = s.id), s.title),
                w.key, r.tool, r.path, {SPEAKER_NAME}, r.tags, r.detached,
                coalesce(f.gone AND (f.offset > 0
                    OR f.head = x'ffffffffffffffffffffffffffffffff'), 0),
                r.metadata, {SUBMITTED_ID}, {TEXT_COLUMNS}
             FROM records r JOIN sessions s ON s.id = r.session
             LEFT JOIN sources f ON f.id = r.source
             LEFT JOIN workspaces w ON w.id = s.workspace WHERE r.row = ?1"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut details = Vec::with_capacity(rows.len());
        for number in rows {
            let mut found = statement.query([number])?;
            let Some(row) = found.next()? else {
                details.extend(self.digest_candidate(*number)?);
                continue;
            };
            details.push(CandidateRow {
                row: row.get(0)?,
                id: RecordId::from_bytes(row.get(1)?),
                kind: records::kind_from_number(row.get(2)?),
                trust: records::trust_from_number(row.get(3)?),
                at: timestamp_from_millis(row.get(4)?),
                session: SessionId::new(row.get::<_, String>(5)?),
                title: row.get(6)?,
                workspace: row.get(7)?,
                tool: row.get(8)?,
                path: row.get(9)?,
                speaker: row.get(10)?,
                tags: tags(row.get(11)?),
                presence: match (row.get(12)?, row.get(13)?) {
                    (true, _) => Presence::Detached,
                    (false, true) => Presence::SourceGone,
                    (false, false) => Presence::InSource,
                },
                metadata: row.get(14)?,
                submitted_id: row.get(15)?,
                text: self.texts.read(self.connection, row, 16)?,
                digest_only: false,
            });
        }
        Ok(details)
    }

    /// Counts the sessions in a query's workspace of which only the digest is left.
    pub fn digest_only_sessions(&self, query: &Query) -> Result<u64> {
        digest_rows::count_digest_only(self.connection, query)
    }

    /// Returns the digest of an evicted session as if it were a record.
    fn digest_candidate(&self, row: i64) -> Result<Option<CandidateRow>> {
        let Some(digest) = digest_rows::read_digest_row(self.connection, row)? else {
            return Ok(None);
        };
        let is_sensitive = self.redactor.clean(&digest.text).sensitive();
        Ok(Some(CandidateRow {
            row,
            id: digest.id,
            kind: digest_rows::DIGEST_KIND,
            trust: digest.trust,
            at: digest.at,
            session: digest.session,
            title: digest.title,
            workspace: digest.workspace,
            tool: None,
            path: None,
            speaker: None,
            tags: is_sensitive
                .then(|| SENSITIVE_TAG.to_owned())
                .into_iter()
                .collect(),
            metadata: None,
            submitted_id: None,
            text: digest.text,
            digest_only: true,
            presence: Presence::InSource,
        }))
    }

    /// Returns the signals about a record.
    pub fn record_signals(&self, id: RecordId) -> Result<RecordSignals> {
        signals::read_record_signals(self.connection, id)
    }

    /// Returns terms of the index that begin with `prefix`, with the number of rows that contain
    /// them.
    pub fn terms_with_prefix(&self, prefix: &str, max: usize) -> Result<Vec<(String, u64)>> {
        let end = format!("{prefix}\u{10ffff}");
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        query_all(
            self.connection,
            "SELECT term, doc FROM search_terms WHERE term >= ?1 AND term < ?2 LIMIT ?3",
            (prefix, end, max),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Returns the ids and titles of sessions by the numbers in row attributes.
    pub fn session_names(&self, numbers: &[u32]) -> Result<Vec<(SessionId, Option<String>)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, coalesce((SELECT m.name FROM session_marks m WHERE m.session = s.id),
                    title) FROM sessions s WHERE id = ?1",
        )?;
        let mut names = Vec::with_capacity(numbers.len());
        for number in numbers {
            names.push(statement.query_row([number], |row| {
                Ok((SessionId::new(row.get::<_, String>(0)?), row.get(1)?))
            })?);
        }
        Ok(names)
    }
}

impl SearchScope {
    /// Returns the same scope for records of every kind.
    #[must_use]
    pub fn of_any_kind(&self) -> Self {
        Self {
            kinds: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns the FTS5 expression of the scope.
    fn words(&self) -> String {
        let kinds: Vec<_> = self
            .kinds
            .iter()
            .map(|kind| format!("k{}", *kind as i64))
            .collect();
        let group = |any: &Vec<String>| {
            let words: Vec<_> = any.iter().map(|w| format!("\"{SCOPE}{w}\"")).collect();
            format!("({})", words.join(" OR "))
        };
        let groups = self.groups.iter().chain([&kinds]);
        let groups = groups.filter(|group| !group.is_empty());
        groups.map(group).collect::<Vec<_>>().join(" AND ")
    }
}

/// Retains the rows that are also in the other list. Both are in ascending order.
fn retain_common(rows: &mut Vec<u32>, other: &[u32]) {
    let mut other = other.iter().peekable();
    rows.retain(|row| {
        while other.next_if(|next| *next < row).is_some() {}
        other.peek() == Some(&row)
    });
}

fn newest_rows(rows: &[u32], max: usize) -> TermRows {
    TermRows {
        rows: rows
            .iter()
            .rev()
            .take(max)
            .map(|row| i64::from(*row))
            .collect(),
        count: rows.len() as u64,
    }
}

fn tags(json: Option<String>) -> Vec<String> {
    json.and_then(|json| serde_json::from_str(&json).ok())
        .unwrap_or_default()
}

fn conditions(query: &Query) -> Vec<(&'static str, Value)> {
    const AT: (&str, &str) = (
        "coalesce(r.at, (SELECT started FROM sessions
            WHERE id = coalesce(r.session, g.session))) >= ?",
        "coalesce(r.at, (SELECT started FROM sessions
            WHERE id = coalesce(r.session, g.session))) < ?",
    );
    let mut all = Vec::new();
    if let Some(tool) = &query.tool {
        all.push(("r.tool = ? COLLATE NOCASE", Value::Text(tool.clone())));
    }
    if let Some(path) = &query.path {
        all.push((
            "r.path GLOB ?",
            Value::Text(format!("*{}*", escape_glob(path))),
        ));
    }
    if let Some(since) = query.since {
        all.push((AT.0, Value::Integer(since.as_millisecond())));
    }
    if let Some(until) = query.until {
        all.push((AT.1, Value::Integer(until.as_millisecond())));
    }
    all
}

/// Escapes the characters that GLOB would read as a class or a single character; `*` stays.
fn escape_glob(path: &str) -> String {
    path.replace('[', "[[]").replace('?', "[?]")
}
