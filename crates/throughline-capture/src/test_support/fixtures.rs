//! Sources below the agents' fixtures, read whole as a sweep reads them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use memory::{LogEntry, Message, Usage};
use testkit::shape::shape;

use super::database::read_new_rows;
use crate::adapter::parse_text;
use crate::{Adapter, ParseOutput, Source, SourceFormat};

/// Returns the fixtures of an agent that its adapter claims, in the order of their paths.
pub(crate) fn fixtures(adapter: &Adapter) -> Vec<Source> {
    claimed_below(adapter, &testkit::fixture(adapter.flavor().name()))
}

/// Returns the files below a root that an adapter claims, in the order of their paths.
pub(crate) fn claimed_below(adapter: &Adapter, root: &Path) -> Vec<Source> {
    let mut files = Vec::new();
    collect_files(root, &mut files);
    files.sort();
    let claimed = files.into_iter().filter_map(|path| {
        let format = adapter.claim(root, path.strip_prefix(root).unwrap())?;
        Some(source(adapter, &path, format))
    });
    claimed.collect()
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Reads a fixture, given by its path below the agent's fixtures.
pub(crate) fn read_fixture(adapter: &Adapter, relative: &str) -> ParseOutput {
    let root = testkit::fixture(adapter.flavor().name());
    let format = adapter.claim(&root, Path::new(relative)).expect("claimed");
    read_file(adapter, &root.join(relative), format)
}

/// Reads a source and returns its text too.
pub(crate) fn read_source(adapter: &Adapter, source: &Source) -> (String, ParseOutput) {
    let text = fs::read_to_string(&source.path).unwrap();
    let parsed = parse_text(adapter, source, &text);
    (text, parsed)
}

pub(crate) fn read_file(adapter: &Adapter, path: &Path, format: SourceFormat) -> ParseOutput {
    if format == SourceFormat::Database {
        return read_new_rows(adapter, path, None).0;
    }
    read_source(adapter, &source(adapter, path, format)).1
}

pub(super) fn source(adapter: &Adapter, path: &Path, format: SourceFormat) -> Source {
    Source {
        flavor: adapter.flavor(),
        path: path.to_owned(),
        format,
    }
}

/// Shows what a fixture contains and what was skipped in it. The path of the fixtures, by which
/// some agents' sessions are known, is shown as `[fixtures]`.
pub(crate) fn show_fixture(adapter: &Adapter, relative: &str) -> String {
    let root = testkit::fixture(adapter.flavor().name());
    show_output(&read_fixture(adapter, relative)).replace(&*root.to_string_lossy(), "[fixtures]")
}

/// Shows what was understood, and what was not.
pub(crate) fn show_output(parsed: &ParseOutput) -> String {
    let mut shown = shape(&parsed.entries);
    for skipped in &parsed.skipped {
        shown += &format!("skipped line {}: {}\n", skipped.line, skipped.reason);
    }
    for (kind, count) in &parsed.unknown_kinds {
        shown += &format!("unknown {kind}: {count}\n");
    }
    shown
}

pub(crate) fn messages(parsed: &ParseOutput) -> impl Iterator<Item = &Message> {
    parsed.entries.iter().filter_map(|entry| match entry {
        LogEntry::Message(message) => Some(message),
        _ => None,
    })
}

pub(crate) fn message_ids(parsed: &ParseOutput) -> Vec<String> {
    messages(parsed)
        .map(|message| message.id.to_string())
        .collect()
}

/// Adds up all usage entries.
pub(crate) fn total_usage(parsed: &ParseOutput) -> Usage {
    let mut total = Usage::default();
    for entry in &parsed.entries {
        if let LogEntry::Usage(entry) = entry {
            total += entry.usage;
        }
    }
    total
}

/// Adds up usage and cost, counting each key once as the store does.
pub(crate) fn usage_by_key(parsed: &ParseOutput) -> (Usage, f64) {
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
