//! The skills and instruction files of a workspace, as sessions read or changed them.

use std::collections::{BTreeMap, BTreeSet};

use distill::rollup::one_line;
use memory::layers::{CapsuleKind, CapsuleLine, CapsuleSource};
use memory::tokens::estimate;
use memory::{RecordKind, SessionId, directives};
use store::{KnowledgeRecord, Store, relative_path};

/// The files in which agents find skills and instructions.
const SKILL_FILE: &str = "SKILL.md";
const INSTRUCTION_FILES: &[&str] = &[
    "CLAUDE.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", "copilot-instructions.md",
    ".cursorrules",
];
/// The tool that starts a skill.
const SKILL_TOOL: &str = "Skill";
/// Limits of what is read for the capsules of a workspace.
const RECORDS_MAX: usize = 2_000;
const TEXTS_MAX: usize = 3;
/// Ranks of lines: rules, headings, anything else.
const RULE_RANK: u8 = 3;
const HEADING_RANK: u8 = 2;
const TEXT_RANK: u8 = 1;

/// Returns the skills and instruction files that sessions read, changed or started.
pub(super) fn document_sources(
    store: &Store,
    workspace: &str,
) -> store::Result<Vec<CapsuleSource>> {
    let names: Vec<&str> = INSTRUCTION_FILES
        .iter()
        .copied()
        .chain([SKILL_FILE])
        .collect();
    let records = store.knowledge_records(workspace, &names, SKILL_TOOL, RECORDS_MAX)?;
    let mut groups: BTreeMap<(CapsuleKind, String), Vec<KnowledgeRecord>> = BTreeMap::new();
    for record in records {
        if let Some(key) = document_key(store, &record)? {
            groups.entry(key).or_default().push(record);
        }
    }
    let mut sources = Vec::new();
    for ((kind, name), records) in groups {
        sources.extend(document_source(store, kind, name, &records)?);
    }
    Ok(sources)
}

/// Returns what a record is about: a skill by its name, or an instruction file by its path.
fn document_key(
    store: &Store,
    record: &KnowledgeRecord,
) -> store::Result<Option<(CapsuleKind, String)>> {
    if let Some(path) = record.path.as_deref() {
        let path = relative_path(path, record.cwd.as_deref());
        let folder = path.strip_suffix(SKILL_FILE);
        return Ok(Some(
            match folder.map(|folder| folder.trim_end_matches('/')) {
                Some(folder) => {
                    let name = folder.rsplit('/').next().unwrap_or(folder);
                    (CapsuleKind::Skill, name.to_owned())
                }
                None => (CapsuleKind::Configuration, path.to_owned()),
            },
        ));
    }
    if record.kind != RecordKind::ToolUse {
        return Ok(None);
    }
    let call = store.read_record(record.id)?;
    let named = |content: &str| {
        let mut lines = content.lines();
        let name = lines.find_map(|line| line.strip_prefix("skill: "))?;
        Some((CapsuleKind::Skill, one_line(name)))
    };
    Ok(call.and_then(|call| named(&call.content)))
}

fn document_source(
    store: &Store,
    kind: CapsuleKind,
    name: String,
    records: &[KnowledgeRecord],
) -> store::Result<Option<CapsuleSource>> {
    let sessions: BTreeSet<SessionId> = records.iter().map(|r| r.session.clone()).collect();
    let mut texts = Vec::new();
    for record in records {
        let is_text = matches!(record.kind, RecordKind::ToolResult | RecordKind::Artifact);
        if !is_text || texts.len() == TEXTS_MAX {
            continue;
        }
        if let Some(read) = store.read_record(record.id)?
            && !read.layer_record(None).is_sensitive
        {
            texts.push((record.id, without_line_numbers(&read.content)));
        }
    }
    // The latest text that was read whole says most.
    let Some((_, text)) = texts.iter().max_by_key(|(_, text)| text.len()) else {
        return Ok(None);
    };
    let document = DocumentOutline::parse(text);
    let about = document.description.or(document.title);
    let about = about.map_or_else(String::new, |about| format!(": {about}"));
    let sessions_text = match sessions.len() {
        1 => "1 session".to_owned(),
        many => format!("{many} sessions"),
    };
    Ok(Some(CapsuleSource {
        summary: format!("{name}{about} (used in {sessions_text})"),
        kind,
        at: records
            .iter()
            .filter_map(|r| r.at)
            .max()
            .unwrap_or_default(),
        lines: document.lines,
        original_tokens: texts.iter().map(|(_, text)| estimate(text)).sum(),
        made_of: texts.iter().map(|(id, _)| *id).collect(),
        sessions,
        name,
    }))
}

/// The lines of a Markdown file with their ranks.
#[derive(Default)]
struct DocumentOutline {
    title: Option<String>,
    /// What the front matter says about the file.
    description: Option<String>,
    lines: Vec<CapsuleLine>,
}

impl DocumentOutline {
    fn parse(text: &str) -> Self {
        let mut outline = Self::default();
        let mut in_front_matter = false;
        for (number, line) in text.lines().enumerate() {
            let line = one_line(line);
            if line == "---" && (number == 0 || in_front_matter) {
                in_front_matter = !in_front_matter;
            } else if in_front_matter {
                if let Some(said) = line.strip_prefix("description:") {
                    outline.description = Some(said.trim().to_owned());
                }
            } else if let Some(heading) = line.strip_prefix('#') {
                let heading = heading.trim_start_matches('#').trim();
                outline.title.get_or_insert_with(|| heading.to_owned());
                outline.lines.push(CapsuleLine::new(line, HEADING_RANK));
            } else if !line.is_empty() {
                let is_rule = directives::is_directive(&line);
                let rank = if is_rule { RULE_RANK } else { TEXT_RANK };
                outline.lines.push(CapsuleLine::new(line, rank));
            }
        }
        outline
    }
}

/// Removes what tools print around the lines of a file: numbers before them, and lines with only a
/// tag, such as `<content>`.
fn without_line_numbers(text: &str) -> String {
    let strip = |line: &str| {
        let numbered = line.trim_start();
        let rest = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
        let body = ["→", "\t", ": ", ":"]
            .iter()
            .find_map(|sign| rest.strip_prefix(sign));
        let is_numbered = rest.len() < numbered.len();
        body.filter(|_| is_numbered).unwrap_or(line).to_owned()
    };
    let is_tag = |line: &&str| line.starts_with('<') && line.ends_with('>');
    let lines = text.lines().filter(|line| !is_tag(line));
    lines.map(strip).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_and_tags_of_tools_are_removed() {
        let check = |printed: &str| assert_eq!(without_line_numbers(printed), "# Rules\n\n- Test.");
        check("# Rules\n\n- Test.");
        check("     1→# Rules\n     2→\n     3→- Test.");
        check("1\t# Rules\n2\t\n3\t- Test.");
        check("<path>/src/AGENTS.md</path>\n<content>\n1: # Rules\n2:\n3: - Test.\n</content>");
        assert_eq!(without_line_numbers("1. First step"), "1. First step");
    }
}
