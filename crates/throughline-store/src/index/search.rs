//! Plain text search: a query as typed, filters, and the records that contain its words.
//!
//! User input is never passed to FTS5 as syntax: every term is made by [`crate::index::terms`]. The
//! ranking in `recall` parses queries with the same [`QueryWords`], and scores on its own.

use jiff::Timestamp;
use memory::{Flavor, RecordId, RecordKind, SessionId};
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::index::lookup::{CandidateRow, Lookup, Presence, SearchScope};
use crate::index::snippet::{self, Snippet};
use crate::index::terms;
use crate::records::marks::MarkFilter;

/// A query with more words is a pasted text; further words would only slow the search.
const WORDS_MAX: usize = 64;
/// How much of a query is parsed.
const QUESTION_BYTES_MAX: usize = 64 << 10;

/// A search query with its filters.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words, "phrases", and -words that must not occur.
    pub text: String,
    pub kinds: Vec<RecordKind>,
    pub flavor: Option<Flavor>,
    /// A part of the workspace's key or root.
    pub workspace: Option<String>,
    /// The workspace's whole key.
    pub workspace_key: Option<String>,
    pub session: Option<SessionId>,
    pub marks: MarkFilter,
    pub tool: Option<String>,
    /// A part of the path, with `*` for any run of characters.
    pub path: Option<String>,
    pub tag: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub limit: usize,
}

impl Query {
    /// Says whether digests of evicted sessions may match. A query for certain kinds of records
    /// asks for the records themselves.
    pub fn accepts_digests(&self) -> bool {
        self.kinds.is_empty()
    }
}

/// A record that matched, or the digest of a session without records.
#[derive(Clone, Debug, Serialize)]
pub struct Hit {
    pub id: RecordId,
    #[serde(rename = "type")]
    pub kind: RecordKind,
    pub score: f64,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The id that the program which submitted the record gave it.
    #[serde(skip)]
    pub submitted_id: Option<String>,
    /// False once the log has lost the record, or the log itself is gone.
    pub in_source: bool,
    pub snippet: Snippet,
    /// The records of the session were evicted; the hit is its title and digest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub digest_only: bool,
}

/// The hits of a search, and how the words were matched.
#[derive(Clone, Debug, Serialize)]
pub struct TextSearchResult {
    pub rung: MatchLevel,
    pub hits: Vec<Hit>,
}

/// How the words of a query were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchLevel {
    /// Every word occurs as it was typed.
    Exact,
    /// Every word occurs in some form.
    Forms,
    /// Some of the words occur, or words of the same meaning.
    Related,
    /// Words with a similar spelling occur.
    Fuzzy,
    /// The query has no word to search for.
    NoWords,
}

impl Store {
    /// Finds records that contain every word, or else some of them, the latest first. Any text is a
    /// valid query.
    pub fn search(&self, query: &Query) -> Result<TextSearchResult> {
        let words = QueryWords::parse(&query.text);
        let found = |rung, hits| Ok(TextSearchResult { rung, hits });
        if words.is_empty() {
            return found(MatchLevel::NoWords, Vec::new());
        }
        self.lookup(|lookup| {
            let Some(scope) = lookup.scope(query)? else {
                return found(MatchLevel::Forms, Vec::new());
            };
            let all = collect_hits(lookup, query, &words, &scope, " AND ")?;
            if !all.is_empty() || words.required.len() == 1 {
                return found(MatchLevel::Forms, all);
            }
            let any = collect_hits(lookup, query, &words, &scope, " OR ")?;
            found(MatchLevel::Related, any)
        })
    }
}

/// Returns the FTS5 expression that requires all words of a query, and those words.
pub(crate) fn all_words_expression(question: &str) -> Option<(String, Vec<String>)> {
    let words = QueryWords::parse(question);
    let typed = words.required.iter().map(|word| word.text.to_lowercase());
    let typed: Vec<_> = typed.collect();
    (!typed.is_empty()).then(|| (words.match_expression(" AND "), typed))
}

fn collect_hits(
    lookup: &Lookup<'_>,
    query: &Query,
    words: &QueryWords,
    scope: &SearchScope,
    between: &str,
) -> Result<Vec<Hit>> {
    let expression = words.match_expression(between);
    let rows = lookup.rows(scope, &expression, query.limit)?;
    let shown: Vec<_> = words
        .required
        .iter()
        .map(|word| word.text.clone())
        .collect();
    let hit = |detail: CandidateRow| build_hit(&detail, 0.0, &shown);
    let details = lookup.candidate_rows(&rows)?.into_iter();
    Ok(details
        .filter(|detail| query.accepts_digests() || !detail.digest_only)
        .map(hit)
        .collect())
}

/// Builds a hit with the snippet around the words.
pub fn build_hit(detail: &CandidateRow, score: f64, words: &[String]) -> Hit {
    Hit {
        id: detail.id,
        kind: detail.kind,
        score,
        at: detail.at,
        session: detail.session.clone(),
        title: detail.title.clone(),
        workspace: detail.workspace.clone(),
        tool: detail.tool.clone(),
        path: detail.path.clone(),
        tags: detail.tags.clone(),
        metadata: detail
            .metadata
            .as_deref()
            .and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default(),
        submitted_id: detail.submitted_id.clone(),
        in_source: detail.presence == Presence::InSource,
        snippet: snippet::snippet_around(&detail.text, words),
        digest_only: detail.digest_only,
    }
}

/// The words of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryWords {
    pub required: Vec<QueryWord>,
    pub excluded: Vec<QueryWord>,
}

/// A word or a phrase as typed, with its terms in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryWord {
    pub text: String,
    pub kind: QueryWordKind,
    /// The terms that all must occur.
    pub terms: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryWordKind {
    Word,
    /// Several words in this order.
    Phrase,
    /// The beginning of a word.
    Prefix,
}

impl QueryWords {
    /// Parses a query. Stop words count only where there are no other words.
    pub fn parse(text: &str) -> Self {
        let words = Self::parse_with(text, terms::is_content);
        if words.required.is_empty() {
            Self::parse_with(text, terms::is_indexed)
        } else {
            words
        }
    }

    /// Parses a query that is being typed: its last word counts as the beginning of a word from the
    /// first letter on. Only a stop word after other words is taken as complete.
    pub fn parse_typing(text: &str) -> Self {
        let begin = text.rfind(char::is_whitespace).map_or(0, |at| {
            at + text[at..].chars().next().map_or(0, char::len_utf8)
        });
        let (before, last) = text.split_at(begin);
        let is_word = last.starts_with(|c: char| c != '-') && last.ends_with(char::is_alphanumeric);
        let mut words = Self::parse(before);
        if !is_word || (!words.is_empty() && last.len() > 1 && terms::is_stop(last)) {
            return Self::parse(text);
        }
        let typed = QueryWord::new(last, QueryWordKind::Prefix, |_| true);
        if !typed.terms.is_empty() && words.required.len() < WORDS_MAX {
            words.required.push(typed);
        }
        words
    }

    fn parse_with(text: &str, counts: fn(&str) -> bool) -> Self {
        let mut words = Self::default();
        let mut rest = &text[..text.floor_char_boundary(QUESTION_BYTES_MAX)];
        while words.required.len() + words.excluded.len() < WORDS_MAX {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
            if rest.is_empty() {
                break;
            }
            let negated = rest.starts_with('-')
                && rest[1..].starts_with(|c: char| c == '"' || c.is_alphanumeric());
            let body = if negated { &rest[1..] } else { rest };
            let (word, form, after) = match body.strip_prefix('"').and_then(|q| q.split_once('"')) {
                Some((quoted, after)) => (quoted, QueryWordKind::Phrase, after),
                None => {
                    let end = body
                        .find(|c: char| c.is_whitespace() || c.is_control())
                        .unwrap_or(body.len())
                        .max(1);
                    let (word, after) = body.split_at(body.ceil_char_boundary(end));
                    let stem = word.strip_suffix('*').unwrap_or_default();
                    if stem.ends_with(char::is_alphanumeric) {
                        (stem, QueryWordKind::Prefix, after)
                    } else {
                        (word, QueryWordKind::Word, after)
                    }
                }
            };
            rest = after;
            let wanted = QueryWord::new(word, form, counts);
            let list = if negated {
                &mut words.excluded
            } else {
                &mut words.required
            };
            if !wanted.terms.is_empty() && !list.contains(&wanted) {
                list.push(wanted);
            }
        }
        words
    }

    pub fn is_empty(&self) -> bool {
        self.required.is_empty()
    }

    /// Returns the FTS5 expression of the query.
    fn match_expression(&self, between: &str) -> String {
        let wanted: Vec<_> = self
            .required
            .iter()
            .map(QueryWord::match_expression)
            .collect();
        self.without_excluded(wanted.join(between))
    }

    /// Excludes the rows with unwanted words from an expression.
    pub fn without_excluded(&self, expression: String) -> String {
        self.excluded.iter().fold(expression, |found, word| {
            format!("({found}) NOT {}", word.match_expression())
        })
    }
}

impl QueryWord {
    fn new(text: &str, kind: QueryWordKind, counts: fn(&str) -> bool) -> Self {
        let mut terms = Vec::new();
        terms::words(text, |word| {
            let term = terms::term(&word);
            // A compound is found by its parts.
            if !word.is_compound && counts(&word.folded) && !terms.contains(&term) {
                terms.push(term);
            }
        });
        Self {
            text: text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned(),
            kind,
            terms,
        }
    }

    /// Returns the FTS5 expression of the word.
    pub fn match_expression(&self) -> String {
        let last = self.terms.len().saturating_sub(1);
        let quoted = |(at, term): (usize, &String)| match self.kind {
            QueryWordKind::Prefix if at == last => {
                format!("({} OR {} *)", quote_term(term), quote_term(term))
            }
            _ => quote_term(term),
        };
        let terms: Vec<_> = self.terms.iter().enumerate().map(quoted).collect();
        format!("({})", terms.join(" AND "))
    }
}

/// Quotes a term for an FTS5 expression.
pub fn quote_term(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(QueryWords::parse(text).match_expression(" AND "), expected);
    }

    #[test]
    fn words_phrases_and_not() {
        check("fix parser", r#"("fix") AND ("parser")"#);
        check(
            r#"fix "the parser" -docs"#,
            r#"(("fix") AND ("parser")) NOT ("doc")"#,
        );
        check("migrat*", r#"(("migrat" OR "migrat" *))"#);
        check("scope:w12", r#"("scope" AND "w12")"#);
        check("parseConfig", r#"("pars" AND "config")"#);
    }

    #[test]
    fn the_word_being_typed_is_a_prefix() {
        let check = |text: &str, expected: &str| {
            let words = QueryWords::parse_typing(text);
            assert_eq!(words.match_expression(" AND "), expected, "{text:?}");
        };
        check("r", r#"(("r" OR "r" *))"#);
        check("fix the", r#"("fix")"#);
        check("fix t", r#"("fix") AND (("t" OR "t" *))"#);
        check("fix pars ", r#"("fix") AND ("par")"#);
        check("src/ma", r#"("src" AND ("ma" OR "ma" *))"#);
        check("fix -doc", r#"(("fix")) NOT ("doc")"#);
        check("fix \u{2003}p", r#"("fix") AND (("p" OR "p" *))"#);
        check("\"a phrase", r#"(("phrase" OR "phrase" *))"#);
        check("", "");
    }

    #[test]
    fn syntax_is_only_words() {
        check(r#"a " OR NEAR( * : ^ -"#, r#"("near")"#);
        check("-- - *", "");
        check("before", r#"("befor")"#);
        check("before the fix", r#"("fix")"#);
        check("x1 AND y2", r#"("x1") AND ("y2")"#);
        check("\"unclosed quote", r#"("unclos") AND ("quot")"#);
    }
}
