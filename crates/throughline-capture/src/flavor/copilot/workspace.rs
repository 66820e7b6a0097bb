//! Reads `workspace.yaml`: the session's name, folder and branch.

use memory::{Flavor, SessionId, SessionPatch, Title, TitleRank};

use crate::{InputLine, LogReader, ParseOutput, time};

#[derive(Debug)]
pub(crate) struct WorkspaceFileReader {
    session: String,
}

impl WorkspaceFileReader {
    pub(crate) fn new(session: String) -> Self {
        Self { session }
    }
}

impl LogReader for WorkspaceFileReader {
    fn read_line(&mut self, document: InputLine<'_>, out: &mut ParseOutput) {
        let field = |key: &str| yaml_field(document.text, key).filter(|value| !value.is_empty());
        let session = field("id").unwrap_or_else(|| self.session.clone());
        let rank = match field("user_named").as_deref() {
            Some("true") => TitleRank::Custom,
            _ => TitleRank::Generated,
        };
        let title = field("name").or_else(|| field("summary"));
        let patch = SessionPatch {
            title: title.map(|text| Title::new(text, rank)),
            cwd: field("cwd"),
            branch: field("branch"),
            started: field("created_at").and_then(|at| time::parse_iso(&at)),
            ..SessionPatch::new(SessionId::of(Flavor::Copilot, &session), Flavor::Copilot)
        };
        out.push(patch);
    }
}

/// Returns the value of a top-level key: plain, quoted, or the first line of a block.
fn yaml_field(yaml: &str, key: &str) -> Option<String> {
    let mut lines = yaml.lines();
    let value = lines
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?
        .trim();
    if value.starts_with('"') {
        return serde_json::from_str(value)
            .ok()
            .or_else(|| Some(value.trim_matches('"').to_owned()));
    }
    if let Some(quoted) = value.strip_prefix('\'') {
        return Some(
            quoted
                .strip_suffix('\'')
                .unwrap_or(quoted)
                .replace("''", "'"),
        );
    }
    if value.starts_with(['|', '>']) {
        return lines.next().map(|line| line.trim().to_owned());
    }
    Some(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::yaml_field;

    #[test]
    fn values_of_every_kind() {
        let yaml = "id: ab\nname: 'It''s: fine'\nsummary: |-\n  First line\n  second\n\
            note: \"a\\tb \\\"c\\\"\"\ncwd: /home/dev: x\n";
        let check = |key, value| assert_eq!(yaml_field(yaml, key).as_deref(), value, "{key}");
        check("id", Some("ab"));
        check("name", Some("It's: fine"));
        check("summary", Some("First line"));
        check("note", Some("a\tb \"c\""));
        check("cwd", Some("/home/dev: x"));
        check("branch", None);
    }
}
