//! The agents' own logs, redacted and compressed, so that a session survives its agent's clean-up.
//!
//! A source's log is kept in pieces, each as it was read. A source that is read again from its start
//! gets a new generation of pieces; the old one goes when the new one is whole.

use memory::SessionId;
use rusqlite::{Connection, Transaction, params};

use crate::blocks::ZSTD_LEVEL;
use crate::clean::Body;
use crate::error::Result;
use crate::redact::{CleanString, Redactor, Secret};
use crate::sessions::Known;
use crate::{Store, bodies};

/// Which pieces have lost their text.
pub(crate) const WITHOUT_TEXT: &str = "body NOT IN (SELECT hash FROM bodies)";

/// A piece of a log, clean and compressed.
#[derive(Debug)]
pub(crate) struct Piece {
    pub offset: u64,
    /// How much of the log it covers; its own text differs where secrets were.
    pub size: u64,
    pub body: Body,
}

impl Piece {
    pub fn new(offset: u64, size: u64, text: &CleanString) -> Option<Self> {
        Some(Self {
            offset,
            size,
            body: body(text)?,
        })
    }
}

fn body(text: &CleanString) -> Option<Body> {
    let bytes = text.as_str().as_bytes();
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    Some(Body {
        hash,
        data: zstd::bulk::compress(bytes, ZSTD_LEVEL).ok()?,
    })
}

impl Store {
    /// Calls `each` with the path and the text of every piece of a session's logs, in their order.
    /// A log that several sessions share is given whole.
    pub fn each_raw(&self, session: &SessionId, mut each: impl FnMut(&str, &str)) -> Result<()> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT f.path, r.body FROM sessions s
                 JOIN source_sessions x ON x.session = s.id JOIN sources f ON f.id = x.source
                 JOIN raw r ON r.source = f.id AND r.generation = f.generation
                 WHERE s.name = ?1 ORDER BY f.path, r.offset",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            while let Some(row) = rows.next()? {
                let text = bodies::text(connection, &row.get::<_, Vec<u8>>(1)?)?;
                each(&row.get::<_, String>(0)?, &text);
            }
            Ok(())
        })
    }
}

/// Returns which generation of a source's pieces is whole.
pub(crate) fn generation(connection: &Connection, source: i64) -> Result<i64> {
    Ok(connection
        .prepare_cached("SELECT generation FROM sources WHERE id = ?1")?
        .query_row([source], |row| row.get(0))?)
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    source: i64,
    generation: i64,
    piece: &Piece,
) -> Result<()> {
    bodies::insert(tx, &piece.body)?;
    // A reading that was interrupted may have left a piece here.
    let here = "source = ?1 AND generation = ?2 AND offset = ?3";
    let left = bodies_of(tx, here, &[&source, &generation, &piece.offset])?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO raw (source, generation, offset, size, body)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        source,
        generation,
        piece.offset,
        piece.size,
        piece.body.hash
    ])?;
    left.iter().try_for_each(|body| bodies::release(tx, body))
}

/// Makes a generation the one that counts.
pub(crate) fn replace(tx: &Transaction<'_>, source: i64, generation: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sources SET generation = ?2 WHERE id = ?1")?
        .execute([source, generation])?;
    let old = bodies_of(
        tx,
        "source = ?1 AND generation <> ?2",
        &[&source, &generation],
    )?;
    tx.prepare_cached("DELETE FROM raw WHERE source = ?1 AND generation <> ?2")?
        .execute([source, generation])?;
    old.iter().try_for_each(|body| bodies::release(tx, body))
}

fn bodies_of(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Vec<u8>>> {
    let sql = format!("SELECT body FROM raw WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Takes secrets out of the pieces that were written before they were known for what they are.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    session: Known,
    fresh: &[Secret],
) -> Result<()> {
    let of_session = "source IN (SELECT source FROM source_sessions WHERE session = ?1)";
    for old in bodies_of(tx, of_session, &[&session.id])? {
        let text = bodies::text(tx, &old)?;
        if !fresh
            .iter()
            .any(|secret| text.contains(secret.value.as_str()))
        {
            continue;
        }
        let clean = redactor.lines_in(&text, &mut redactor.seen(fresh), &mut []);
        let Some(body) = body(&clean) else { continue };
        bodies::insert(tx, &body)?;
        tx.prepare_cached("UPDATE raw SET body = ?2 WHERE body = ?1")?
            .execute(params![old, body.hash])?;
        bodies::release(tx, &old)?;
    }
    Ok(())
}
