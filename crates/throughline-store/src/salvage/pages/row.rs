//! Decodes the record format of a row.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

/// A value of a row. Text stays bytes until it has been checked to be UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CellValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl ToSql for CellValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Integer(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Owned(Value::Real(*number)),
            // Text that is not UTF-8 would make every later read of its row fail.
            Self::Text(text) => {
                ToSqlOutput::Owned(Value::Text(String::from_utf8_lossy(text).into_owned()))
            }
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// Decodes a row. Returns `None` when its header and its length contradict each other.
///
/// One column may claim bytes after the end of the row and is then read as NULL: a changed bit
/// makes a missing value a number without bytes, and SQLite still reads the other columns.
pub(crate) fn decode_row(bytes: &[u8]) -> Option<Vec<CellValue>> {
    let (header, mut at) = varint(bytes, 0)?;
    let header = usize::try_from(header).ok()?;
    let mut body = header;
    let mut cells = Vec::new();
    let mut has_claim = false;
    while at < header {
        let (kind, next) = varint(bytes, at)?;
        at = next;
        match cell(bytes, body, kind) {
            Some((cell, next)) => {
                body = next;
                cells.push(cell);
            }
            None if body == bytes.len() && !has_claim => {
                has_claim = true;
                cells.push(CellValue::Null);
            }
            None => return None,
        }
    }
    (at == header && body <= bytes.len()).then_some(cells)
}

fn cell(bytes: &[u8], at: usize, kind: u64) -> Option<(CellValue, usize)> {
    let length = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        kind => usize::try_from((kind - 12) / 2).ok()?,
    };
    let end = at.checked_add(length)?;
    let body = bytes.get(at..end)?;
    let cell = match kind {
        0 => CellValue::Null,
        1..=6 => CellValue::Integer(integer(body)),
        7 => CellValue::Real(f64::from_be_bytes(body.try_into().ok()?)),
        8 => CellValue::Integer(0),
        9 => CellValue::Integer(1),
        kind if kind % 2 == 0 => CellValue::Blob(body.to_vec()),
        _ => CellValue::Text(body.to_vec()),
    };
    Some((cell, end))
}

fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    bytes
        .iter()
        .fold(start, |number, byte| (number << 8) | i64::from(*byte))
}

/// Reads a SQLite varint. Returns its value and where it ends.
pub(crate) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for index in 0..9 {
        let byte = *bytes.get(at + index)?;
        if index == 8 {
            return Some(((number << 8) | u64::from(byte), at + 9));
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, at + index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_column_may_claim_bytes_that_are_not_there() {
        let number = CellValue::Integer(7);
        let sound = [4, 1, 0, 0, 7];
        let expected = vec![number.clone(), CellValue::Null, CellValue::Null];
        assert_eq!(decode_row(&sound), Some(expected.clone()));
        assert_eq!(decode_row(&[4, 1, 1, 0, 7]), Some(expected));
        assert_eq!(decode_row(&[4, 1, 1, 1, 7]), None);
        assert_eq!(decode_row(&[4, 6, 0, 0, 7]), None);
    }
}
