//! Parses tool calls and prompts that are written as tags in a text. The programs used tags before
//! model APIs had tools, and still wrap prompts in them.

use serde_json::{Map, Value};

/// The tools that a model calls with tags.
const TOOLS: [&str; 26] = [
    "access_mcp_resource", "apply_diff", "ask_followup_question", "attempt_completion",
    "browser_action", "codebase_search", "condense", "edit_file", "execute_command",
    "fetch_instructions", "insert_content", "list_code_definition_names", "list_files",
    "load_mcp_documentation", "new_rule", "new_task", "plan_mode_respond", "read_file",
    "replace_in_file", "run_slash_command", "search_and_replace", "search_files", "switch_mode",
    "update_todo_list", "use_mcp_tool", "write_to_file",
];

/// A part of a model's text.
#[derive(Debug, PartialEq)]
pub(crate) enum MarkupPart {
    Text(String),
    Thinking(String),
    Call { tool: String, input: String },
}

/// Splits a model's text into its parts.
pub(crate) fn split_model_text(text: &str) -> Vec<MarkupPart> {
    let mut parts = Vec::new();
    let mut text_before = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tagged) = rest.split_at(start);
        text_before.push_str(before);
        match leading_element(tagged) {
            Some((name, inside, after)) if TOOLS.contains(&name) => {
                push_text(&mut text_before, &mut parts);
                let input = Value::Object(arguments(inside)).to_string();
                parts.push(MarkupPart::Call {
                    tool: name.to_owned(),
                    input,
                });
                rest = after;
            }
            Some(("thinking", inside, after)) => {
                push_text(&mut text_before, &mut parts);
                parts.push(MarkupPart::Thinking(inside.trim().to_owned()));
                rest = after;
            }
            _ => {
                text_before.push('<');
                rest = &tagged[1..];
            }
        }
    }
    text_before.push_str(rest);
    push_text(&mut text_before, &mut parts);
    parts
}

fn push_text(text_before: &mut String, parts: &mut Vec<MarkupPart>) {
    let text = std::mem::take(text_before);
    if !text.trim().is_empty() {
        parts.push(MarkupPart::Text(text.trim().to_owned()));
    }
}

/// Returns the name, the content and the rest after an element at the start of a text. The element
/// ends at the last closing tag before another element of the same name begins, because text that
/// is written to a file may contain tags too.
fn leading_element(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if name.is_empty() || !name.bytes().all(plain) {
        return None;
    }
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let limit = rest.find(&open).unwrap_or(rest.len());
    let end = rest[..limit].rfind(&close).or_else(|| rest.find(&close))?;
    Some((name, &rest[..end], &rest[end + close.len()..]))
}

fn arguments(inside: &str) -> Map<String, Value> {
    let mut arguments = Map::new();
    let mut rest = inside;
    while let Some(start) = rest.find('<') {
        match leading_element(&rest[start..]) {
            Some((name, value, after)) => {
                let value = value.trim_matches('\n').to_owned();
                arguments.insert(name.to_owned(), Value::String(value));
                rest = after;
            }
            None => rest = &rest[start + 1..],
        }
    }
    arguments
}

/// The origin of a text in a user message.
#[derive(Debug, PartialEq)]
pub(crate) enum UserMarkup<'a> {
    /// A person typed it.
    Typed(&'a str),
    /// The program wrote it.
    FromProgram,
    /// A tool's result; its text may follow in the next block.
    Result { tool: &'a str, content: &'a str },
    /// The text has none of the known tags.
    Untagged(&'a str),
}

/// Classifies a text in a user message.
pub(crate) fn classify_user_text(text: &str) -> UserMarkup<'_> {
    let text = text.trim();
    for tag in ["task", "feedback", "user_message", "answer", "user_input"] {
        if let Some((_, rest)) = text.split_once(&format!("<{tag}>")) {
            let typed = rest
                .rsplit_once(&format!("</{tag}>"))
                .map_or(rest, |(typed, _)| typed);
            return UserMarkup::Typed(typed.trim());
        }
    }
    if let Some((head, content)) = text.split_once("Result:")
        && let Some(call) = head
            .trim_end()
            .strip_prefix('[')
            .and_then(|h| h.strip_suffix(']'))
        && !call.contains('\n')
    {
        let tool = call.split_whitespace().next().unwrap_or_default();
        return UserMarkup::Result {
            tool,
            content: content.trim(),
        };
    }
    let programs = [
        "<environment_details>", "[ERROR]", "[TASK RESUMPTION]", "<explicit_instructions",
    ];
    if text.is_empty() || programs.iter().any(|mark| text.starts_with(mark)) {
        return UserMarkup::FromProgram;
    }
    UserMarkup::Untagged(text)
}

/// Returns the working directory that the program gives to the model.
pub(crate) fn cwd(text: &str) -> Option<&str> {
    let words = [
        "Current Working Directory (",
        "Current Workspace Directory (",
    ];
    let (_, rest) = words.iter().find_map(|words| text.split_once(words))?;
    let (cwd, _) = rest.split_once(')')?;
    (!cwd.contains('\n')).then_some(cwd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_taken_out_of_the_text() {
        let text = "<thinking>where?</thinking>\nI look.\n\n<read_file>\n<path>src/a.rs</path>\n</r\
            ead_file>";
        let call = MarkupPart::Call {
            tool: "read_file".into(),
            input: r#"{"path":"src/a.rs"}"#.into(),
        };
        let expected = [
            MarkupPart::Thinking("where?".into()),
            MarkupPart::Text("I look.".into()),
            call,
        ];
        assert_eq!(split_model_text(text), expected);
    }

    #[test]
    fn what_is_written_may_have_tags() {
        let text = "<write_to_file>\n<path>a.html</path>\n<content>\n<p>if a < b</p>\n</content>\n<\
            /write_to_file>";
        let input = r#"{"content":"<p>if a < b</p>","path":"a.html"}"#.to_owned();
        assert_eq!(
            split_model_text(text),
            [MarkupPart::Call {
                tool: "write_to_file".into(),
                input
            }]
        );
    }

    #[test]
    fn other_tags_are_text() {
        let text = "Use <b>this</b> and a < b, not <read_file> alone.";
        assert_eq!(split_model_text(text), [MarkupPart::Text(text.into())]);
    }

    #[test]
    fn prompts_are_told_from_results() {
        assert_eq!(
            classify_user_text("<task>\nfix it\n</task>"),
            UserMarkup::Typed("fix it")
        );
        assert_eq!(
            classify_user_text(
                "The user has provided feedback:\n<feedback>\nno, the other\n</feedback>"
            ),
            UserMarkup::Typed("no, the other")
        );
        let result = UserMarkup::Result {
            tool: "read_file",
            content: "fn main() {}",
        };
        assert_eq!(
            classify_user_text("[read_file for 'src/a.rs'] Result:\nfn main() {}"),
            result
        );
        assert_eq!(
            classify_user_text("<environment_details>\n# x\n</environment_details>"),
            UserMarkup::FromProgram
        );
        assert_eq!(
            classify_user_text("[ERROR] You did not use a tool"),
            UserMarkup::FromProgram
        );
        assert_eq!(classify_user_text("words"), UserMarkup::Untagged("words"));
    }

    #[test]
    fn the_program_tells_the_folder() {
        let text = "# Current Working Directory (/home/dev/proj) Files\na.rs";
        assert_eq!(cwd(text), Some("/home/dev/proj"));
    }
}
