//! What the tables of a sound store look like on disk, to put the rows of a damaged one back.

use rusqlite::Connection;

use crate::error::Result;
use crate::pages::row::Cell;
use crate::pages::tree::Kind;

/// A table or an index of a sound store.
#[derive(Debug)]
pub(super) struct Shape {
    pub name: String,
    pub kind: Kind,
    pub role: Role,
    /// In the order in which they are stored.
    columns: Vec<Column>,
}

/// What becomes of the rows of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// They are kept.
    Table,
    /// They are made anew from those that are kept.
    Derived,
}

#[derive(Debug)]
struct Column {
    name: String,
    class: Class,
    /// A row from before the column was added ends before it.
    optional: bool,
    nullable: bool,
    /// The column that stands for the row's number, which is kept outside of the row.
    is_number: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Integer,
    Real,
    Text,
    Blob,
    Any,
}

/// Returns the shapes of all tables and indexes.
pub(super) fn shapes(connection: &Connection) -> Result<Vec<Shape>> {
    let mut statement = connection.prepare(
        "SELECT name, type, wr FROM pragma_table_list
         WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
         ORDER BY name",
    )?;
    let tables = statement.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get(2)?,
        ))
    })?;
    let mut shapes = Vec::new();
    for table in tables {
        let (name, kind, keyed): (_, _, bool) = table?;
        let role = match kind.as_str() {
            "table" => Role::Table,
            _ => Role::Derived,
        };
        let columns = columns(connection, &name, keyed)?;
        shapes.extend(indexes(connection, &name)?);
        shapes.push(Shape {
            columns,
            kind: if keyed { Kind::Index } else { Kind::Table },
            name,
            role,
        });
    }
    Ok(shapes)
}

fn columns(connection: &Connection, table: &str, keyed: bool) -> Result<Vec<Column>> {
    let mut statement = connection.prepare(
        "SELECT name, upper(type), \"notnull\", pk, dflt_value IS NOT NULL,
            (SELECT count(*) FROM pragma_table_info(?1) WHERE pk > 0)
         FROM pragma_table_info(?1) ORDER BY cid",
    )?;
    let rows = statement.query_map([table], |row| {
        let declared: String = row.get(1)?;
        let (not_null, key, has_default): (bool, i64, bool) =
            (row.get(2)?, row.get(3)?, row.get(4)?);
        let is_number = !keyed && key == 1 && row.get::<_, i64>(5)? == 1 && declared == "INTEGER";
        Ok(Column {
            name: row.get(0)?,
            class: class(&declared),
            optional: key == 0 && (has_default || !not_null),
            nullable: is_number || (!not_null && key == 0),
            is_number,
        })
    })?;
    let columns: Vec<_> = rows.collect::<Result<_, _>>()?;
    if !keyed {
        return Ok(columns);
    }
    // A table without row numbers is stored as its primary key's index: the key's columns first.
    let sql = "SELECT x.cid FROM pragma_index_list(?1) i, pragma_index_xinfo(i.name) x
        WHERE i.origin = 'pk' ORDER BY x.seqno";
    let mut statement = connection.prepare(sql)?;
    let order = statement.query_map([table], |row| row.get::<_, usize>(0))?;
    let order: Vec<usize> = order.collect::<Result<_, _>>()?;
    let mut columns: Vec<_> = columns.into_iter().map(Some).collect();
    let stored = order.iter().filter_map(|at| columns.get_mut(*at)?.take());
    Ok(stored.collect())
}

fn indexes(connection: &Connection, table: &str) -> Result<Vec<Shape>> {
    let mut statement = connection.prepare(
        "SELECT i.name, upper(coalesce(t.type, 'INTEGER')), coalesce(t.\"notnull\", 1)
         FROM pragma_index_list(?1) i, pragma_index_xinfo(i.name) x
         LEFT JOIN pragma_table_info(?1) t ON t.cid = x.cid
         WHERE NOT (i.origin = 'pk' AND EXISTS (
            SELECT 1 FROM pragma_table_list WHERE name = ?1 AND wr))
         ORDER BY i.name, x.seqno",
    )?;
    let rows = statement.query_map([table], |row| {
        let (name, declared, not_null): (String, String, bool) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let column = Column {
            name: String::new(),
            class: class(&declared),
            optional: false,
            nullable: !not_null,
            is_number: false,
        };
        Ok((name, column))
    })?;
    let mut shapes: Vec<Shape> = Vec::new();
    for row in rows {
        let (name, column) = row?;
        match shapes.last_mut() {
            Some(last) if last.name == name => last.columns.push(column),
            _ => shapes.push(Shape {
                name,
                kind: Kind::Index,
                role: Role::Derived,
                columns: vec![column],
            }),
        }
    }
    Ok(shapes)
}

fn class(declared: &str) -> Class {
    match declared {
        "INTEGER" => Class::Integer,
        "REAL" => Class::Real,
        "TEXT" => Class::Text,
        "BLOB" => Class::Blob,
        _ => Class::Any,
    }
}

impl Shape {
    /// Says whether a row can be one of this shape.
    pub fn fits(&self, cells: &[Cell]) -> bool {
        let Some(missing) = self.columns.get(cells.len()..) else {
            return false;
        };
        let fits = |(column, cell): (&Column, &Cell)| match (column.class, cell) {
            (_, Cell::Null) => column.nullable,
            (_, _) if column.is_number => false,
            (Class::Any, _)
            | (Class::Integer | Class::Real, Cell::Integer(_))
            | (Class::Real, Cell::Real(_))
            | (Class::Text, Cell::Text(_))
            | (Class::Blob, Cell::Blob(_)) => true,
            _ => false,
        };
        missing.iter().all(|column| column.optional) && self.columns.iter().zip(cells).all(fits)
    }

    /// Makes a row one of this shape. For a row that is known to be: a flipped bit may have changed
    /// the type of a value that nobody misses.
    pub fn force(&self, cells: &mut Vec<Cell>) {
        cells.truncate(self.columns.len());
        let missing = self.columns.iter().skip(cells.len());
        // A row must reach to the last column that it cannot do without.
        let needed = missing.rev().skip_while(|column| column.optional).count();
        cells.resize(cells.len() + needed, Cell::Null);
        for (column, cell) in self.columns.iter().zip(cells) {
            let taken = std::mem::replace(cell, Cell::Null);
            *cell = match (column.class, taken) {
                (Class::Text, Cell::Blob(bytes)) => Cell::Text(bytes),
                (Class::Blob, Cell::Text(bytes)) => Cell::Blob(bytes),
                (Class::Text, Cell::Null) if !column.nullable => Cell::Text(Vec::new()),
                (Class::Blob, Cell::Null) if !column.nullable => Cell::Blob(Vec::new()),
                (_, Cell::Null) if !column.nullable => Cell::Integer(0),
                (Class::Integer, cell) if !matches!(cell, Cell::Integer(_) | Cell::Null) => {
                    if column.nullable {
                        Cell::Null
                    } else {
                        Cell::Integer(0)
                    }
                }
                (_, cell) => cell,
            };
        }
    }

    /// Returns how many columns a row of this length lacks.
    pub fn lacks(&self, cells: usize) -> usize {
        self.columns.len().saturating_sub(cells)
    }

    /// Returns the statement that puts a row of this length back.
    pub fn insert(&self, cells: usize) -> String {
        let columns = &self.columns[..cells.min(self.columns.len())];
        let names: Vec<_> = columns
            .iter()
            .map(|column| format!("\"{}\"", column.name))
            .collect();
        let values: Vec<_> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        format!(
            "INSERT OR IGNORE INTO \"{}\" ({names}) VALUES ({values})",
            self.name
        )
    }

    /// Lets the database choose the row's number.
    pub fn unnumbered(&self, cells: &mut [Cell]) {
        let at = self.columns.iter().position(|column| column.is_number);
        if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
            *cell = Cell::Null;
        }
    }

    /// Puts a row's number where its column is.
    pub fn numbered(&self, number: i64, cells: &mut [Cell]) {
        let at = self.columns.iter().position(|column| column.is_number);
        if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
            *cell = Cell::Integer(number);
        }
    }
}
