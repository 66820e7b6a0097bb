//! A log read in parts is the log read whole.

use std::collections::BTreeMap;

use memory::{LogEntry, SessionPatch};

use super::super::CLAUDE;
use super::{files, source};
use crate::{InputLine, ParseOutput, Source, SourceFormat, adapter};

/// Reads a log in two sweeps that part before line `at`, as the sweep does: the second starts
/// where the first says.
fn read_in_two(source: &Source, lines: &[&str], at: usize) -> Vec<LogEntry> {
    let mut offsets = vec![0];
    for line in lines {
        offsets.push(offsets.last().unwrap() + line.len() as u64);
    }
    let mut out = ParseOutput::default();
    let mut state = None;
    let mut start = 0;
    for end in [at, lines.len()] {
        let mut reader = CLAUDE.open_reader(source, state.as_deref());
        for index in start..end {
            let line = InputLine {
                text: lines[index],
                number: index as u64 + 1,
                offset: offsets[index],
            };
            reader.read_line(line, &mut out);
        }
        reader.finish(end == lines.len(), &mut out);
        (start, state) = match reader.resume_point() {
            Some(resume) => {
                let index = usize::try_from(resume.line).unwrap() - 1;
                assert_eq!(resume.offset, offsets[index]);
                (index, Some(resume.state))
            }
            None => (end, Some(reader.state())),
        };
    }
    out.entries
}

/// Reduces entries as the store does: each message once, the largest usage of a key, merged
/// patches.
fn stored(entries: Vec<LogEntry>) -> String {
    let mut messages = Vec::new();
    let mut usage = BTreeMap::new();
    let mut sessions: BTreeMap<String, SessionPatch> = BTreeMap::new();
    for entry in entries {
        match entry {
            LogEntry::Message(message) if !messages.contains(&message) => messages.push(message),
            LogEntry::Message(_) => {}
            LogEntry::Usage(entry) => {
                let known = usage
                    .entry(entry.key.clone())
                    .or_insert_with(|| entry.clone());
                if entry.usage.output > known.usage.output {
                    *known = entry;
                }
            }
            LogEntry::Session(patch) => match sessions.entry(patch.id.to_string()) {
                std::collections::btree_map::Entry::Occupied(mut known) => {
                    known.get_mut().merge(patch);
                }
                std::collections::btree_map::Entry::Vacant(new) => {
                    new.insert(patch);
                }
            },
        }
    }
    format!("{messages:#?}\n{usage:#?}\n{sessions:#?}")
}

#[test]
fn two_sweeps_read_what_one_reads() {
    for file in files() {
        let source = source(&file);
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        if source.format == SourceFormat::Document || text.len() > 60_000 {
            continue;
        }
        let whole = stored(adapter::parse_text(&CLAUDE, &source, &text).entries);
        for at in 0..=lines.len() {
            let halves = stored(read_in_two(&source, &lines, at));
            assert!(halves == whole, "{} parted at {at}", file.display());
        }
    }
}

#[test]
fn state_holds_no_conversation() {
    let path = testkit::fixture(
        "claude/generated/secrets/-home-dev-proj/7142b226-68fa-46a0-8fd9-46e66b66a646.jsonl",
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let mut reader = CLAUDE.open_reader(&source(&path), None);
    for (number, text) in (1..).zip(text.lines()) {
        let line = InputLine {
            text,
            number,
            offset: 0,
        };
        reader.read_line(line, &mut ParseOutput::default());
        let state = reader
            .resume_point()
            .map_or_else(|| reader.state(), |resume| resume.state);
        assert!(
            !state.contains("sk-live") && !state.contains("Deploy"),
            "{state}"
        );
        assert!(state.len() < 4 << 10);
    }
}
