//! Secrets among the values of an `INSERT` statement, found by the names of its columns.

use std::ops::Range;

use crate::assignment::names::{NameStrength, classify_name};
use crate::detect::table;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};

pub(crate) const LITERALS: &[&str] = &["INSERT INTO ", "insert into ", "Insert into "];

/// Longer lists are not read.
const COLUMNS_BYTES_MAX: usize = 1024;
const ROW_BYTES_MAX: usize = 4096;
const TABLE_NAME_BYTES_MAX: usize = 128;
const ROWS_MAX: usize = 1000;

/// Finds the secrets of the statement whose first words end at `end`.
pub(crate) fn find(
    text: &str,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.sql_insert.skips(end) {
        return;
    }
    let limit = text.floor_char_boundary(end + TABLE_NAME_BYTES_MAX);
    let Some(open) = text[end..limit].find('(').map(|open| end + open) else {
        return;
    };
    let Some(names) = list_at(text, open, COLUMNS_BYTES_MAX) else {
        // A list that nothing closes is not read again at the next statement in it.
        progress.count_work(COLUMNS_BYTES_MAX);
        progress
            .sql_insert
            .record_failure(open, open + COLUMNS_BYTES_MAX);
        return;
    };
    let Some((columns, mut at)) = read_columns(text, names) else {
        return;
    };
    progress.count_work(at - end);
    for _ in 0..ROWS_MAX {
        let Some(values) = list_at(text, at, ROW_BYTES_MAX) else {
            progress.count_work(ROW_BYTES_MAX);
            progress.sql_insert.record_failure(at, at + ROW_BYTES_MAX);
            break;
        };
        let row_end = values.last().map_or(at, |value| value.end);
        progress.count_work(row_end - at);
        if values.len() != columns.len() {
            break;
        }
        for (value, strength) in values.into_iter().zip(&columns) {
            let Some(strength) = strength else { continue };
            let Some((start, value)) = quoted_value(text, value) else {
                continue;
            };
            if table::is_secret(value, *strength) {
                found.push(Detection {
                    rule: strength.rule(),
                    confidence: Confidence::Probable,
                    start,
                    end: start + value.len(),
                });
            }
        }
        at = row_end + 1;
        at += blank_len(&text[at..]);
        if !text[at..].starts_with(',') {
            break;
        }
        at += 1;
    }
    progress.sql_insert.skip_to(at);
}

/// Says cheaply, also of text that is still escaped, whether a column may name a secret.
pub(crate) fn may_find(bytes: &[u8], end: usize) -> bool {
    let rest = &bytes[end..bytes.len().min(end + TABLE_NAME_BYTES_MAX)];
    rest.contains(&b'(')
}

/// Returns what each column may hold, and the offset of the first row of values. `None` when no
/// column names a secret.
fn read_columns(
    text: &str,
    names: Vec<Range<usize>>,
) -> Option<(Vec<Option<NameStrength>>, usize)> {
    let after = names.last()?.end + 1;
    let columns: Vec<_> = names
        .into_iter()
        .map(|name| {
            let name = text[name].trim_matches(|c: char| c.is_whitespace() || "\"'`[]".contains(c));
            classify_name(name)
        })
        .collect();
    columns.iter().any(Option::is_some).then_some(())?;
    let after = after + blank_len(&text[after..]);
    let word = text.get(after..after + "VALUES".len())?;
    let rows = after + word.len();
    word.eq_ignore_ascii_case("VALUES")
        .then_some((columns, rows))
}

/// Returns the ranges between the commas of the list in parentheses at `at`, blanks before it
/// skipped. Commas and parentheses between quotes count as text.
fn list_at(text: &str, at: usize, bytes_max: usize) -> Option<Vec<Range<usize>>> {
    let open = at + blank_len(&text[at..]);
    let bytes = text.as_bytes();
    if bytes.get(open) != Some(&b'(') {
        return None;
    }
    let mut items = Vec::new();
    let (mut from, mut depth, mut quote) = (open + 1, 0_usize, None);
    for (offset, &byte) in bytes[open + 1..].iter().take(bytes_max).enumerate() {
        let at = open + 1 + offset;
        match (quote, byte) {
            (Some(mark), _) if byte == mark => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') if depth == 0 => {
                items.push(from..at);
                return Some(items);
            }
            (None, b')') => depth -= 1,
            (None, b',') if depth == 0 => {
                items.push(from..at);
                from = at + 1;
            }
            (None, _) => {}
        }
    }
    None
}

/// Returns the text between the quotes of a value, and its offset. Other values are numbers or
/// calls.
fn quoted_value(text: &str, value: Range<usize>) -> Option<(usize, &str)> {
    let item = &text[value.clone()];
    let start = item.len() - item.trim_start().len();
    let item = item.trim();
    let item = item.strip_prefix('N').unwrap_or(item);
    let inner = item.strip_prefix('\'')?.strip_suffix('\'')?;
    let lead = text[value.clone()].trim().len() - item.len();
    Some((value.start + start + lead + 1, inner))
}

fn blank_len(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[track_caller]
    fn check(text: &str, is_replaced: bool) {
        let clean = Redactor::new([7; 32]).clean(text).into_owned();
        let clean = clean.as_str();
        assert_eq!(!clean.contains("Zk29xmQw7"), is_replaced, "{clean}");
        assert!(clean.contains("anna"), "{clean}");
    }

    #[test]
    fn values_under_secret_columns() {
        for text in [
            "INSERT INTO users (name, password) VALUES ('anna', 'Zk29xmQw7')",
            "insert into users(name,note,password) values('anna', 'a, b)', 'Zk29xmQw7');",
            "INSERT INTO \"users\" (\"name\", \"api_token\")\nVALUES\n ('anna', now()),\n \
             ('berta', 'Zk29xmQw7aaPP1122');",
            "INSERT INTO users (name, password) VALUES ('anna', N'Zk29xmQw7')",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn other_values() {
        for text in [
            "INSERT INTO users (name, note) VALUES ('anna', 'Zk29xmQw7')",
            "INSERT INTO users (name, password) VALUES ('anna', hash(Zk29xmQw7))",
            "INSERT INTO users (name, password) SELECT 'anna', Zk29xmQw7 FROM x",
        ] {
            check(text, false);
        }
    }
}
