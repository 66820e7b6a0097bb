//! The context caches of workspaces, archived cards, and how many lookups each layer answered.
//!
//! A card is text of records, so these rows disappear with them: forgetting, new redaction rules
//! and eviction empty the cache of the workspace and raise the generation. A process that holds
//! cards in memory compares the generation before it uses one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::layers::{CacheEntry, Card, CardKey, Layer, LookupSource};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::derived::capsules;
use crate::error::Result;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;

/// A workspace archives at most this many cards; the oldest are deleted.
const ARCHIVED_MAX: i64 = 5_000;

/// Lookups and measurements of one workspace and day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerCounts {
    pub lookups: BTreeMap<(LookupSource, Layer), u64>,
    pub figures: BTreeMap<&'static str, LayerFigure>,
}

/// A measurement: how many, their sum and the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LayerFigure {
    pub count: u64,
    pub total: u64,
    pub highest: u64,
}

impl LayerFigure {
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.total += value;
        self.highest = self.highest.max(value);
    }

    /// Returns the mean, or zero without measurements.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.count.max(1) as f64
    }
}

/// What a process hands over of one workspace's layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerFlush {
    pub workspace: String,
    /// The generation under which the cards were made.
    pub generation: i64,
    /// The whole cache; `None` leaves the stored one as it is.
    pub cache: Option<Vec<(CardKey, CacheEntry)>>,
    pub archived: Vec<(CardKey, Card)>,
    pub counts: BTreeMap<i64, LayerCounts>,
}

/// A row of lookups: day, source and layer by name, and their number.
pub type LookupRow = (i64, String, String, u64);

impl Store {
    /// Returns a number that grows whenever text is forgotten or redacted.
    pub fn card_generation(&self) -> Result<i64> {
        self.read(generation)
    }

    /// Returns the stored cache of a workspace.
    pub fn context_cache(&self, workspace: &str) -> Result<Vec<(CardKey, CacheEntry)>> {
        let sql = "SELECT c.key, c.card, c.reads, c.last, c.prefetched FROM context_cache c
            JOIN workspaces w ON w.id = c.workspace WHERE w.key = ?1 ORDER BY c.key";
        let rows: Vec<(String, String, u32, Option<Timestamp>, bool)> =
            self.read(|connection| {
                query_all(connection, sql, [workspace], |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        timestamp_from_millis(row.get(3)?),
                        row.get(4)?,
                    ))
                })
            })?;
        let entry = |(key, card, reads, last, prefetched): (String, String, _, _, _)| {
            let entry = CacheEntry {
                card: serde_json::from_str(&card).ok()?,
                reads,
                last: last?,
                prefetched,
            };
            Some((CardKey::parse(&key)?, entry))
        };
        Ok(rows.into_iter().filter_map(entry).collect())
    }

    /// Returns the archived card of a key.
    pub fn archived_card(&self, workspace: &str, key: &CardKey) -> Result<Option<Card>> {
        let sql = "SELECT a.card FROM archived_cards a JOIN workspaces w ON w.id = a.workspace
            WHERE w.key = ?1 AND a.key = ?2";
        let card: Option<String> = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row(params![workspace, key.to_string()], |row| row.get(0));
            Ok(found.optional()?)
        })?;
        Ok(card.and_then(|card| serde_json::from_str(&card).ok()))
    }

    /// Writes the cache, archived cards and counts of a workspace. Returns false, and writes only
    /// the counts, if text was forgotten since the cards were made.
    pub fn flush_layers(&self, flush: LayerFlush) -> Result<bool> {
        let redactor = self.redactor_handle();
        let clean = move |card: &Card| {
            let json = serde_json::to_string(card).unwrap_or_default();
            redactor.clean(&json).into_owned().as_str().to_owned()
        };
        self.write(move |tx, _| {
            let sql = "SELECT id FROM workspaces WHERE key = ?1";
            let mut statement = tx.prepare_cached(sql)?;
            let id = statement.query_row([&flush.workspace], |row| row.get(0));
            let Some(id) = id.optional()? else {
                return Ok(false);
            };
            write_counts(tx, id, &flush.counts)?;
            if generation(tx)? != flush.generation {
                return Ok(false);
            }
            if let Some(cache) = &flush.cache {
                write_cache(tx, id, cache, &clean)?;
            }
            archive(tx, id, &flush.archived, &clean)?;
            Ok(true)
        })
    }

    /// Returns the size of all texts and logs, and the size in which they are stored.
    pub fn text_compression(&self) -> Result<(u64, u64)> {
        let sql = "SELECT (SELECT coalesce(sum(size), 0) FROM records)
                + (SELECT coalesce(sum(size), 0) FROM raw),
              (SELECT coalesce(sum(length(data)), 0) FROM blocks)
                + (SELECT coalesce(sum(length(data)), 0) FROM bodies)
                + (SELECT coalesce(sum(length(content)), 0) FROM records)";
        self.read(|connection| {
            Ok(connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
        })
    }

    /// Returns the lookups of a workspace since a day.
    pub fn layer_lookups(&self, workspace: &str, since_day: i64) -> Result<Vec<LookupRow>> {
        let sql = "SELECT c.day, c.source, c.layer, c.count FROM layer_counts c
            JOIN workspaces w ON w.id = c.workspace WHERE w.key = ?1 AND c.day >= ?2
            ORDER BY 1, 2, 3";
        self.read(|connection| {
            query_all(connection, sql, params![workspace, since_day], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
        })
    }

    /// Returns the measurements of a workspace since a day, summed by name.
    pub fn layer_figures(
        &self,
        workspace: &str,
        since_day: i64,
    ) -> Result<BTreeMap<String, LayerFigure>> {
        let sql = "SELECT f.name, sum(f.count), sum(f.total), max(f.highest) FROM layer_figures f
            JOIN workspaces w ON w.id = f.workspace WHERE w.key = ?1 AND f.day >= ?2
            GROUP BY 1 ORDER BY 1";
        self.read(|connection| {
            query_all(connection, sql, params![workspace, since_day], |row| {
                let figure = LayerFigure {
                    count: row.get(1)?,
                    total: row.get(2)?,
                    highest: row.get(3)?,
                };
                Ok((row.get(0)?, figure))
            })
        })
    }
}

pub(crate) fn generation(connection: &Connection) -> Result<i64> {
    let mut statement = connection.prepare_cached("SELECT generation FROM card_generation")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

fn write_counts(
    tx: &Transaction<'_>,
    workspace: i64,
    counts: &BTreeMap<i64, LayerCounts>,
) -> Result<()> {
    let mut add = tx.prepare_cached(
        "INSERT INTO layer_counts (workspace, day, source, layer, count) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET count = count + excluded.count",
    )?;
    let mut measure = tx.prepare_cached(
        "INSERT INTO layer_figures (workspace, day, name, count, total, highest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET count = count + excluded.count, total = total + excluded.total,
           highest = max(highest, excluded.highest)",
    )?;
    for (day, counts) in counts {
        for ((source, layer), count) in &counts.lookups {
            add.execute(params![workspace, day, source.name(), layer.name(), count])?;
        }
        for (name, figure) in &counts.figures {
            let LayerFigure {
                count,
                total,
                highest,
            } = figure;
            measure.execute(params![workspace, day, name, count, total, highest])?;
        }
    }
    Ok(())
}

fn write_cache(
    tx: &Transaction<'_>,
    workspace: i64,
    cache: &[(CardKey, CacheEntry)],
    clean: &dyn Fn(&Card) -> String,
) -> Result<()> {
    tx.prepare_cached("DELETE FROM context_cache WHERE workspace = ?1")?
        .execute([workspace])?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO context_cache (workspace, key, card, reads, last, prefetched)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (key, entry) in cache {
        insert.execute(params![
            workspace,
            key.to_string(),
            clean(&entry.card),
            entry.reads,
            entry.last.as_millisecond(),
            entry.prefetched,
        ])?;
    }
    Ok(())
}

fn archive(
    tx: &Transaction<'_>,
    workspace: i64,
    archived: &[(CardKey, Card)],
    clean: &dyn Fn(&Card) -> String,
) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO archived_cards (workspace, key, card, at)
         VALUES (?1, ?2, ?3, (SELECT coalesce(max(at), 0) + 1 FROM archived_cards))
         ON CONFLICT (workspace, key) DO UPDATE SET card = excluded.card, at = excluded.at",
    )?;
    for (key, card) in archived {
        insert.execute(params![workspace, key.to_string(), clean(card)])?;
    }
    if archived.is_empty() {
        return Ok(());
    }
    tx.prepare_cached(
        "DELETE FROM archived_cards WHERE workspace = ?1 AND id NOT IN
           (SELECT id FROM archived_cards WHERE workspace = ?1 ORDER BY at DESC LIMIT ?2)",
    )?
    .execute(params![workspace, ARCHIVED_MAX])?;
    Ok(())
}

/// Deletes every card and capsule of the workspace of a session after one of its records changed.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    for table in ["context_cache", "archived_cards", "capsules"] {
        tx.prepare_cached(&format!(
            "DELETE FROM {table} WHERE workspace = (SELECT workspace FROM sessions WHERE id = ?1)"
        ))?
        .execute([session])?;
    }
    raise_generation(tx)
}

/// Deletes the cards of facts and of capsules that quote them, because one was forgotten, replaced
/// or superseded.
pub(crate) fn forget_facts(tx: &Transaction<'_>) -> Result<()> {
    for table in ["context_cache", "archived_cards"] {
        tx.prepare_cached(&format!(
            "DELETE FROM {table} WHERE key GLOB 'fact:*' OR key GLOB 'capsule:*'"
        ))?
        .execute([])?;
    }
    capsules::forget_facts(tx)?;
    raise_generation(tx)
}

/// Deletes what is left of a workspace.
pub(crate) fn forget_workspace(tx: &Transaction<'_>, workspace: i64) -> Result<()> {
    for table in [
        "context_cache", "archived_cards", "capsules", "layer_counts", "layer_figures",
    ] {
        tx.execute(
            &format!("DELETE FROM {table} WHERE workspace = ?1"),
            [workspace],
        )?;
    }
    Ok(())
}

/// Makes every process drop the cards that it holds in memory.
pub(crate) fn raise_generation(tx: &Transaction<'_>) -> Result<()> {
    tx.prepare_cached("UPDATE card_generation SET generation = generation + 1")?
        .execute([])?;
    Ok(())
}
