//! What the user says about a session: a name, a star, tags, and whether it is archived.

use memory::{SessionId, SessionMarks};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Store;
use crate::error::Result;

/// A session has at most this many tags.
const TAGS_MAX: usize = 50;

/// A change of a session's marks. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarksPatch {
    /// A new name, or an empty one to take it away.
    pub name: Option<String>,
    pub starred: Option<bool>,
    pub archived: Option<bool>,
    pub add_tags: Vec<String>,
    pub remove_tags: Vec<String>,
}

/// Which marks a session must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkFilter {
    pub starred: bool,
    pub tag: Option<String>,
    /// Only archived sessions. Lists leave them out otherwise; searches include them.
    pub archived: bool,
}

impl MarkFilter {
    /// Says whether every session passes a search with this filter.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Store {
    /// Changes the marks of a session, and returns the new ones, or `None` if there is no such
    /// session. Names and tags are redacted, because they are stored and exported.
    pub fn mark_session(
        &self,
        session: &SessionId,
        patch: &MarksPatch,
    ) -> Result<Option<SessionMarks>> {
        let clean = |text: &String| self.redactor().clean(text.trim()).as_str().to_owned();
        let patch = MarksPatch {
            name: patch.name.as_ref().map(clean),
            add_tags: patch.add_tags.iter().map(clean).collect(),
            ..patch.clone()
        };
        let session = session.as_str().to_owned();
        self.write(move |tx, _| {
            let id: Option<i64> = tx
                .prepare_cached("SELECT id FROM sessions WHERE name = ?1")?
                .query_row([&session], |row| row.get(0))
                .optional()?;
            let Some(id) = id else {
                return Ok(None);
            };
            let marks = apply_patch(read_marks(tx, id)?, patch.clone());
            write_marks(tx, id, &marks)?;
            Ok(Some(marks))
        })
    }

    /// Returns the marks of a session; a session that does not exist has none.
    pub fn session_marks(&self, session: &SessionId) -> Result<SessionMarks> {
        self.read(|connection| {
            let id = connection
                .prepare_cached("SELECT id FROM sessions WHERE name = ?1")?
                .query_row([session.as_str()], |row| row.get(0))
                .optional()?;
            id.map_or_else(
                || Ok(SessionMarks::default()),
                |id| read_marks(connection, id),
            )
        })
    }

    /// Returns all tags with the number of their sessions, in alphabetical order.
    pub fn session_tags(&self) -> Result<Vec<(String, u64)>> {
        self.read(|connection| {
            crate::query::query_all(
                connection,
                "SELECT t.value, count(*) FROM session_marks m, json_each(m.tags) t
                 GROUP BY 1 ORDER BY 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }
}

fn apply_patch(mut marks: SessionMarks, patch: MarksPatch) -> SessionMarks {
    if let Some(name) = patch.name {
        marks.name = Some(name).filter(|name| !name.is_empty());
    }
    marks.starred = patch.starred.unwrap_or(marks.starred);
    marks.archived = patch.archived.unwrap_or(marks.archived);
    marks.tags.extend(patch.add_tags);
    marks
        .tags
        .retain(|tag| !patch.remove_tags.contains(tag) && !tag.is_empty());
    marks.tags.sort_unstable();
    marks.tags.dedup();
    marks.tags.truncate(TAGS_MAX);
    marks
}

/// Returns the marks of a session by its number.
pub(crate) fn read_marks(connection: &Connection, session: i64) -> Result<SessionMarks> {
    let sql = "SELECT name, starred, archived, tags FROM session_marks WHERE session = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([session], |row| marks_from_row(row, 0));
    Ok(found.optional()?.unwrap_or_default())
}

/// Reads the four columns of marks, of which `first` is the name. All are null for a session
/// without marks.
pub(crate) fn marks_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<SessionMarks> {
    let is_set = |column: usize| -> rusqlite::Result<bool> {
        Ok(row.get::<_, Option<bool>>(column)?.unwrap_or_default())
    };
    let tags: Option<String> = row.get(first + 3)?;
    Ok(SessionMarks {
        name: row.get(first)?,
        starred: is_set(first + 1)?,
        archived: is_set(first + 2)?,
        // Damaged tags are no reason to hide the session.
        tags: tags
            .and_then(|tags| serde_json::from_str(&tags).ok())
            .unwrap_or_default(),
    })
}

/// Replaces the marks of a session by its number.
pub(crate) fn write_marks(
    connection: &Connection,
    session: i64,
    marks: &SessionMarks,
) -> Result<()> {
    let tags = serde_json::to_string(&marks.tags).unwrap_or_default();
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO session_marks (session, name, starred, archived, tags)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            session, marks.name, marks.starred, marks.archived, tags
        ])?;
    Ok(())
}
