//! Fingerprints of the secrets that sessions have shown, and removing a secret from rows that were
//! stored before it was recognised.

use aho_corasick::AhoCorasick;
use memory::SessionId;
use rusqlite::{Transaction, params};

use crate::Store;
use crate::derived::{digests, layers, patterns, signals, summaries};
use crate::error::Result;
use crate::ingest::sanitizer::CleanSecrets;
use crate::ingest::text_filter::TextFilter;
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::records::sessions::SessionRef;
use crate::records::{self, sessions};
use crate::texts::logs;
use crate::texts::logs::LogPiece;
use redact::{Fingerprint, Redactor, Secret, SessionSecrets};

impl Store {
    /// Returns the fingerprints of a session's secrets.
    pub(crate) fn fingerprints(&self, session: &SessionId) -> Result<Vec<Fingerprint>> {
        self.read(|connection| {
            query_all(
                connection,
                "SELECT x.hash, x.length, x.rule FROM secrets x JOIN sessions s ON s.id = x.session
                 WHERE s.name = ?1",
                [session.as_str()],
                |row| {
                    Ok(Fingerprint {
                        hash: row.get(0)?,
                        len: row.get(1)?,
                        rule: row.get(2)?,
                    })
                },
            )
        })
    }
}

/// Stores the fingerprints of new secrets, and removes their values from rows that were written
/// before.
pub(crate) fn record_secrets(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    session: SessionRef,
    secrets: &CleanSecrets,
) -> Result<()> {
    for print in &secrets.fingerprints {
        tx.prepare_cached(
            "INSERT OR IGNORE INTO secrets (session, hash, length, rule) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![session.id, print.hash, print.len, print.rule])?;
    }
    if secrets.fresh.is_empty() {
        return Ok(());
    }
    sessions::bump_revision(tx, session.id)?;
    scrub_title(tx, redactor, session.id, &secrets.fresh)?;
    digests::scrub(tx, writer, redactor, session, &secrets.fresh)?;
    signals::scrub(tx, redactor, session.id, &secrets.fresh)?;
    summaries::scrub(tx, redactor, session, &secrets.fresh)?;
    patterns::forget_session(tx, session.id)?;
    layers::forget_session(tx, session.id)?;
    match writer.stored_text.get(session.id) {
        Some(filter) => {
            let held = |secret: &&Secret| filter.may_hold(&secret.value);
            let suspects: Vec<Secret> = secrets.fresh.iter().filter(held).cloned().collect();
            if !suspects.is_empty() {
                let values = SecretMatcher::new(redactor, &suspects);
                scrub_session(tx, writer, session, values, &mut |_| ())?;
            }
        }
        None => {
            let mut filter = TextFilter::default();
            let values = SecretMatcher::new(redactor, &secrets.fresh);
            scrub_session(tx, writer, session, values, &mut |text| filter.add(text))?;
            writer.stored_text.insert(session.id, filter);
        }
    }
    Ok(())
}

/// Removes the values from the title of a session, which is often its first prompt.
fn scrub_title(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    session: i64,
    fresh: &[Secret],
) -> Result<()> {
    let mut read = tx.prepare_cached("SELECT title FROM sessions WHERE id = ?1")?;
    let title: Option<String> = read.query_row([session], |row| row.get(0))?;
    let title = title.unwrap_or_default();
    let mut seen = redactor.session_with(fresh);
    let clean = redactor.clean_in_session(&title, &mut seen).into_owned();
    if clean.as_str() != title {
        tx.prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?
            .execute(params![session, clean.as_str()])?;
    }
    Ok(())
}

/// Adds a piece of a log to the filters of the sessions that it belongs to.
pub(crate) fn add_piece_to_filters(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    source: i64,
    piece: &LogPiece,
) -> Result<()> {
    if writer.stored_text.is_empty() {
        return Ok(());
    }
    let mut statement =
        tx.prepare_cached("SELECT session FROM source_sessions WHERE source = ?1")?;
    let sessions: Vec<i64> = statement
        .query_map([source], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let is_noted = |session: &i64| writer.stored_text.get(*session).is_some();
    if !sessions.iter().any(is_noted) {
        return Ok(());
    }
    let text = piece.read_text_at()?;
    for session in sessions {
        writer.stored_text.add(session, &text);
    }
    Ok(())
}

/// Secret values that are searched for in one pass over each stored text of a session.
pub(crate) struct SecretMatcher<'r> {
    pub redactor: &'r Redactor,
    pub seen: SessionSecrets,
    automaton: Option<AhoCorasick>,
}

impl<'r> SecretMatcher<'r> {
    fn new(redactor: &'r Redactor, secrets: &[Secret]) -> Self {
        Self {
            redactor,
            seen: redactor.session_with(secrets),
            automaton: AhoCorasick::new(secrets.iter().map(|secret| &secret.value)).ok(),
        }
    }

    /// Says whether a text holds one of the values. Without an automaton every text is redacted.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let automaton = self.automaton.as_ref();
        automaton.is_none_or(|automaton| automaton.is_match(text))
    }
}

/// Removes the values from the records and logs of a session, and calls `read` with every text
/// before that.
fn scrub_session(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    mut values: SecretMatcher<'_>,
    read: &mut dyn FnMut(&str),
) -> Result<()> {
    for stored in records::rows_where_lossy(tx, "session = ?1", &[&session.id])? {
        read(&stored.text);
        if !values.matches(&stored.text) {
            continue;
        }
        let clean = values
            .redactor
            .clean_in_session(&stored.text, &mut values.seen);
        let text = clean.into_owned();
        records::replace_record_text(tx, writer, session, &stored, &text)?;
    }
    logs::scrub(tx, session, &mut values, read)
}
