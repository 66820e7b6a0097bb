//! Checks that must hold for the fixtures of every agent, whatever its format.

use std::collections::{BTreeMap, BTreeSet};

use testkit::shape::shape;

use super::fixtures::{fixtures, messages, read_source};
use crate::adapter::parse_text;
use crate::{Adapter, InputLine, LogReader, ParseOutput, Source, SourceFormat};

/// How many lines a cut may damage: the one it falls into, on either side of a pair.
const DAMAGED_LINES_MAX: usize = 3;

/// Runs every check over all fixtures and returns the kinds of entries that the adapter does not
/// know.
pub(crate) fn check_all(adapter: &Adapter) -> BTreeMap<String, u64> {
    let mut unknown = BTreeMap::new();
    for source in fixtures(adapter) {
        let (text, parsed) = read_source(adapter, &source);
        check_message_ids(&source, &parsed);
        check_damage(adapter, &source, &text, &parsed);
        if source.format == SourceFormat::Lines {
            check_halves(adapter, &source, &text, &parsed);
        }
        unknown.extend(parsed.unknown_kinds);
    }
    unknown
}

/// Fails if two messages of a session share an id, or if a message's line is before the last one's.
#[track_caller]
fn check_message_ids(source: &Source, parsed: &ParseOutput) {
    let mut ids = BTreeSet::new();
    let mut line = 0;
    for message in messages(parsed) {
        let id = (message.session.clone(), message.id.clone());
        assert!(ids.insert(id), "{} in {source:?}", message.id);
        assert!(message.line >= line, "{} in {source:?}", message.id);
        line = message.line;
    }
}

/// Cuts a text at many places, as a writer does that dies, and fails if more than the lines at the
/// cut are skipped.
#[track_caller]
fn check_damage(adapter: &Adapter, source: &Source, text: &str, whole: &ParseOutput) {
    for cut in (0..text.len()).step_by(text.len() / 60 + 1) {
        let cut = text.floor_char_boundary(cut);
        for part in [&text[..cut], &text[cut..]] {
            let skipped = parse_text(adapter, source, part).skipped.len();
            let path = source.path.display();
            assert!(
                skipped <= whole.skipped.len() + DAMAGED_LINES_MAX,
                "{path} cut at byte {cut}: {skipped} lines skipped"
            );
        }
    }
}

/// Fails if reading a log in two sweeps loses, doubles or changes an entry, wherever the first
/// sweep ends.
#[track_caller]
fn check_halves(adapter: &Adapter, source: &Source, text: &str, whole: &ParseOutput) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for cut in (0..=lines.len()).step_by(lines.len() / 300 + 1) {
        let mut out = ParseOutput::default();
        let mut reader = adapter.open_reader(source, None);
        feed_lines(&mut *reader, &lines, 0, cut, &mut out);
        reader.finish(false, &mut out);
        let (from, state) = match reader.resume_point() {
            Some(resume) => {
                let from = usize::try_from(resume.line).unwrap() - 1;
                let offset = line_offset(&lines, from);
                assert_eq!(resume.offset, offset, "cut after line {cut}");
                (from, resume.state)
            }
            None => (cut, reader.state()),
        };
        let mut reader = adapter.open_reader(source, Some(&state));
        feed_lines(&mut *reader, &lines, from, lines.len(), &mut out);
        reader.finish(true, &mut out);
        if out.entries != whole.entries {
            let (found, expected) = (shape(&out.entries), shape(&whole.entries));
            assert_eq!(found, expected, "cut after line {cut}");
            panic!("{} differs, cut after line {cut}", source.path.display());
        }
    }
}

/// Gives a reader the lines from index `from` up to `to`.
fn feed_lines(
    reader: &mut dyn LogReader,
    lines: &[&str],
    from: usize,
    to: usize,
    out: &mut ParseOutput,
) {
    let mut offset = line_offset(lines, from);
    for (number, text) in (1..).zip(lines).skip(from).take(to - from) {
        let line = InputLine {
            text,
            number,
            offset,
        };
        reader.read_line(line, out);
        offset += text.len() as u64;
    }
}

/// Returns the offset of the line at an index.
fn line_offset(lines: &[&str], index: usize) -> u64 {
    lines[..index].iter().map(|line| line.len() as u64).sum()
}
