//! What is kept of the secrets a session showed, and the cleaning of rows that hold one.

use memory::SessionId;
use rusqlite::{Transaction, params};

use crate::Store;
use crate::clean::CleanSecrets;
use crate::error::Result;
use crate::redact::{Fingerprint, Redactor, Secret};
use crate::sessions::Known;
use crate::writer::Names;
use crate::{digests, raw, records, sessions, summaries};

impl Store {
    /// Returns what is known of a session's secrets.
    pub(crate) fn fingerprints(&self, session: &SessionId) -> Result<Vec<Fingerprint>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT x.hash, x.length, x.rule FROM secrets x JOIN sessions s ON s.id = x.session
                 WHERE s.name = ?1",
            )?;
            let rows = statement.query_map([session.as_str()], |row| {
                Ok(Fingerprint {
                    hash: row.get(0)?,
                    len: row.get(1)?,
                    rule: row.get(2)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Keeps the fingerprints of a session's secrets, and takes the values out of the rows that were
/// written before they were known for what they are.
pub(crate) fn write(
    tx: &Transaction<'_>,
    names: &mut Names,
    redactor: &Redactor,
    session: Known,
    secrets: &CleanSecrets,
) -> Result<()> {
    for print in &secrets.fingerprints {
        tx.prepare_cached(
            "INSERT OR IGNORE INTO secrets (session, hash, length, rule) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![session.id, print.hash, print.len, print.rule])?;
    }
    if !secrets.fresh.is_empty() {
        sessions::touch(tx, session.id)?;
    }
    scrub(tx, names, redactor, session, &secrets.fresh)?;
    digests::scrub(tx, names, redactor, session, &secrets.fresh)?;
    summaries::scrub(tx, redactor, session, &secrets.fresh)?;
    raw::scrub(tx, redactor, session, &secrets.fresh)
}

fn scrub(
    tx: &Transaction<'_>,
    names: &mut Names,
    redactor: &Redactor,
    session: Known,
    fresh: &[Secret],
) -> Result<()> {
    for stored in records::rows_with_lost_texts(tx, "session = ?1", &[&session.id])? {
        if !fresh
            .iter()
            .any(|secret| stored.text.contains(secret.value.as_str()))
        {
            continue;
        }
        let mut seen = redactor.seen(fresh);
        let text = redactor.clean_in(&stored.text, &mut seen).into_owned();
        records::rewrite(tx, names, session, &stored, &text)?;
    }
    Ok(())
}
