//! Injections: text that was added to a model's context, and whether it helped.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::{MemoryItem, SessionId, Tokens};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::columns::columns;
use crate::error::Result;
use crate::hex;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;
use redact::CleanString;

/// How many injections are kept; older ones are deleted.
const INJECTIONS_MAX: i64 = 20_000;
/// An explicit verdict weighs as much as this many sessions that used or ignored an item.
const VERDICT_WEIGHT: f64 = 3.0;
/// The weight of the prior, in cases: it keeps the first real cases from deciding alone.
const PRIOR_WEIGHT: f64 = 4.0;
/// The usefulness of an item without any verdict or use.
pub const USEFULNESS_UNKNOWN: f64 = 0.5;

/// An injection to be recorded.
#[derive(Clone, Debug)]
pub struct NewInjection {
    /// A short name that cannot be guessed.
    pub name: String,
    pub session: Option<SessionId>,
    pub workspace: Option<String>,
    pub at: Timestamp,
    /// The prompt, of which only a keyed hash is stored.
    pub prompt: String,
    pub tokens: Tokens,
    pub items: Vec<(MemoryItem, Tokens)>,
}

/// A recorded injection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Injection {
    #[serde(rename = "id")]
    pub name: String,
    pub session: Option<SessionId>,
    pub workspace: Option<String>,
    pub at: Timestamp,
    pub tokens: Tokens,
    pub verdict: Option<InjectionVerdict>,
    pub items: Vec<InjectedItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InjectedItem {
    pub item: MemoryItem,
    pub tokens: Tokens,
    /// Whether the session used the item; unknown until the session has ended.
    pub used: Option<bool>,
}

/// How often an item was given to prompts, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemUse {
    pub given: u64,
    pub used: u64,
    pub good: u64,
    pub bad: u64,
    /// When it was last given.
    pub last: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionVerdict {
    Good,
    Bad,
}

impl Store {
    /// Records an injection after the prompt was answered.
    pub fn record_injection(&self, injection: NewInjection) -> Result<()> {
        let prompt = self.prompt_hash(&injection.prompt);
        self.record_hashed_injection(injection, prompt)
    }

    /// Returns the keyed hash that is stored of a prompt.
    pub fn prompt_hash(&self, prompt: &str) -> [u8; 16] {
        self.redactor().keyed_hash(&[prompt.as_bytes()])
    }

    /// Records an injection by the hash of its prompt.
    pub fn record_hashed_injection(&self, injection: NewInjection, prompt: [u8; 16]) -> Result<()> {
        let clean = |text: &str| self.redactor().clean(text).into_owned();
        let name = clean(&injection.name);
        let session = injection.session.as_ref().map(|id| clean(id.as_str()));
        let workspace = injection.workspace.as_deref().map(clean);
        let NewInjection {
            at, tokens, items, ..
        } = injection;
        self.write(move |tx, _| {
            tx.execute(
                "INSERT INTO injections (name, session, workspace, at, prompt, tokens)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    name.as_str(),
                    session.as_ref().map(CleanString::as_str),
                    workspace.as_ref().map(CleanString::as_str),
                    at.as_millisecond(),
                    prompt,
                    tokens.0
                ],
            )?;
            let id = tx.last_insert_rowid();
            insert_items(tx, id, &items)?;
            delete_old_injections(tx, id)
        })
    }

    /// Lists injections, the latest first.
    pub fn injections(&self, session: Option<&SessionId>, limit: usize) -> Result<Vec<Injection>> {
        let condition = "?1 IS NULL OR session = ?1 ORDER BY at DESC, id DESC LIMIT ?2";
        let session = session.map(SessionId::as_str);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| query_injections(connection, condition, &[&session, &limit]))
    }

    /// Returns the injections whose name begins with `prefix`, the latest first.
    pub fn injections_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Injection>> {
        let condition = "substr(name, 1, length(?1)) = ?1 ORDER BY at DESC, id DESC LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| query_injections(connection, condition, &[&prefix, &limit]))
    }

    /// Returns the items that were injected into a session.
    pub fn items_injected_into(&self, session: &SessionId) -> Result<BTreeSet<MemoryItem>> {
        self.read(|connection| {
            query_all(
                connection,
                "SELECT x.kind, x.item FROM injections i JOIN injected x ON x.injection = i.id
                 WHERE i.session = ?1",
                [session.as_str()],
                |row| {
                    Ok(MemoryItem::from_parts(
                        &row.get::<_, String>(0)?,
                        row.get(1)?,
                    ))
                },
            )
        })
    }

    /// Stores the user's verdict on an injection. Returns whether the injection exists.
    pub fn set_verdict(&self, name: &str, verdict: InjectionVerdict) -> Result<bool> {
        let name = name.to_owned();
        self.write(move |tx, _| {
            let sign = if verdict == InjectionVerdict::Good {
                1
            } else {
                -1
            };
            let sql = "UPDATE injections SET verdict = ?2 WHERE name = ?1";
            Ok(tx.execute(sql, params![name, sign])? > 0)
        })
    }

    /// Returns injections that were not scored yet, whose session has had no activity since
    /// `before`.
    pub fn unscored_injections(&self, before: Timestamp, limit: usize) -> Result<Vec<Injection>> {
        let condition = "looked = 0 AND at < ?1 AND EXISTS (SELECT 1 FROM sessions s
                WHERE s.name = injections.session AND coalesce(s.ended, s.started, 0) < ?1)
             ORDER BY at, id LIMIT ?2";
        let before = before.as_millisecond();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| query_injections(connection, condition, &[&before, &limit]))
    }

    /// Stores which items of an injection were used, in their order.
    pub fn set_used(&self, name: &str, used: &[bool]) -> Result<()> {
        let (name, used) = (name.to_owned(), used.to_vec());
        self.write(move |tx, _| {
            for (position, used) in used.iter().enumerate() {
                tx.prepare_cached(
                    "UPDATE injected SET used = ?3 WHERE position = ?2 AND injection IN
                            (SELECT id FROM injections WHERE name = ?1)",
                )?
                .execute(params![name, position, used])?;
            }
            tx.execute("UPDATE injections SET looked = 1 WHERE name = ?1", [&name])?;
            Ok(())
        })
    }

    /// Returns the usefulness of items from 0 to 1: the smoothed share of cases in which they were
    /// used or praised. Items that were never injected are left out; assume [`USEFULNESS_UNKNOWN`]
    /// for them.
    pub fn usefulness(&self, items: &[MemoryItem]) -> Result<BTreeMap<MemoryItem, f64>> {
        self.read(|connection| {
            let mut known = BTreeMap::new();
            for item in items {
                let (_, id) = item.parts();
                if let Some(share) = item_usefulness(connection, &id)? {
                    known.insert(*item, share);
                }
            }
            Ok(known)
        })
    }

    /// Counts how often an item was given, used and rated.
    pub fn item_use(&self, item: &MemoryItem) -> Result<ItemUse> {
        let (_, id) = item.parts();
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT count(*), coalesce(sum(x.used), 0), coalesce(sum(i.verdict > 0), 0),
                    coalesce(sum(i.verdict < 0), 0), max(i.at)
                 FROM injected x JOIN injections i ON i.id = x.injection WHERE x.item = ?1",
            )?;
            Ok(statement.query_row([id], |row| {
                Ok(ItemUse {
                    given: row.get(0)?,
                    used: row.get(1)?,
                    good: row.get(2)?,
                    bad: row.get(3)?,
                    last: timestamp_from_millis(row.get(4)?),
                })
            })?)
        })
    }

    /// Returns a short name for an injection. It is the same for the same moment, and cannot be
    /// guessed without the installation's key.
    pub fn injection_name(
        &self,
        prompt: &str,
        session: Option<&SessionId>,
        now: Timestamp,
    ) -> String {
        let session = session.map_or("", SessionId::as_str);
        let at = now.as_nanosecond().to_le_bytes();
        let hash = self
            .redactor()
            .keyed_hash(&[&at, session.as_bytes(), prompt.as_bytes()]);
        hex::encode(&hash[..5])
    }
}

columns! {
    mod injection_columns {
        id: "id",
        name: "name",
        session: "session",
        workspace: "workspace",
        at: "at",
        tokens: "tokens",
        verdict: "verdict",
    }
}

/// Returns the injections that meet an SQL condition.
fn query_injections(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Injection>> {
    use injection_columns as column;
    let columns = column::SQL;
    let sql = format!("SELECT {columns} FROM injections WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let verdict: Option<i64> = row.get(column::verdict)?;
        let session: Option<String> = row.get(column::session)?;
        all.push(Injection {
            name: row.get(column::name)?,
            session: session.map(SessionId::new),
            workspace: row.get(column::workspace)?,
            at: timestamp_from_millis(row.get(column::at)?).unwrap_or(Timestamp::UNIX_EPOCH),
            tokens: Tokens(row.get(column::tokens)?),
            verdict: verdict.map(|sign| {
                if sign > 0 {
                    InjectionVerdict::Good
                } else {
                    InjectionVerdict::Bad
                }
            }),
            items: injected_items(connection, row.get(column::id)?)?,
        });
    }
    Ok(all)
}

fn injected_items(connection: &Connection, injection: i64) -> Result<Vec<InjectedItem>> {
    query_all(
        connection,
        "SELECT kind, item, tokens, used FROM injected WHERE injection = ?1 ORDER BY position",
        [injection],
        |row| {
            Ok(InjectedItem {
                item: MemoryItem::from_parts(&row.get::<_, String>(0)?, row.get(1)?),
                tokens: Tokens(row.get(2)?),
                used: row.get(3)?,
            })
        },
    )
}

fn insert_items(
    tx: &Transaction<'_>,
    injection: i64,
    items: &[(MemoryItem, Tokens)],
) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO injected (injection, position, kind, item, tokens)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (position, (item, tokens)) in items.iter().enumerate() {
        let (kind, id) = item.parts();
        statement.execute(params![injection, position, kind, id, tokens.0])?;
    }
    Ok(())
}

fn delete_old_injections(tx: &Transaction<'_>, newest: i64) -> Result<()> {
    let oldest: Option<i64> = tx
        .query_row("SELECT min(id) FROM injections", [], |row| row.get(0))
        .optional()?
        .flatten();
    let last = newest - INJECTIONS_MAX;
    if oldest.is_some_and(|oldest| oldest <= last) {
        tx.execute("DELETE FROM injected WHERE injection <= ?1", [last])?;
        tx.execute("DELETE FROM injections WHERE id <= ?1", [last])?;
    }
    Ok(())
}
/// Removes a forgotten record or fact from all injections.
pub(crate) fn forget_item(tx: &Transaction<'_>, item: &[u8]) -> Result<()> {
    tx.prepare_cached("DELETE FROM injected WHERE item = ?1")?
        .execute([item])?;
    Ok(())
}

/// Deletes the injections into a forgotten session.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: &str) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM injected WHERE injection IN (SELECT id FROM injections WHERE session = ?1)",
    )?
    .execute([session])?;
    tx.prepare_cached("DELETE FROM injections WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}

/// Deletes the injections into sessions of a forgotten workspace, whether the sessions are stored
/// or not.
pub(crate) fn forget_workspace(tx: &Transaction<'_>, key: &str) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM injected WHERE injection IN (SELECT id FROM injections WHERE workspace = ?1)",
    )?
    .execute([key])?;
    tx.prepare_cached("DELETE FROM injections WHERE workspace = ?1")?
        .execute([key])?;
    Ok(())
}

/// Returns the usefulness of an item; `None` when it was never injected.
pub(crate) fn item_usefulness(connection: &Connection, item: &[u8]) -> Result<Option<f64>> {
    let mut statement = connection.prepare_cached(
        "SELECT coalesce(sum(x.used), 0), count(x.used), coalesce(sum(i.verdict > 0), 0),
            count(i.verdict), count(*)
         FROM injected x JOIN injections i ON i.id = x.injection WHERE x.item = ?1",
    )?;
    let (used, seen, good, judged, shown): (f64, f64, f64, f64, i64) =
        statement.query_row([item], |row| {
            let number = |at| row.get::<_, i64>(at).map(|number| number as f64);
            Ok((number(0)?, number(1)?, number(2)?, number(3)?, row.get(4)?))
        })?;
    let helped = used + VERDICT_WEIGHT * good + PRIOR_WEIGHT * USEFULNESS_UNKNOWN;
    let cases = seen + VERDICT_WEIGHT * judged + PRIOR_WEIGHT;
    Ok((shown > 0).then(|| helped / cases))
}
