//! The agents' own logs, redacted and compressed, so that a session survives its agent's clean-up.
//!
//! A source's log is kept in pieces, each as it was read. A source that is read again from its start
//! gets a new generation of pieces; the old one goes when the new one is whole.

use memory::SessionId;
use rusqlite::{Connection, Row, Transaction, params};

use crate::blocks::ZSTD_LEVEL;
use crate::clean::Body;
use crate::error::Result;
use crate::forget::{Lines, Needles};
use crate::records::Texts;
use crate::redact::CleanString;
use crate::secrets::ScrubbedValues;
use crate::sessions::Known;
use crate::{Store, blocks, bodies};

/// Which pieces have lost their text.
pub(crate) const WITHOUT_TEXT: &str = "CASE WHEN block IS NULL
    THEN body NOT IN (SELECT hash FROM bodies) ELSE block NOT IN (SELECT id FROM blocks) END";

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
            body: body(text.as_str())?,
        })
    }

    pub fn text(&self) -> Result<String> {
        bodies::unpack(&self.body.hash, &self.body.data)
    }

    /// Returns the piece with another text, which came out of its own.
    pub fn with(&self, text: &str) -> Option<Self> {
        Some(Self {
            offset: self.offset,
            size: self.size,
            body: body(text)?,
        })
    }
}

pub(crate) fn body(text: &str) -> Option<Body> {
    let bytes = text.as_bytes();
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    Some(Body {
        hash,
        data: zstd::bulk::compress(bytes, ZSTD_LEVEL).ok()?,
    })
}

impl Store {
    /// Calls `each` with every piece of a session's logs, in their order: the number of its log, the
    /// log's path and the text. A log that several sessions share is given whole.
    pub fn each_raw(
        &self,
        session: &SessionId,
        mut each: impl FnMut(i64, &str, &str),
    ) -> Result<()> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT f.path, r.body, r.block, r.start, r.length, f.id FROM sessions s
                 JOIN source_sessions x ON x.session = s.id JOIN sources f ON f.id = x.source
                 JOIN raw r ON r.source = f.id AND r.generation = f.generation
                 WHERE s.name = ?1 ORDER BY f.path, f.id, r.offset",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut texts = Texts::default();
            while let Some(row) = rows.next()? {
                let text = texts.piece(connection, row, 1)?;
                each(row.get(5)?, &row.get::<_, String>(0)?, &text);
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

/// Says whether anything of a source's log is kept.
pub(crate) fn is_held(connection: &Connection, source: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM raw WHERE source = ?1")?
        .exists([source])?)
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
    let left = kept_of(tx, here, &[&source, &generation, &piece.offset])?;
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
    left.iter().try_for_each(|kept| release(tx, kept))
}

/// Makes a generation the one that counts.
pub(crate) fn replace(tx: &Transaction<'_>, source: i64, generation: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sources SET generation = ?2 WHERE id = ?1")?
        .execute([source, generation])?;
    let old = kept_of(
        tx,
        "source = ?1 AND generation <> ?2",
        &[&source, &generation],
    )?;
    tx.prepare_cached("DELETE FROM raw WHERE source = ?1 AND generation <> ?2")?
        .execute([source, generation])?;
    old.iter().try_for_each(|kept| release(tx, kept))
}

/// Where the text of a piece is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kept {
    Body(Vec<u8>),
    /// Packed: block, start and length.
    Block(i64, usize, usize),
}

impl Kept {
    /// The columns `body, block, start, length` begin at `first`.
    pub fn of(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(match row.get::<_, Option<i64>>(first + 1)? {
            Some(block) => Self::Block(block, row.get(first + 2)?, row.get(first + 3)?),
            None => Self::Body(row.get(first)?),
        })
    }
}

/// Returns where the texts of pieces are kept.
pub(crate) fn kept_of(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Kept>> {
    let sql = format!("SELECT body, block, start, length FROM raw WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(values, |row| Kept::of(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Lets go of a text that its piece no longer refers to.
pub(crate) fn release(tx: &Transaction<'_>, kept: &Kept) -> Result<()> {
    match kept {
        Kept::Body(hash) => bodies::release(tx, hash),
        Kept::Block(block, start, length) => blocks::blank(tx, *block, *start, *length),
    }
}

impl Texts {
    /// Returns the text of a piece if it is what was written. Of a packed one only its place tells.
    pub fn verified_piece(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        first: usize,
    ) -> Result<String> {
        match row.get::<_, Option<i64>>(first + 1)? {
            Some(_) => self.piece(connection, row, first),
            None => bodies::verified(connection, &row.get::<_, Vec<u8>>(first)?),
        }
    }

    /// Returns the text of a piece. Its columns `body, block, start, length` begin at `first`.
    pub fn piece(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        first: usize,
    ) -> Result<String> {
        match row.get(first + 1)? {
            Some(block) => self.part(connection, block, row.get(first + 2)?, row.get(first + 3)?),
            None => bodies::text(connection, &row.get::<_, Vec<u8>>(first)?),
        }
    }
}

/// Takes secrets out of the pieces that were written before they were known for what they are, and
/// calls `read` with every text.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    session: Known,
    values: &mut ScrubbedValues<'_>,
    read: &mut dyn FnMut(&str),
) -> Result<()> {
    let of_session = "source IN (SELECT source FROM source_sessions WHERE session = ?1)";
    for old in kept_of(tx, of_session, &[&session.id])? {
        let text = text(tx, &old)?;
        read(&text);
        if !values.are_in(&text) {
            continue;
        }
        let clean = values.redactor.lines_in(&text, &mut values.seen, &mut []);
        let Some(body) = body(clean.as_str()) else {
            continue;
        };
        replace_text(tx, &old, &body)?;
    }
    Ok(())
}

/// Gives every piece with this text another one: a log that was copied is cleaned with its copy.
pub(crate) fn replace_text(tx: &Transaction<'_>, old: &Kept, new: &Body) -> Result<()> {
    bodies::insert(tx, new)?;
    match old {
        Kept::Body(hash) => tx
            .prepare_cached("UPDATE raw SET body = ?2 WHERE body = ?1 AND block IS NULL")?
            .execute(params![hash, new.hash])?,
        Kept::Block(block, start, _) => tx
            .prepare_cached(
                "UPDATE raw SET body = ?3, block = NULL, start = NULL, length = NULL
                 WHERE block = ?1 AND start = ?2",
            )?
            .execute(params![block, start, new.hash])?,
    };
    release(tx, old)
}

/// Returns the text of a piece.
pub(crate) fn text(connection: &Connection, kept: &Kept) -> Result<String> {
    match kept {
        Kept::Body(hash) => bodies::text(connection, hash),
        Kept::Block(block, start, length) => {
            Texts::default().part(connection, *block, *start, *length)
        }
    }
}

/// Deletes a source's log, and counts its pieces.
pub(crate) fn erase(tx: &Transaction<'_>, source: i64) -> Result<usize> {
    let old = kept_of(tx, "source = ?1", &[&source])?;
    tx.prepare_cached("DELETE FROM raw WHERE source = ?1")?
        .execute([source])?;
    old.iter().try_for_each(|kept| release(tx, kept))?;
    Ok(old.len())
}

/// Takes forgotten texts and lines out of a source's log, and counts the pieces that held any.
pub(crate) fn blank(
    tx: &Transaction<'_>,
    source: i64,
    needles: &Needles,
    lines: &Lines,
) -> Result<usize> {
    let mut statement = tx.prepare_cached(
        "SELECT offset, body, block, start, length FROM raw WHERE source = ?1
         ORDER BY generation, offset",
    )?;
    let pieces: Vec<(u64, Kept)> = statement
        .query_map([source], |row| Ok((row.get(0)?, Kept::of(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    let mut count = 0;
    // Lines can be counted only from the start of a log.
    let mut before: Option<u64> = None;
    for (offset, old) in pieces {
        let first = if offset == 0 { Some(0) } else { before };
        let text = text(tx, &old)?;
        let here = first.map_or_else(Lines::new, |first| {
            let within = lines.iter().filter(|line| **line > first);
            within.map(|line| line - first).collect()
        });
        before = first.map(|first| first + text.matches('\n').count() as u64);
        let Some(new) = needles.blank(&text, &here).as_deref().and_then(body) else {
            continue;
        };
        replace_text(tx, &old, &new)?;
        count += 1;
    }
    Ok(count)
}
