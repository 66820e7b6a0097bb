//! Our part of a file: the lines between a begin mark and an end mark.
//!
//! The begin mark has a checksum of the body. A body that does not match it was edited by hand, and
//! is the user's from then on.

use std::ops::Range;

const BEGIN: &str = "<!-- throughline:begin ";
const END: &str = "<!-- throughline:end ";
const CLOSE: &str = " -->";

/// A block in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBlock {
    pub id: String,
    pub version: String,
    /// The user changed the body.
    pub edited: bool,
    /// The bytes of the block with the blank line before it, as [`insert`] wrote them.
    pub(super) range: Range<usize>,
}

/// Returns the text of a block, without a final line break.
pub(super) fn render(id: &str, version: &str, body: &str, line_end: &str) -> String {
    let sum = checksum(body);
    let lines = format!("{BEGIN}{id} {version} {sum}{CLOSE}\n{body}\n{END}{id}{CLOSE}");
    lines.replace('\n', line_end)
}

/// Returns a checksum that does not depend on line endings.
fn checksum(body: &str) -> String {
    crate::detect::short_hash(&body.replace("\r\n", "\n"))
}

/// Returns the line ending of a file.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Appends a block to a text, so that [`remove`] can restore every byte. A text without a final
/// line break stays without one.
pub(super) fn insert(text: &str, block: &str) -> String {
    let line_end = line_end(text);
    if text.is_empty() {
        format!("{block}\n")
    } else if text.ends_with('\n') {
        format!("{text}{line_end}{block}{line_end}")
    } else {
        format!("{text}{line_end}{line_end}{block}")
    }
}

/// Returns a text without the block.
pub(super) fn remove(text: &str, block: &FoundBlock) -> String {
    format!("{}{}", &text[..block.range.start], &text[block.range.end..])
}

/// Returns the blocks of a text in their order. A begin mark without its end mark is not a block.
pub fn find_blocks(text: &str) -> Vec<FoundBlock> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN).map(|at| from + at) {
        from = at + BEGIN.len();
        let Some(block) = block_at(text, at) else {
            continue;
        };
        from = block.range.end.max(from);
        found.push(block);
    }
    found
}

fn block_at(text: &str, begin: usize) -> Option<FoundBlock> {
    let line = text[begin..].lines().next()?;
    let mark = line.strip_prefix(BEGIN)?.strip_suffix(CLOSE)?;
    let mut words = mark.split(' ');
    let (id, version, sum) = (words.next()?, words.next()?, words.next()?);
    let body_start = begin + line.len() + text[begin + line.len()..].find('\n')? + 1;
    let end_mark = format!("{END}{id}{CLOSE}");
    let end = body_start + text[body_start..].find(&end_mark)?;
    let body = text[body_start..end].trim_end_matches(['\r', '\n']);
    Some(FoundBlock {
        id: id.to_owned(),
        version: version.to_owned(),
        edited: checksum(body) != sum,
        range: with_separators(text, begin, end + end_mark.len()),
    })
}

/// Widens the range of a block to the line breaks that [`insert`] added.
fn with_separators(text: &str, begin: usize, end: usize) -> Range<usize> {
    let line_end = line_end(text);
    let before = |at: usize| text[..at].ends_with(line_end).then(|| at - line_end.len());
    if text[end..].is_empty() {
        let first = before(begin).unwrap_or(begin);
        return before(first).unwrap_or(first)..end;
    }
    let end = text[end..]
        .strip_prefix(line_end)
        .map_or(end, |rest| text.len() - rest.len());
    // The blank line before the first block of an empty file went with an earlier block.
    let blank = before(begin).filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    blank.unwrap_or(begin)..end
}

/// Returns a text without our blocks, for comparing it with guidance.
pub fn text_outside_blocks(text: &str) -> String {
    let mut rest = text.to_owned();
    while let Some(block) = find_blocks(&rest).first() {
        rest = remove(&rest, block);
    }
    rest
}
