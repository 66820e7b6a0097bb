//! Columns whose header names a secret: CSV, TSV, Markdown tables, the output of `psql`, `mysql`
//! and `kubectl`.
//!
//! A line counts as a header when every cell of it could be a column name and at least one of them
//! names a secret. The lines below belong to the table as long as they have as many cells.

use crate::assignment::names::{NameStrength, classify_name};
use crate::assignment::{is_name_byte, is_token_value};
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

/// A longer line is not a header: column names are short.
const HEADER_BYTES_MAX: usize = 1024;
const COLUMN_NAME_BYTES_MAX: usize = 40;
const COLUMN_NAME_WORDS_MAX: usize = 4;
/// A longer row ends the table, so that one line of junk cannot be split again and again.
const ROW_BYTES_MAX: usize = 4096;
const ROWS_MAX: usize = 1000;
const TOKEN_BYTES_MIN: usize = 16;
/// The delimiter of a table whose columns are aligned with two or more blanks. Its header is in
/// capitals.
const ALIGNED: char = ' ';

/// Finds the secrets below the header that holds the name at `start..end`.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    let bytes = text.as_bytes();
    if progress.table.skips(start) {
        return;
    }
    let Some(delimiter) = header_delimiter(bytes, start, end) else {
        return;
    };
    let header_end = progress.line_end(bytes, end);
    // Every other name of this line belongs to the same header.
    progress.table.skip_to(header_end);
    let Some(header_start) = line_start(bytes, start) else {
        return;
    };
    if header_end - header_start > HEADER_BYTES_MAX || header_end == bytes.len() {
        return;
    }
    let header = &text[header_start..header_end];
    progress.count_work(header.len());
    let Some(columns) = read_header(header, delimiter) else {
        return;
    };
    let mut at = header_end + 1;
    for _ in 0..ROWS_MAX {
        let len = memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
        if len == 0 || len > ROW_BYTES_MAX {
            break;
        }
        let row = &text[at..at + len];
        progress.count_work(len);
        if !is_separator_line(row) {
            let cells = cells(row, delimiter);
            if cells.len() != columns.len() {
                break;
            }
            for (cell, strength) in cells.into_iter().zip(&columns) {
                let Some(strength) = strength else { continue };
                let (offset, value) = cell_value(row, cell);
                if is_secret(value, *strength) {
                    found.push(Detection {
                        rule: strength.rule(),
                        confidence: Confidence::Probable,
                        start: at + offset,
                        end: at + offset + value.len(),
                    });
                }
            }
        }
        at = (at + len + 1).min(bytes.len());
    }
    progress.table.skip_to(at);
}

/// Says cheaply, also of text that is still escaped, whether a name stands in a header.
pub(crate) fn may_find(bytes: &[u8], start: usize, end: usize) -> bool {
    header_delimiter(bytes, start, end)
        .is_some_and(|delimiter| may_end_header(&bytes[end..], delimiter))
}

/// True when the rest of a line, which may still be escaped, can be that of a header: short cells,
/// no other signs than the delimiter, and another line behind it.
fn may_end_header(rest: &[u8], delimiter: char) -> bool {
    let (mut cell_bytes, mut words, mut previous) = (0, 1, 0);
    for (at, &byte) in rest.iter().take(2 * HEADER_BYTES_MAX).enumerate() {
        match byte {
            b'\n' => return true,
            b'\\' if rest.get(at + 1) == Some(&b'n') => return true,
            b' ' if delimiter == ALIGNED => (cell_bytes, words) = (0, 0),
            b' ' => {}
            b',' | b';' | b'\t' | b'|' if delimiter_at(&[byte]) != Some(delimiter) => return false,
            // A backslash may be a tab, and a character that is not ASCII may draw a line.
            b',' | b';' | b'\t' | b'|' | b'\\' | 0x80.. => (cell_bytes, words) = (0, 0),
            _ if byte.is_ascii_alphanumeric() || b"_-./#()\"'`*\r".contains(&byte) => {
                cell_bytes += 1;
                words += usize::from(previous == b' ');
            }
            _ => return false,
        }
        // The name itself was read up to some point of its first cell.
        if cell_bytes > 2 * COLUMN_NAME_BYTES_MAX || words > COLUMN_NAME_WORDS_MAX + 1 {
            return false;
        }
        previous = byte;
    }
    false
}

/// The delimiter beside the column name that holds `start..end`; `None` when it fills no cell.
fn header_delimiter(bytes: &[u8], start: usize, end: usize) -> Option<char> {
    let is_cell = |b: &&u8| is_name_byte(**b) || **b == b' ';
    let is_frame = |b: &&u8| b"\"'`* \r\\".contains(b);
    if is_aligned_name(bytes, start, end) {
        return Some(ALIGNED);
    }
    let rest = &bytes[end..];
    let len = rest
        .iter()
        .take(COLUMN_NAME_BYTES_MAX)
        .take_while(is_cell)
        .count();
    let len = len + rest[len..].iter().take(4).take_while(is_frame).count();
    let (escaped, after) = (rest[..len].last() == Some(&b'\\'), &rest[len..]);
    let before = &bytes[..start];
    let len = before
        .iter()
        .rev()
        .take(COLUMN_NAME_BYTES_MAX)
        .take_while(is_cell)
        .count();
    let before = &before[..before.len() - len];
    let follows_escaped_tab = before.last() == Some(&b'\\') && bytes[before.len()] == b't';
    let len = before.iter().rev().take(4).take_while(is_frame).count();
    let before = &before[..before.len() - len];
    let is_line_end = match after.first() {
        None | Some(b'\n') => true,
        Some(b'n' | b'r') => escaped,
        _ => false,
    };
    let next = if escaped && after.first() == Some(&b't') {
        Some('\t')
    } else {
        delimiter_at(after)
    };
    let previous = before.last().and_then(|&last| match last {
        _ if follows_escaped_tab => Some('\t'),
        0x82 => before.ends_with("│".as_bytes()).then_some('│'),
        last => delimiter_at(&[last]),
    });
    match (next, previous) {
        (Some(next), _) => Some(next),
        (None, Some(previous)) if is_line_end => Some(previous),
        _ => None,
    }
}

/// True for a name in capitals with two blanks or the end of its line on each side.
fn is_aligned_name(bytes: &[u8], start: usize, end: usize) -> bool {
    if !bytes[start].is_ascii_uppercase() {
        return false;
    }
    let is_capital = |b: &&u8| b.is_ascii_uppercase() || b"_-".contains(b);
    let rest = bytes[end..].iter().take(COLUMN_NAME_BYTES_MAX);
    let after = &bytes[end + rest.take_while(is_capital).count()..];
    let rest = bytes[..start].iter().rev().take(COLUMN_NAME_BYTES_MAX);
    let before = &bytes[..start - rest.take_while(is_capital).count()];
    let (begins, ends) = (before.ends_with(b"  "), after.starts_with(b"  "));
    let ends_line = || {
        let line_end = after.trim_ascii_start();
        after.is_empty()
            || after.first() == Some(&b'\n')
            || after.starts_with(b"\\n")
            || line_end.len() < after.len()
                && after[..after.len() - line_end.len()].contains(&b'\n')
    };
    let starts_line =
        || matches!(before.last(), None | Some(b'\n' | b'"' | b'`')) || before.ends_with(b"\\n");
    begins && (ends || ends_line()) || ends && starts_line()
}

fn delimiter_at(bytes: &[u8]) -> Option<char> {
    match bytes {
        [b @ (b',' | b';' | b'\t' | b'|'), ..] => Some(char::from(*b)),
        [0xe2, 0x94, 0x82, ..] => Some('│'),
        _ => None,
    }
}

/// Where the line that holds `at` starts; `None` when that is further away than a header is long.
fn line_start(bytes: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_sub(HEADER_BYTES_MAX);
    match memchr::memrchr(b'\n', &bytes[from..at]) {
        Some(offset) => Some(from + offset + 1),
        None => (from == 0).then_some(0),
    }
}

/// The secrets that each column may hold; `None` if the line is not a header or names no secret.
fn read_header(header: &str, delimiter: char) -> Option<Vec<Option<NameStrength>>> {
    let cells = cells(header, delimiter);
    let count = cells.len();
    let mut columns = Vec::with_capacity(count);
    for (index, cell) in cells.into_iter().enumerate() {
        let mut name = trim_cell(&header[cell]);
        if index == 0 {
            name = strip_frame(name);
        }
        let is_edge = matches!(delimiter, '|' | '│') && (index == 0 || index + 1 == count);
        if name.is_empty() && is_edge {
            columns.push(None);
            continue;
        }
        let is_name = is_column_name(name)
            && (delimiter != ALIGNED || !name.bytes().any(|b| b.is_ascii_lowercase()));
        if !is_name {
            return None;
        }
        columns.push(classify_name(name).filter(|strength| *strength > NameStrength::Weak));
    }
    (count >= 2 && columns.iter().any(Option::is_some)).then_some(columns)
}

/// Removes what a log puts before the first cell: a line number, a diff sign, the JSON around a
/// text.
fn strip_frame(cell: &str) -> &str {
    let cell = match cell.rfind("\":") {
        Some(key) if cell.starts_with(['{', '[']) => cell[key + 2..].trim_start(),
        _ => cell,
    };
    let cell = cell.trim_start_matches(['+', '-', '>', '"', '`', ' ']);
    match cell.split_once(['→', '\t', ':']) {
        Some((number, rest)) if number.trim().bytes().all(|b| b.is_ascii_digit()) => rest.trim(),
        _ => cell,
    }
}

fn is_column_name(name: &str) -> bool {
    name.len() <= COLUMN_NAME_BYTES_MAX
        && name.bytes().any(|b| b.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-. /#()".contains(c))
        && !name.contains("()")
        && name.split(' ').count() <= COLUMN_NAME_WORDS_MAX
}

/// The line below a header: `|---|:--:|`, `----+----`.
fn is_separator_line(row: &str) -> bool {
    row.chars().all(|c| "-+|=: \r│─┼├┤".contains(c))
}

/// The byte ranges between the delimiters; a delimiter between quotes is part of its cell.
fn cells(line: &str, delimiter: char) -> Vec<std::ops::Range<usize>> {
    if delimiter == ALIGNED {
        return aligned_cells(line);
    }
    let mut cells = Vec::new();
    let (mut from, mut is_quoted) = (0, false);
    for (at, c) in line.char_indices() {
        if c == '"' && (is_quoted || line[from..at].trim().is_empty()) {
            is_quoted = !is_quoted;
        } else if c == delimiter && !is_quoted {
            cells.push(from..at);
            from = at + c.len_utf8();
        }
    }
    cells.push(from..line.len());
    cells
}

/// The byte ranges between runs of two or more blanks.
fn aligned_cells(line: &str) -> Vec<std::ops::Range<usize>> {
    let mut cells = Vec::new();
    let mut from = line.len() - line.trim_start().len();
    let end = line.trim_end().len();
    while from < end {
        let len = line[from..end].find("  ").unwrap_or(end - from);
        cells.push(from..from + len);
        let rest = &line[from + len..end];
        from += len + rest.len() - rest.trim_start().len();
    }
    cells
}

fn trim_cell(cell: &str) -> &str {
    cell.trim_matches(|c: char| c.is_whitespace() || "\"'`*".contains(c))
}

/// The value of a cell and where it starts in its row.
fn cell_value(row: &str, cell: std::ops::Range<usize>) -> (usize, &str) {
    let text = &row[cell.clone()];
    let lead = text.len() - text.trim_start_matches([' ', '\t', '"', '\'', '`']).len();
    let value = &text[lead..];
    // The quote may close the cell or, in the last row, the JSON string around the table.
    let len = value.find(['"', '`', '\r']).unwrap_or(value.len());
    let value = value[..len].trim_end().trim_end_matches('\'');
    (cell.start + lead, value)
}

pub(crate) fn is_secret(value: &str, strength: NameStrength) -> bool {
    // A cell that is itself a name (`password1`) comes from documentation or from code.
    if value.contains(' ') || classify_name(value).is_some() {
        return false;
    }
    match strength {
        NameStrength::Password => is_token_value(value) || value::is_password(value),
        // Documentation calls all kinds of names and versions tokens.
        _ => value::is_random(value, TOKEN_BYTES_MIN),
    }
}
