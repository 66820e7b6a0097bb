//! What must hold for the fixtures of every agent, whatever its format.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use memory::{LogEntry, Message, Usage};
use testkit::shape::shape;

use crate::adapter::parse_text;
use crate::{Adapter, InputLine, LogReader, ParseOutput, Source, SourceFormat};

/// Returns the files below an agent's fixtures that its adapter claims.
pub fn sources(adapter: &dyn Adapter) -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let root = testkit::fixture(adapter.flavor().name());
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    let claimed = found.into_iter().filter_map(|path| {
        let format = adapter.claim(&root, path.strip_prefix(&root).unwrap())?;
        Some(Source {
            flavor: adapter.flavor(),
            path,
            format,
        })
    });
    claimed.collect()
}

/// Reads a claimed fixture.
pub fn read(adapter: &dyn Adapter, relative: &str) -> ParseOutput {
    let root = testkit::fixture(adapter.flavor().name());
    let format = adapter.claim(&root, Path::new(relative)).expect("claimed");
    let source = Source {
        flavor: adapter.flavor(),
        path: root.join(relative),
        format,
    };
    parse_text(adapter, &source, &fs::read_to_string(&source.path).unwrap())
}

/// Shows what was understood, and what was not.
pub fn show(parsed: &ParseOutput) -> String {
    let mut shown = shape(&parsed.entries);
    for skipped in &parsed.skipped {
        shown += &format!("skipped line {}: {}\n", skipped.line, skipped.reason);
    }
    for (kind, count) in &parsed.unknown_kinds {
        shown += &format!("unknown {kind}: {count}\n");
    }
    shown
}

pub fn messages(parsed: &ParseOutput) -> impl Iterator<Item = &Message> {
    parsed.entries.iter().filter_map(|entry| match entry {
        LogEntry::Message(message) => Some(message),
        _ => None,
    })
}

pub fn total(parsed: &ParseOutput) -> Usage {
    let mut total = Usage::default();
    for entry in &parsed.entries {
        if let LogEntry::Usage(entry) = entry {
            total += entry.usage;
        }
    }
    total
}

/// No two messages of a log have one name, and each stands behind the one before.
pub fn names_and_order(adapter: &dyn Adapter) {
    for source in sources(adapter) {
        let parsed = parse_text(adapter, &source, &fs::read_to_string(&source.path).unwrap());
        let mut names = BTreeSet::new();
        let mut line = 0;
        for message in messages(&parsed) {
            let name = (message.session.clone(), message.id.clone());
            assert!(names.insert(name), "{} in {source:?}", message.id);
            assert!(message.line >= line, "{} in {source:?}", message.id);
            line = message.line;
        }
    }
}

/// Wherever a sweep ends, the next one goes on so that nothing is lost, doubled or changed.
pub fn two_halves_are_the_whole(adapter: &dyn Adapter) {
    let sources = sources(adapter);
    for source in sources
        .iter()
        .filter(|source| source.format == SourceFormat::Lines)
    {
        let text = fs::read_to_string(&source.path).unwrap();
        let whole = parse_text(adapter, source, &text);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let step = lines.len() / 100 + 1;
        for cut in (0..=lines.len()).step_by(step) {
            let mut out = ParseOutput::default();
            let mut reader = adapter.open_reader(source, None);
            feed(&mut *reader, &lines, 0, cut, &mut out);
            reader.finish(false, &mut out);
            let (from, state) = match reader.resume_point() {
                Some(resume) => (resume.line as usize - 1, resume.state),
                None => (cut, reader.state()),
            };
            let mut reader = adapter.open_reader(source, Some(&state));
            feed(&mut *reader, &lines, from, lines.len(), &mut out);
            reader.finish(true, &mut out);
            let path = source.path.display();
            assert_eq!(
                shape(&out.entries),
                shape(&whole.entries),
                "{path} cut after line {cut}"
            );
            assert_eq!(out.entries, whole.entries);
        }
    }
}

fn feed(reader: &mut dyn LogReader, lines: &[&str], from: usize, to: usize, out: &mut ParseOutput) {
    let mut offset: u64 = lines[..from].iter().map(|line| line.len() as u64).sum();
    for (number, text) in (1..).zip(lines).skip(from).take(to - from) {
        reader.read_line(
            InputLine {
                text,
                number,
                offset,
            },
            out,
        );
        offset += text.len() as u64;
    }
}

/// A file may end anywhere, and a writer may have died anywhere in it.
pub fn damage_is_survived(adapter: &dyn Adapter) {
    for source in sources(adapter) {
        let text = fs::read_to_string(&source.path).unwrap();
        let sound = parse_text(adapter, &source, &text).skipped.len();
        for cut in (0..text.len()).step_by(text.len() / 60 + 1) {
            let cut = text.floor_char_boundary(cut);
            for part in [&text[..cut], &text[cut..]] {
                let skipped = parse_text(adapter, &source, part).skipped.len();
                let path = source.path.display();
                assert!(skipped <= sound + 3, "{path} cut at byte {cut}: {skipped}");
            }
        }
    }
}
