//! Records and what they belong to: sessions, workspaces, usage.
//!
//! This file reads records; [`mod@insert`] writes new ones, [`rows`] changes and deletes stored
//! ones, and [`indexing`] keeps their rows in the search index up to date. [`sessions`], [`marks`],
//! [`workspaces`] and [`usage`] are the tables that records refer to; [`short_ids`] abbreviates
//! their ids. The rest are views: [`timeline`] reads a session page by page, [`steps`] reads
//! records without their texts, [`touches`] lists the sessions that used a file, and [`feed`]
//! reports what has changed since a position.

pub(crate) mod feed;
mod indexing;
mod insert;
pub(crate) mod marks;
mod rows;
pub(crate) mod sessions;
mod short_ids;
pub(crate) mod steps;
pub(crate) mod timeline;
pub(crate) mod touches;
pub(crate) mod usage;
pub(crate) mod workspaces;

use jiff::Timestamp;
use memory::id::parse_uuid;
use memory::layers::LayerRecord;
use memory::{MessageId, RecordEnvironment, RecordId, RecordKind, SessionId, Trust};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use self::sessions::timestamp_from_millis;
use crate::Store;
use crate::columns::columns;
use crate::derived::layers;
use crate::error::Result;
use crate::ingest::sanitizer::SENSITIVE_TAG;
use crate::texts::reader::TextReader;

pub(crate) use self::indexing::{index_row, reindex_records, reindex_session, unindex_row};
pub(crate) use self::insert::{BatchBlocks, Insertion, RecordSource, insert};
pub(crate) use self::rows::{
    RecordCounts, RecordRow, add_to_counts, delete_record, delete_records, is_stored,
    mark_detached, promote_copy, recount_session, replace_record_text, rows_where,
    rows_where_lossy,
};

/// The version of the redaction rules. It is stored with every record, so that records which older
/// rules have redacted can be found; raise it when the rules change.
pub(crate) const REDACTION_VERSION: i64 = 3;

/// A shorter prefix of an id matches too many records.
const PREFIX_DIGITS_MIN: usize = 4;
/// The number of hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// The UUID under which a program submitted a record, or NULL.
pub(crate) const SUBMITTED_ID: &str = "CASE WHEN r.message GLOB
    'given/????????-????-????-????-????????????' THEN substr(r.message, 7) END";

/// The speaker of a record, or NULL. Metadata that a program submitted may have another value
/// there.
pub(crate) const SPEAKER_NAME: &str =
    "iif(json_type(r.metadata, '$.speaker') = 'text', r.metadata ->> '$.speaker', NULL)";

/// How many records of a session are read in one query.
const PAGE_RECORDS: usize = 500;

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredRecord {
    pub id: RecordId,
    /// The entry of the log that the record came from.
    #[serde(skip)]
    pub message: MessageId,
    #[serde(skip)]
    pub line: u64,
    #[serde(skip)]
    pub ordinal: u32,
    #[serde(rename = "type")]
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub workspace: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub call: Option<String>,
    pub tags: Vec<String>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub trust: Trust,
    #[serde(flatten)]
    pub context: RecordEnvironment,
    /// A fork or a resumed session repeated an earlier record.
    pub copy: bool,
    /// False once the log has lost the record, or the log itself is gone.
    pub in_source: bool,
    pub content: String,
}

impl StoredRecord {
    /// Returns what the memory layers read of the record. Its path becomes relative to `cwd`.
    pub fn layer_record(&self, cwd: Option<&str>) -> LayerRecord<'_> {
        let code = self
            .metadata
            .get("exit_code")
            .and_then(|code| code.as_str());
        LayerRecord {
            id: self.id,
            kind: self.kind,
            at: self.at,
            tool: self.tool.as_deref(),
            path: self
                .path
                .as_deref()
                .map(|path| layers::relative_path(path, cwd)),
            call: self.call.as_deref(),
            exit_code: code.and_then(|code| code.parse().ok()),
            is_sensitive: self.tags.iter().any(|tag| tag == SENSITIVE_TAG),
            content: &self.content,
        }
    }

    /// Returns the id that the program which submitted the record gave it, or else the record's.
    pub fn public_id(&self) -> String {
        let key = self
            .message
            .as_str()
            .strip_prefix(MessageId::SUBMITTED_PREFIX);
        key.and_then(parse_uuid)
            .unwrap_or_else(|| self.id.to_string())
    }
}

/// The position of a record in its session: line, ordinal, row.
type RecordPosition = (i64, i64, i64);

impl Store {
    /// Calls `each` with the records of a session in the order of its log. No query is open while
    /// `each` runs, so a slow caller does not hold an old snapshot of the database.
    pub fn each_record(
        &self,
        session: &SessionId,
        mut each: impl FnMut(StoredRecord),
    ) -> Result<()> {
        let mut after = (-1, -1, -1);
        loop {
            let (page, last) =
                self.read(|connection| read_record_page(connection, session, after))?;
            let is_last_page = page.len() < PAGE_RECORDS;
            page.into_iter().for_each(&mut each);
            match last {
                Some(last) if !is_last_page => after = last,
                _ => return Ok(()),
            }
        }
    }

    /// Returns the record that a program submitted under this id.
    pub fn submitted_record(&self, key: &str) -> Result<Option<RecordId>> {
        let sql = "SELECT id FROM records WHERE message = ?1
             AND message >= 'given/' AND message < 'given0' ORDER BY copy, row";
        let name = format!("{}{key}", MessageId::SUBMITTED_PREFIX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let id = statement.query_row([name], |row| row.get(0)).optional()?;
            Ok(id.map(RecordId::from_bytes))
        })
    }

    /// Returns at most `limit` ids that begin with these hexadecimal digits; none for fewer than
    /// four digits. A UUID is the id under which a program submitted a record.
    pub fn records_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RecordId>> {
        if let Some(uuid) = parse_uuid(prefix) {
            return Ok(self.submitted_record(&uuid)?.into_iter().collect());
        }
        let digits = prefix.to_ascii_lowercase();
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !(PREFIX_DIGITS_MIN..=ID_DIGITS).contains(&digits.len()) || !is_hex {
            return Ok(Vec::new());
        }
        let padded = |digit: &str| digits.clone() + &digit.repeat(ID_DIGITS - digits.len());
        let (Ok(low), Ok(high)) = (
            padded("0").parse::<RecordId>(),
            padded("f").parse::<RecordId>(),
        ) else {
            return Ok(Vec::new());
        };
        self.read(|connection| {
            let sql = "SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement
                .query_map(params![low.as_bytes(), high.as_bytes(), limit], |row| {
                    row.get(0)
                })?;
            rows.map(|id| Ok(RecordId::from_bytes(id?))).collect()
        })
    }

    /// Returns the record with an id.
    pub fn read_record(&self, id: RecordId) -> Result<Option<StoredRecord>> {
        let sql = select_records("WHERE r.id = ?1");
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([id.as_bytes()])?;
            rows.next()?
                .map(|row| read_record(connection, row, &TextReader::default()))
                .transpose()
        })
    }
}

/// Reads the records of a session that follow a position, and the position of the last of them.
fn read_record_page(
    connection: &Connection,
    session: &SessionId,
    after: RecordPosition,
) -> Result<(Vec<StoredRecord>, Option<RecordPosition>)> {
    let sql = select_records(&format!(
        "WHERE s.name = ?1 AND (r.line, r.ordinal, r.row) > (?2, ?3, ?4)
         ORDER BY r.line, r.ordinal, r.row LIMIT {PAGE_RECORDS}"
    ));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![session.as_str(), after.0, after.1, after.2])?;
    let texts = TextReader::default();
    let (mut page, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        last = Some((
            row.get(col::line)?,
            row.get(col::ordinal)?,
            row.get(col::row)?,
        ));
        page.push(read_record(connection, row, &texts)?);
    }
    Ok((page, last))
}

columns! {
    /// The columns of a stored record. The five columns of its text stay together and in this
    /// order, because [`TextReader::read`] reads them from `content` on.
    mod col {
        id: "r.id",
        kind: "r.kind",
        at: "r.at",
        session: "s.name",
        workspace: "w.key",
        tool: "r.tool",
        path: "r.path",
        call: "r.call",
        tags: "r.tags",
        metadata: "r.metadata",
        trust: "r.trust",
        cwd: "c.cwd",
        branch: "c.branch",
        model: "c.model",
        copy: "r.copy",
        checksum: "r.checksum",
        content: "r.content",
        block: "r.block",
        start: "r.start",
        size: "r.size",
        body: "r.body",
        message: "r.message",
        line: "r.line",
        ordinal: "r.ordinal",
        row: "r.row",
        detached: "r.detached",
        // A source that is gone has lost its records if it was ever read on this machine; that of
        // an import was not. A head of all ones is `UNREAD_HEAD`: the source was to be read again.
        source_gone:
            "f.gone AND (f.offset > 0 OR f.head = x'ffffffffffffffffffffffffffffffff')",
    }
}

/// Returns the query for stored records, `r`, with a condition and an order.
pub(crate) fn select_records(rest: &str) -> String {
    format!(
        "SELECT {} FROM records r
         JOIN sessions s ON s.id = r.session
         LEFT JOIN workspaces w ON w.id = s.workspace
         LEFT JOIN contexts c ON c.id = r.context
         LEFT JOIN sources f ON f.id = r.source {rest}",
        col::SQL
    )
}

/// Reads a row of [`select_records`]. Fails where the text does not match its checksum.
pub(crate) fn read_record(
    connection: &Connection,
    row: &Row<'_>,
    texts: &TextReader,
) -> Result<StoredRecord> {
    let id = RecordId::from_bytes(row.get(col::id)?);
    let checksum = row.get(col::checksum)?;
    let content = texts.read_verified(connection, row, col::content, id, checksum)?;
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let tags: Option<String> = row.get(col::tags)?;
    let metadata: Option<String> = row.get(col::metadata)?;
    let is_detached: bool = row.get(col::detached)?;
    let is_source_gone = row.get::<_, Option<bool>>(col::source_gone)?;
    Ok(StoredRecord {
        id,
        message: MessageId::new(row.get::<_, String>(col::message)?),
        line: row.get(col::line)?,
        ordinal: row.get(col::ordinal)?,
        kind: kind_from_number(row.get(col::kind)?),
        at: timestamp_from_millis(row.get(col::at)?),
        session: SessionId::new(row.get::<_, String>(col::session)?),
        workspace: row.get(col::workspace)?,
        tool: row.get(col::tool)?,
        path: row.get(col::path)?,
        call: row.get(col::call)?,
        tags: tags
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
        metadata: metadata
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
        trust: trust_from_number(row.get(col::trust)?),
        context: RecordEnvironment {
            cwd: some(row.get(col::cwd)?),
            branch: some(row.get(col::branch)?),
            model: some(row.get(col::model)?),
        },
        copy: row.get(col::copy)?,
        in_source: !is_detached && !is_source_gone.unwrap_or_default(),
        content,
    })
}

/// Returns the kind that a number in the `kind` column stands for.
pub(crate) fn kind_from_number(number: i64) -> RecordKind {
    let at = usize::try_from(number).unwrap_or_default();
    RecordKind::ALL
        .get(at)
        .copied()
        .unwrap_or(RecordKind::ToolResult)
}

/// Returns the trust that a number in the `trust` column stands for.
pub(crate) fn trust_from_number(number: i64) -> Trust {
    [Trust::Tool, Trust::Model, Trust::User]
        .get(usize::try_from(number).unwrap_or_default())
        .copied()
        .unwrap_or(Trust::Tool)
}
