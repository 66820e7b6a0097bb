//! Every fixture, read whole, in halves, and counted by other means.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use memory::{Block, Flavor, LogEntry, Usage};
use testkit::shape::shape;

use super::GROK;
use crate::adapter::parse_text;
use crate::{InputLine, ParseOutput, Source, SourceFormat};

const PROJ: &str = "%2Fhome%2Fdev%2Fproj";
const MADE: &str = "%2Fhome%2Fdev%2Fmade";

fn source(relative: &str) -> Source {
    let root = testkit::fixture("grok");
    Source {
        flavor: Flavor::Grok,
        format: GROK.claim(&root, Path::new(relative)).unwrap(),
        path: root.join(relative),
    }
}

fn read(source: &Source) -> (String, ParseOutput) {
    let text = fs::read_to_string(&source.path).unwrap();
    let parsed = parse_text(&GROK, source, &text);
    (text, parsed)
}

/// Shows what the files of a session say, and what was passed over.
fn show(session: &str, files: &[&str]) -> String {
    let mut shown = String::new();
    for file in files {
        let (_, parsed) = read(&source(&format!("sessions/{session}/{file}")));
        shown += &format!("# {file}\n{}", shape(&parsed.entries));
        for skipped in &parsed.skipped {
            shown += &format!("skipped line {}: {}\n", skipped.line, skipped.reason);
        }
        for (kind, count) in &parsed.unknown_kinds {
            shown += &format!("unknown {kind}: {count}\n");
        }
    }
    shown
}

const WITH_LOG: &[&str] = &["updates.jsonl", "summary.json", "chat_history.jsonl"];

#[test]
fn inventory() {
    assert_snapshot!(show(
        &format!("{PROJ}/01a1e07c-e626-7793-85aa-32c25c5d307e"),
        WITH_LOG
    ));
}

#[test]
fn secrets() {
    assert_snapshot!(show(
        &format!("{PROJ}/01a1e07d-10e2-7281-9119-537fdb2059bf"),
        WITH_LOG
    ));
}

#[test]
fn unicode() {
    assert_snapshot!(show(
        &format!("{PROJ}/01a1e07d-202c-7e40-84c8-8025152621e4"),
        WITH_LOG
    ));
}

#[test]
fn longhaul() {
    assert_snapshot!(show(
        &format!("{PROJ}/01a1e08d-3935-7151-a36c-6eec41de8cb1"),
        WITH_LOG
    ));
}

#[test]
fn rewind_compaction_and_damage() {
    let session = format!("{MADE}/01a1f000-0000-7000-8000-000000000001");
    assert_snapshot!(show(&session, &["updates.jsonl", "summary.json"]));
}

#[test]
fn bare_notifications() {
    assert_snapshot!(show(&format!("{MADE}/bare-acp"), &["updates.jsonl"]));
}

#[test]
fn first_chat_format() {
    assert_snapshot!(show(&format!("{MADE}/chat-v0"), &["chat_history.jsonl"]));
}

#[test]
fn chat_with_subagent() {
    let parent = "%2Ftmp%2Fas-agent-lab%2Fgrok%2Fproject/019f6851-7ec4-7ef0-97d3-03f3eee38755";
    let child = "%2Ftmp%2Fas-agent-lab%2Fgrok%2Fproject/019f6851-7ec4-7ef0-97d3-03f3eee38756";
    let files = &["chat_history.jsonl", "summary.json"];
    let meta = &["subagents/019f6851-7ec4-7ef0-97d3-03f3eee38756/meta.json"];
    assert_snapshot!(show(parent, files) + &show(parent, meta) + &show(child, files));
}

#[test]
fn vendor_serialised_chat() {
    let session =
        "%2Fworkspace%2Fgrok-worktrees%2Fparser-audit/019f6000-0000-7000-8000-000000000001";
    assert_snapshot!(show(session, &["chat_history.jsonl", "summary.json"]));
}

/// A compacted history keeps the names of the turns it keeps.
#[test]
fn compacted_chat_is_read_from_its_summary() {
    let directory = tempfile::tempdir().unwrap();
    let history = testkit::fixture(&format!(
        "grok/sessions/{PROJ}/01a1e08d-3935-7151-a36c-6eec41de8cb1/chat_history.jsonl"
    ));
    let path = directory.path().join("chat_history.jsonl");
    let source = Source {
        flavor: Flavor::Grok,
        path: path.clone(),
        format: SourceFormat::Document,
    };
    let text = fs::read_to_string(history).unwrap();
    let whole = parse_text(&GROK, &source, &text);
    let tail: String = text.split_inclusive('\n').skip(5).collect();
    let names = |parsed: &ParseOutput| -> Vec<String> {
        let ids = parsed.entries.iter().filter_map(|entry| match entry {
            LogEntry::Message(message) => Some(message.id.to_string()),
            _ => None,
        });
        ids.collect()
    };
    let (whole_names, kept) = (names(&whole), names(&parse_text(&GROK, &source, &tail)));
    assert!(shape(&whole.entries).contains("boundary"));
    assert!(shape(&whole.entries).contains("summary \"This session is being continued"));
    assert_eq!(whole_names[whole_names.len() - 2..], kept[kept.len() - 2..]);
}

/// All files below the fixtures that are claimed.
fn sources() -> Vec<Source> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    let root = testkit::fixture("grok");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    let claimed = found.into_iter().filter_map(|relative| {
        Some(Source {
            flavor: Flavor::Grok,
            format: GROK.claim(&root, &relative)?,
            path: root.join(relative),
        })
    });
    claimed.collect()
}

#[test]
fn nothing_unknown_but_what_was_made_so() {
    let mut unknown = BTreeMap::new();
    let mut skipped = 0;
    let sources = sources();
    assert_eq!(sources.len(), 23);
    for source in &sources {
        let (text, parsed) = read(source);
        unknown.extend(parsed.unknown_kinds);
        skipped += parsed.skipped.len();
        if source.format == SourceFormat::Lines || text.starts_with(r#"{"type":"system""#) {
            assert!(GROK.recognises(&text), "{}", source.path.display());
        }
    }
    assert_eq!(
        unknown,
        BTreeMap::from([("update/brand_new_kind".to_owned(), 1)])
    );
    assert_eq!(skipped, 2, "half a line in either format");
}

/// Wherever a sweep ends, the next one goes on so that nothing is lost, doubled or changed.
#[test]
fn two_halves_are_the_whole() {
    for source in sources()
        .iter()
        .filter(|source| source.format == SourceFormat::Lines)
    {
        let (text, whole) = read(source);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for cut in 0..=lines.len() {
            let mut out = ParseOutput::default();
            let mut reader = GROK.open_reader(source, None);
            feed(&mut *reader, &lines, 0, cut, &mut out);
            reader.finish(false, &mut out);
            let (from, state) = match reader.resume_point() {
                Some(resume) => {
                    let offset: usize = lines[..resume.line as usize - 1]
                        .iter()
                        .map(|l| l.len())
                        .sum();
                    assert_eq!(resume.offset, offset as u64);
                    (resume.line as usize - 1, resume.state)
                }
                None => (cut, reader.state()),
            };
            assert!(!texts(&whole).any(|text| state.contains(text)), "{state}");
            let mut reader = GROK.open_reader(source, Some(&state));
            feed(&mut *reader, &lines, from, lines.len(), &mut out);
            reader.finish(true, &mut out);
            assert_eq!(
                shape(&out.entries),
                shape(&whole.entries),
                "{} cut after line {cut}",
                source.path.display()
            );
            assert_eq!(out.entries, whole.entries);
        }
    }
}

/// The words of a log that no state may hold.
fn texts(parsed: &ParseOutput) -> impl Iterator<Item = &str> {
    let messages = parsed.entries.iter().filter_map(|entry| match entry {
        LogEntry::Message(message) => Some(message),
        _ => None,
    });
    messages
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match block {
            Block::Text(text) | Block::Thinking(text) => Some(text.as_str()),
            Block::ToolUse(call) => Some(call.input.as_str()).filter(|input| !input.is_empty()),
            _ => None,
        })
}

fn feed(
    reader: &mut dyn crate::LogReader,
    lines: &[&str],
    from: usize,
    to: usize,
    out: &mut ParseOutput,
) {
    let mut offset: u64 = lines[..from].iter().map(|line| line.len() as u64).sum();
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

/// A file may end anywhere, and a writer may have died anywhere in it.
#[test]
fn damage_is_survived() {
    for source in sources() {
        let (text, _) = read(&source);
        for cut in (0..text.len()).step_by(1009) {
            let cut = text.floor_char_boundary(cut);
            let torn = parse_text(&GROK, &source, &text[..cut]);
            assert!(
                torn.skipped.len() <= 2,
                "{} cut at byte {cut}",
                source.path.display()
            );
            let rest = parse_text(&GROK, &source, &text[cut..]);
            assert!(
                rest.skipped.len() <= 3,
                "{} from byte {cut}",
                source.path.display()
            );
        }
    }
}

#[test]
fn no_two_messages_have_one_name() {
    for source in sources() {
        let (_, parsed) = read(&source);
        let mut names = std::collections::BTreeSet::new();
        for entry in &parsed.entries {
            if let LogEntry::Message(message) = entry {
                assert!(
                    names.insert(message.id.clone()),
                    "{} in {source:?}",
                    message.id
                );
            }
        }
    }
}

fn total(parsed: &ParseOutput) -> Usage {
    let mut total = Usage::default();
    for entry in &parsed.entries {
        if let LogEntry::Usage(entry) = entry {
            total += entry.usage;
        }
    }
    total
}

#[test]
fn usage_is_what_the_lines_add_up_to() {
    for source in sources()
        .iter()
        .filter(|source| source.format == SourceFormat::Lines)
    {
        let (text, parsed) = read(source);
        let mut expected = Usage::default();
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else {
                continue;
            };
            let usage = &line["params"]["update"]["usage"];
            let count = |key: &str| usage[key].as_u64().unwrap_or_default();
            let cached = count("cachedReadTokens") + count("cacheCreationTokens");
            expected += Usage {
                input: count("inputTokens").saturating_sub(cached),
                output: count("outputTokens"),
                cache_read: count("cachedReadTokens"),
                cache_write: count("cacheCreationTokens"),
                reasoning: count("reasoningTokens"),
            };
        }
        assert_eq!(total(&parsed), expected, "{}", source.path.display());
    }
}

#[test]
fn usage_is_what_grok_itself_counts() {
    let mut compared = 0;
    for source in sources() {
        let Ok(text) = fs::read_to_string(source.path.with_file_name("usage.json")) else {
            continue;
        };
        if source.format != SourceFormat::Lines {
            continue;
        }
        let counted: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (_, parsed) = read(&source);
        assert_eq!(counted["session"]["totalTokens"], total(&parsed).total());
        compared += 1;
    }
    assert_eq!(compared, 4);
}
