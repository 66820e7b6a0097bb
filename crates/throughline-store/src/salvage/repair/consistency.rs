//! Makes a store of salvaged rows whole: nothing refers to what is not there, every text is what
//! was written, and what was lost will be read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory::{Flavor, RecordId};
use rusqlite::{Connection, Transaction, params};

use super::RepairReport;
use super::salvage::SalvagedRows;
use crate::error::Result;
use crate::ingest::sanitizer::record_checksum;
use crate::ingest::sources;
use crate::query::query_all;
use crate::texts::reader::{TEXT_COLUMNS, TextReader};
use crate::texts::{blocks, bodies, logs};
use crate::{index, records};

/// Tables whose lost rows are noticed elsewhere: the counts of sessions and the archived logs show
/// which records are missing.
const COUNTED: &[&str] = &["records", "blocks", "bodies", "raw"];
/// Tables that block records. When one of their rows is lost, the records it blocked could come
/// back.
const KEEPING_OUT: &[&str] = &["tombstones", "tombstone_keys"];
/// Ids of lost records that are reported by name; the rest are only counted.
const LOST_IDS_MAX: usize = 1000;

/// Makes the salvaged rows consistent, and returns what was lost.
pub(super) fn make_consistent(
    tx: &Transaction<'_>,
    salvaged: &SalvagedRows,
) -> Result<RepairReport> {
    let expected = sessions(tx)?;
    let mut repaired = RepairReport::default();
    drop_bad_bodies(tx)?;
    refer_to_something(tx)?;
    name_agents(tx)?;
    let dropped = drop_bad_records(tx, &salvaged.ids)?;
    repaired.lost_ids = lost_ids(tx, dropped, &salvaged.ids)?;
    let mut hurt = drop_bad_pieces(tx)?;
    drop_ownerless(tx)?;
    promote_copies(tx)?;
    count_again(tx)?;
    // A changed bit may have moved a record to another session; such a record is not lost.
    let mut moved = 0;
    for id in session_ids(tx)? {
        let before = expected.get(&id).map_or(0, |(_, before)| *before);
        moved += records_of(tx, id)?.saturating_sub(before);
    }
    for (id, (session, before)) in &expected {
        let now = records_of(tx, *id)?;
        if now < *before {
            repaired.lost_records += before - now;
            repaired.sessions.insert(session.clone(), before - now);
            hurt.extend(sources_of(tx, *id)?);
        }
    }
    repaired.lost_records = repaired.lost_records.saturating_sub(moved);
    // The counts of sessions include evicted records, so they cannot be used here.
    repaired.records = tx.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?;
    let beyond_count = salvaged
        .damage
        .keys()
        .any(|table| !COUNTED.contains(&table.as_str()));
    if beyond_count {
        hurt.extend(all_sources(tx)?);
    }
    let keeps_out = |table: &String| KEEPING_OUT.contains(&table.as_str());
    repaired.may_return = salvaged.damage.keys().any(keeps_out);
    read_again(tx, &hurt, &mut repaired)?;
    index::rebuild(tx, &|_, _| {})?;
    Ok(repaired)
}

/// Gives sessions whose agent cannot be read the one that their names begin with.
fn name_agents(tx: &Transaction<'_>) -> Result<()> {
    let mut statement = tx.prepare("SELECT id, name, flavor FROM sessions")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for row in rows.collect::<Result<Vec<(i64, String, String)>, _>>()? {
        let (id, name, flavor) = row;
        if Flavor::from_name(&flavor).is_some() {
            continue;
        }
        let named = name.split(':').next().and_then(Flavor::from_name);
        tx.execute(
            "UPDATE sessions SET flavor = ?2 WHERE id = ?1",
            params![id, named.unwrap_or(Flavor::Claude).name()],
        )?;
    }
    Ok(())
}

/// Returns each session's name and how many records it should have.
fn sessions(connection: &Connection) -> Result<BTreeMap<i64, (String, u64)>> {
    let mut statement = connection.prepare("SELECT id, name, max(records, 0) FROM sessions")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes long texts whose content does not match their hash.
fn drop_bad_bodies(tx: &Transaction<'_>) -> Result<()> {
    for hash in blobs(tx, "SELECT hash FROM bodies")? {
        match bodies::read_verified_body(tx, &hash) {
            Ok(_) => {}
            Err(error) if error.is_corrupt() => {
                tx.execute("DELETE FROM bodies WHERE hash = ?1", [&hash])?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives a place to what refers to a session, a source or a context that is lost; takes what
/// refers to anything else that is lost out.
fn refer_to_something(tx: &Transaction<'_>) -> Result<()> {
    let references = references(tx)?;
    for (table, column, _) in references.iter().filter(|(_, _, to)| to == "sessions") {
        tx.execute_batch(&format!(
            "INSERT OR IGNORE INTO sessions (id, name, flavor, started, ended)
             SELECT x.session, x.flavor || ':lost-' || x.session, x.flavor,
                (SELECT min(at) FROM records r WHERE r.session = x.session),
                (SELECT max(at) FROM records r WHERE r.session = x.session)
             FROM (SELECT DISTINCT \"{column}\" AS session, coalesce(
                    (SELECT f.flavor FROM records r JOIN sources f ON f.id = r.source
                     WHERE r.session = t.\"{column}\"), 'claude') AS flavor
                FROM \"{table}\" t WHERE \"{column}\" NOT IN (SELECT id FROM sessions)) x"
        ))?;
    }
    let records = (
        "records".to_owned(),
        "source".to_owned(),
        "sources".to_owned(),
    );
    let to_sources = references.iter().filter(|(_, _, to)| to == "sources");
    for (table, column, _) in to_sources.chain([&records]) {
        lost_sources(tx, table, column)?;
    }
    tx.execute_batch(
        "INSERT OR IGNORE INTO contexts (cwd, branch, model) VALUES ('', '', '');
         UPDATE records SET context = (SELECT id FROM contexts WHERE cwd || branch || model = '')
            WHERE context NOT IN (SELECT id FROM contexts)",
    )?;
    for (table, column, to) in references {
        let dangling = format!(
            "WHERE \"{column}\" IS NOT NULL AND \"{column}\" NOT IN (SELECT id FROM \"{to}\")"
        );
        // A nullable reference becomes NULL; a row with a mandatory one is deleted.
        tx.execute_batch(&format!(
            "UPDATE OR IGNORE \"{table}\" SET \"{column}\" = NULL {dangling};
             DELETE FROM \"{table}\" {dangling};"
        ))?;
    }
    Ok(())
}

/// Returns which columns refer to which tables' numbers.
fn references(connection: &Connection) -> Result<Vec<(String, String, String)>> {
    let mut statement = connection.prepare(
        "SELECT t.name, f.\"from\", f.\"table\"
         FROM pragma_table_list t, pragma_foreign_key_list(t.name) f
         WHERE t.schema = 'main' AND t.type = 'table' AND f.\"to\" = 'id' ORDER BY 1, 2",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Makes rows for sources that are only referred to. Their logs, when they are still there, are
/// read as new ones, and take their records along.
fn lost_sources(tx: &Transaction<'_>, table: &str, column: &str) -> Result<()> {
    let sql = format!(
        "SELECT DISTINCT x.\"{column}\", coalesce((SELECT s.flavor FROM sessions s
            JOIN source_sessions y ON y.session = s.id WHERE y.source = x.\"{column}\"), 'claude'),
            coalesce((SELECT max(generation) FROM raw WHERE source = x.\"{column}\"), 0)
         FROM \"{table}\" x WHERE \"{column}\" NOT IN (SELECT id FROM sources)"
    );
    let mut statement = tx.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for row in rows.collect::<Result<Vec<(i64, String, i64)>, _>>()? {
        let (id, flavor, generation) = row;
        let path = format!("lost/{id}");
        let hash = blake3::hash(path.as_bytes());
        let key = &hash.as_bytes()[..16];
        tx.execute(
            "INSERT OR IGNORE INTO sources (id, key, flavor, path, device, inode, size, mtime,
                ctime, offset, line, head, tail, settled, generation, gone)
             VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, 0, 0, zeroblob(16), zeroblob(16), 1, ?5, 1)",
            params![id, key, flavor, path, generation],
        )?;
    }
    Ok(())
}

/// Drops records whose text is not what was written, and returns their ids. Where only the id is
/// damaged, the index still has it.
fn drop_bad_records(
    tx: &Transaction<'_>,
    ids: &HashMap<i64, RecordId>,
) -> Result<BTreeSet<RecordId>> {
    let sql = format!("SELECT row, id, checksum, {TEXT_COLUMNS} FROM records r");
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let texts = TextReader::default();
    let (mut bad, mut renamed) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let id = row.get(1).map(RecordId::from_bytes).ok();
        let text = match texts.read(tx, row, 3) {
            Ok(text) => Some(text),
            Err(error) if error.is_corrupt() => None,
            Err(error) => return Err(error),
        };
        let sum: i64 = row.get(2)?;
        let is = |id: RecordId| {
            let hash = text.as_ref().map(|text| blake3::hash(text.as_bytes()));
            hash.is_some_and(|hash| sum == record_checksum(id, hash.as_bytes()))
        };
        if id.is_some_and(is) {
            continue;
        }
        match ids.get(&number) {
            Some(named) if is(*named) => renamed.push((number, *named)),
            named => bad.push((number, named.copied().or(id))),
        }
    }
    for (row, id) in renamed {
        tx.execute(
            "UPDATE OR IGNORE records SET id = ?2 WHERE row = ?1",
            params![row, id.as_bytes()],
        )?;
    }
    for (row, _) in &bad {
        tx.execute("DELETE FROM records WHERE row = ?1", [row])?;
    }
    Ok(bad.into_iter().filter_map(|(_, id)| id).collect())
}

/// Returns the ids of the records that are lost.
fn lost_ids(
    tx: &Transaction<'_>,
    mut lost: BTreeSet<RecordId>,
    ids: &HashMap<i64, RecordId>,
) -> Result<Vec<String>> {
    let mut there = tx.prepare("SELECT 1 FROM records WHERE id = ?1")?;
    let mut named: Vec<_> = ids.values().copied().collect();
    named.sort_unstable();
    for id in named {
        if !there.exists([id.as_bytes()])? {
            lost.insert(id);
        }
    }
    let lost = lost.iter().take(LOST_IDS_MAX).map(RecordId::to_string);
    Ok(lost.collect())
}

/// Drops pieces of logs whose text is lost, and returns their sources.
fn drop_bad_pieces(tx: &Transaction<'_>) -> Result<BTreeSet<i64>> {
    let lost = logs::WITHOUT_TEXT;
    let mut hurt = numbers(
        tx,
        &format!("SELECT DISTINCT source FROM raw WHERE {lost}"),
        &[],
    )?;
    tx.execute_batch(&format!("DELETE FROM raw WHERE {lost}"))?;
    for (block, start, source) in unreadable_packed(tx)? {
        let sql = "DELETE FROM raw WHERE block = ?1 AND start IS ?2 AND source = ?3";
        tx.execute(sql, params![block, start, source])?;
        hurt.insert(source);
    }
    Ok(hurt)
}

/// Returns the packed pieces that cannot be read: block, start and source of each.
fn unreadable_packed(tx: &Transaction<'_>) -> Result<Vec<(i64, Option<i64>, i64)>> {
    let mut statement = tx.prepare(
        "SELECT source, body, block, start, length, hash FROM raw WHERE block IS NOT NULL
         ORDER BY block, start",
    )?;
    let mut rows = statement.query([])?;
    let texts = TextReader::default();
    let mut bad = Vec::new();
    while let Some(row) = rows.next()? {
        match texts.read_piece(tx, row, 1) {
            Ok(_) => {}
            Err(error) if error.is_corrupt() => {
                bad.push((row.get(2)?, row.get(3)?, row.get(0)?));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(bad)
}

/// Deletes texts that no row refers to, because forgetting could not find them.
fn drop_ownerless(tx: &Transaction<'_>) -> Result<()> {
    let (bodies, blocks) = (bodies::USED_BODIES_SQL, blocks::USED_BLOCKS_SQL);
    tx.execute_batch(&format!(
        "DELETE FROM bodies WHERE hash NOT IN ({bodies});
         DELETE FROM blocks WHERE id NOT IN ({blocks});"
    ))?;
    let mut texts = tx.prepare(blocks::BLOCK_TEXTS_SQL)?;
    for block in numbers(tx, "SELECT id FROM blocks", &[])? {
        let rows = texts.query_map([block], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let kept: Vec<(usize, usize)> = rows.collect::<Result<_, _>>()?;
        blocks::blank_all_except(tx, block, &kept)?;
    }
    Ok(())
}

/// Makes a copy searchable when its original is lost.
fn promote_copies(tx: &Transaction<'_>) -> Result<()> {
    tx.execute_batch(
        "UPDATE records SET copy = 0 WHERE row IN
            (SELECT min(row) FROM records GROUP BY substr(id, 1, 12) HAVING min(copy) = 1)",
    )?;
    Ok(())
}

fn count_again(tx: &Transaction<'_>) -> Result<()> {
    let sessions = numbers(tx, "SELECT id FROM sessions", &[])?;
    sessions
        .into_iter()
        .try_for_each(|session| records::recount_session(tx, session))
}

fn session_ids(tx: &Transaction<'_>) -> Result<Vec<i64>> {
    query_all(tx, "SELECT id FROM sessions ORDER BY id", [], |row| {
        row.get(0)
    })
}

fn records_of(connection: &Connection, session: i64) -> Result<u64> {
    let sql = "SELECT records FROM sessions WHERE id = ?1";
    Ok(connection
        .prepare_cached(sql)?
        .query_row([session], |row| row.get(0))?)
}

fn sources_of(connection: &Connection, session: i64) -> Result<BTreeSet<i64>> {
    let sql = "SELECT source FROM source_sessions WHERE session = ?1
        UNION SELECT source FROM records WHERE session = ?1";
    numbers(connection, sql, &[&session])
}

fn all_sources(connection: &Connection) -> Result<BTreeSet<i64>> {
    numbers(connection, "SELECT id FROM sources", &[])
}

/// Lets the next sweep read the logs of what was lost from their start.
fn read_again(
    tx: &Transaction<'_>,
    hurt: &BTreeSet<i64>,
    repaired: &mut RepairReport,
) -> Result<()> {
    for source in hurt {
        let sql = "SELECT path, gone FROM sources WHERE id = ?1";
        let (path, gone): (String, bool) =
            tx.query_row(sql, [source], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if gone {
            repaired.gone.push(path);
        } else if repaired.may_return {
            repaired.held_back.push(path);
        } else {
            sources::reset_cursor(tx, *source)?;
            repaired.reread.push(path);
        }
    }
    Ok(())
}

fn numbers(
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<BTreeSet<i64>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn blobs(connection: &Connection, sql: &str) -> Result<Vec<Vec<u8>>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
