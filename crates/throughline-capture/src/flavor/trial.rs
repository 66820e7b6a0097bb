//! What every adapter is tried with over its fixtures: reading whole, in halves, and damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use memory::{LogEntry, Usage};
use testkit::shape::shape;

use crate::adapter::parse_text;
use crate::{Adapter, InputLine, LogReader, ParseOutput, Source, SourceFormat};

/// Returns all fixtures of an agent that it claims, in the order of their paths.
pub fn sources(adapter: &dyn Adapter) -> Vec<Source> {
    let root = testkit::fixture(adapter.flavor().name());
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    let claimed = files.into_iter().filter_map(|path| {
        let format = adapter.claim(&root, path.strip_prefix(&root).ok()?)?;
        Some(Source {
            flavor: adapter.flavor(),
            path,
            format,
        })
    });
    claimed.collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

pub fn read(adapter: &dyn Adapter, source: &Source) -> (String, ParseOutput) {
    let text = fs::read_to_string(&source.path).unwrap();
    let parsed = parse_text(adapter, source, &text);
    (text, parsed)
}

/// Shows what a fixture says, and what was passed over.
pub fn show(adapter: &dyn Adapter, relative: &str) -> String {
    let root = testkit::fixture(adapter.flavor().name());
    let source = Source {
        flavor: adapter.flavor(),
        path: root.join(relative),
        format: adapter.claim(&root, Path::new(relative)).unwrap(),
    };
    // Some agents' sessions are known by where their log lies.
    show_parsed(&read(adapter, &source).1).replace(&*root.to_string_lossy(), "[fixtures]")
}

pub fn show_parsed(parsed: &ParseOutput) -> String {
    let mut shown = shape(&parsed.entries);
    for skipped in &parsed.skipped {
        let _infallible = writeln!(shown, "skipped line {}: {}", skipped.line, skipped.reason);
    }
    for (kind, count) in &parsed.unknown_kinds {
        let _infallible = writeln!(shown, "unknown {kind}: {count}");
    }
    shown
}

/// Tries all fixtures, and returns the kinds that nobody knew.
pub fn try_all(adapter: &dyn Adapter) -> BTreeMap<String, u64> {
    let mut unknown = BTreeMap::new();
    for source in sources(adapter) {
        let (text, parsed) = read(adapter, &source);
        check_names(&source, &parsed);
        check_damage(adapter, &source, &text);
        if source.format == SourceFormat::Lines {
            check_halves(adapter, &source, &text, &parsed);
        }
        unknown.extend(parsed.unknown_kinds);
    }
    unknown
}

/// No two messages of a session have one name.
fn check_names(source: &Source, parsed: &ParseOutput) {
    let mut names = BTreeSet::new();
    for entry in &parsed.entries {
        if let LogEntry::Message(message) = entry {
            let name = (message.session.clone(), message.id.clone());
            assert!(names.insert(name), "{} in {source:?}", message.id);
        }
    }
}

/// A file may end anywhere, and a writer may have died anywhere in it.
fn check_damage(adapter: &dyn Adapter, source: &Source, text: &str) {
    let step = (text.len() / 50).max(61);
    for cut in (0..text.len()).step_by(step) {
        let cut = text.floor_char_boundary(cut);
        parse_text(adapter, source, &text[..cut]);
        parse_text(adapter, source, &text[cut..]);
    }
}

/// Wherever a sweep ends, the next one goes on so that nothing is lost, doubled or changed.
pub fn check_halves(adapter: &dyn Adapter, source: &Source, text: &str, whole: &ParseOutput) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let step = (lines.len() / 300).max(1);
    for cut in (0..=lines.len()).step_by(step) {
        let mut out = ParseOutput::default();
        let mut reader = adapter.open_reader(source, None);
        feed(&mut *reader, &lines, 0, cut, &mut out);
        reader.finish(false, &mut out);
        let (from, state) = match reader.resume_point() {
            Some(resume) => {
                let from = usize::try_from(resume.line).unwrap() - 1;
                assert_eq!(
                    resume.offset,
                    offset(&lines[..from]),
                    "cut after line {cut}"
                );
                (from, resume.state)
            }
            None => (cut, reader.state()),
        };
        let mut reader = adapter.open_reader(source, Some(&state));
        feed(&mut *reader, &lines, from, lines.len(), &mut out);
        reader.finish(true, &mut out);
        if out.entries != whole.entries {
            assert_eq!(
                shape(&out.entries),
                shape(&whole.entries),
                "cut after line {cut}"
            );
            panic!("{} differs, cut after line {cut}", source.path.display());
        }
    }
}

fn feed(reader: &mut dyn LogReader, lines: &[&str], from: usize, to: usize, out: &mut ParseOutput) {
    let mut at = offset(&lines[..from]);
    for (number, text) in (1..).zip(lines).skip(from).take(to - from) {
        let line = InputLine {
            text,
            number,
            offset: at,
        };
        reader.read_line(line, out);
        at += text.len() as u64;
    }
}

fn offset(lines: &[&str]) -> u64 {
    lines.iter().map(|line| line.len() as u64).sum()
}

/// Returns the usage and the cost of all responses, each counted once.
pub fn bill(parsed: &ParseOutput) -> (Usage, f64) {
    let mut usage = Usage::default();
    let mut cost = 0.0;
    let mut keys = BTreeSet::new();
    for entry in &parsed.entries {
        if let LogEntry::Usage(entry) = entry
            && keys.insert(entry.key.clone())
        {
            usage += entry.usage;
            cost += entry.cost_usd.unwrap_or_default();
        }
    }
    (usage, cost)
}
