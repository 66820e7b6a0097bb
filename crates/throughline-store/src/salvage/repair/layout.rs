//! The layout of a sound store's tables, by which the rows of a damaged one are recognised.

use rusqlite::Connection;

use crate::error::Result;
use crate::salvage::pages::row::CellValue;
use crate::salvage::pages::tree::TreeKind;

/// A table or an index of a sound store.
#[derive(Debug)]
pub(super) struct TableLayout {
    pub name: String,
    pub kind: TreeKind,
    pub role: LayoutRole,
    /// In the order in which they are stored.
    columns: Vec<Column>,
}

/// What happens to the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutRole {
    /// They are kept.
    Table,
    /// They are rebuilt from the rows that are kept.
    Derived,
}

#[derive(Debug)]
struct Column {
    name: String,
    column_type: ColumnType,
    /// A row from before the column was added ends before it.
    optional: bool,
    nullable: bool,
    /// The column that is an alias of the rowid, which SQLite stores outside the row.
    is_number: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnType {
    Integer,
    Real,
    Text,
    Blob,
    Any,
}

/// Returns the shapes of all tables and indexes.
pub(super) fn table_layouts(connection: &Connection) -> Result<Vec<TableLayout>> {
    let mut statement = connection.prepare(
        "SELECT name, type, wr FROM pragma_table_list
         WHERE schema = 'main' AND type IN ('table', 'shadow')
            AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
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
            "table" => LayoutRole::Table,
            _ => LayoutRole::Derived,
        };
        let columns = columns(connection, &name, keyed)?;
        shapes.extend(indexes(connection, &name)?);
        shapes.push(TableLayout {
            columns,
            kind: if keyed {
                TreeKind::Index
            } else {
                TreeKind::Table
            },
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
            column_type: class(&declared),
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

fn indexes(connection: &Connection, table: &str) -> Result<Vec<TableLayout>> {
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
            column_type: class(&declared),
            optional: false,
            nullable: !not_null,
            is_number: false,
        };
        Ok((name, column))
    })?;
    let mut shapes: Vec<TableLayout> = Vec::new();
    for row in rows {
        let (name, column) = row?;
        match shapes.last_mut() {
            Some(last) if last.name == name => last.columns.push(column),
            _ => shapes.push(TableLayout {
                name,
                kind: TreeKind::Index,
                role: LayoutRole::Derived,
                columns: vec![column],
            }),
        }
    }
    Ok(shapes)
}

fn class(declared: &str) -> ColumnType {
    match declared {
        "INTEGER" => ColumnType::Integer,
        "REAL" => ColumnType::Real,
        "TEXT" => ColumnType::Text,
        "BLOB" => ColumnType::Blob,
        _ => ColumnType::Any,
    }
}

impl TableLayout {
    /// Says whether a row can be one of this shape.
    pub(crate) fn fits(&self, cells: &[CellValue]) -> bool {
        let Some(missing) = self.columns.get(cells.len()..) else {
            return false;
        };
        let fits = |(column, cell): (&Column, &CellValue)| match (column.column_type, cell) {
            (_, CellValue::Null) => column.nullable,
            (_, _) if column.is_number => false,
            (ColumnType::Any, _)
            | (ColumnType::Integer | ColumnType::Real, CellValue::Integer(_))
            | (ColumnType::Real, CellValue::Real(_))
            | (ColumnType::Text, CellValue::Text(_))
            | (ColumnType::Blob, CellValue::Blob(_)) => true,
            _ => false,
        };
        missing.iter().all(|column| column.optional) && self.columns.iter().zip(cells).all(fits)
    }

    /// Converts a row that is known to belong to this table. A flipped bit may have changed the
    /// type of a value that can be replaced.
    pub(crate) fn coerce(&self, cells: &mut Vec<CellValue>) {
        cells.truncate(self.columns.len());
        let missing = self.columns.iter().skip(cells.len());
        // A row must have all columns up to the last mandatory one.
        let needed = missing.rev().skip_while(|column| column.optional).count();
        cells.resize(cells.len() + needed, CellValue::Null);
        for (column, cell) in self.columns.iter().zip(cells) {
            let taken = std::mem::replace(cell, CellValue::Null);
            *cell = match (column.column_type, taken) {
                (ColumnType::Text, CellValue::Blob(bytes)) => CellValue::Text(bytes),
                (ColumnType::Blob, CellValue::Text(bytes)) => CellValue::Blob(bytes),
                (ColumnType::Text, CellValue::Null) if !column.nullable => {
                    CellValue::Text(Vec::new())
                }
                (ColumnType::Blob, CellValue::Null) if !column.nullable => {
                    CellValue::Blob(Vec::new())
                }
                (_, CellValue::Null) if !column.nullable => CellValue::Integer(0),
                (ColumnType::Integer, cell)
                    if !matches!(cell, CellValue::Integer(_) | CellValue::Null) =>
                {
                    if column.nullable {
                        CellValue::Null
                    } else {
                        CellValue::Integer(0)
                    }
                }
                (_, cell) => cell,
            };
        }
    }

    /// Returns how many columns a row of this length lacks.
    pub(crate) fn missing_columns(&self, cells: usize) -> usize {
        self.columns.len().saturating_sub(cells)
    }

    /// Returns the statement that inserts a row of this length.
    pub(crate) fn insert_sql(&self, cells: usize) -> String {
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

    /// Lets the database choose the rowid.
    pub(crate) fn clear_row_number(&self, cells: &mut [CellValue]) {
        let at = self.columns.iter().position(|column| column.is_number);
        if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
            *cell = CellValue::Null;
        }
    }

    /// Moves the rowid into its column.
    pub(crate) fn set_row_number(&self, number: i64, cells: &mut [CellValue]) {
        let at = self.columns.iter().position(|column| column.is_number);
        if let Some(cell) = at.and_then(|at| cells.get_mut(at)) {
            *cell = CellValue::Integer(number);
        }
    }
}
