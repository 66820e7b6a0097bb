//! Reads tool output: plain text, parts, text with a header, or JSON in a string.

use std::borrow::Cow;

use memory::Block;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{self, Part};
use crate::json::Text;

/// A tool's output without its wrapper.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CodexOutput {
    pub content: String,
    pub exit_code: Option<i64>,
    /// The tool itself failed. A command that ran and exited with a non-zero code did not.
    pub failed: bool,
    /// A person refused to let the tool run.
    pub refused: bool,
    pub images: Vec<Block>,
}

pub(crate) fn parse_output(raw: Option<&RawValue>) -> CodexOutput {
    let mut output = CodexOutput::default();
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    for part in wire::parts(raw) {
        output.images.extend(image(&part));
        texts.extend(part.text.0);
    }
    let text = if texts.len() == 1 {
        texts.remove(0)
    } else {
        Cow::Owned(texts.join("\n"))
    };
    unwrap_text(text, &mut output);
    output
}

/// Returns the image of a part, without its bytes.
pub(crate) fn image(part: &Part<'_>) -> Option<Block> {
    let url = part.image_url.get()?;
    let (media_type, size_bytes) = match url.strip_prefix("data:").and_then(|u| u.split_once(',')) {
        Some((head, data)) => (
            head.split(';').next().unwrap_or(head),
            data.len() as u64 / 4 * 3,
        ),
        None => ("image", 0),
    };
    Some(Block::Image {
        media_type: media_type.to_owned(),
        size_bytes,
    })
}

fn unwrap_text(text: Cow<'_, str>, output: &mut CodexOutput) {
    if let Some(shell) = shell_json(&text) {
        output.exit_code = shell.metadata.and_then(|metadata| metadata.exit_code);
        output.content = shell.output.0.unwrap_or_default().into_owned();
    } else if let Some(parts) = parts_json(&text) {
        output.content = parts;
    } else if let Some((header, body)) = split_header(&text) {
        output.exit_code = exit_code(header);
        output.content = body.to_owned();
    } else {
        // Codex's own messages are unwrapped text; after a header, a command may print the same
        // words.
        let begins = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
        output.refused = begins(REFUSED);
        output.failed = output.refused || begins(FAILED);
        output.exit_code = sandbox_exit_code(&text);
        output.content = text.into_owned();
    }
}

/// The beginnings of Codex's messages about a refused call.
const REFUSED: &[&str] = &[
    "exec command rejected by user",
    "patch rejected by user",
    "rejected by user",
    "user rejected",
    "user cancelled",
];

/// The beginnings of Codex's messages about a failed tool.
const FAILED: &[&str] = &[
    "aborted",
    "apply_patch verification failed",
    "collab spawn failed",
    "err: ",
    "exec_command failed",
    "execution error",
    "failed in sandbox",
    "failed to ",
    "patch rejected",
    "tool call error",
    "tool call failed",
    "unable to locate image",
    "unknown process id",
    "unsupported call",
    "unsupported custom tool call",
    "write_stdin failed",
];

/// The format of 2025: `{"output":…,"metadata":{"exit_code":…}}` in a string.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Shell<'a> {
    output: Text<'a>,
    #[serde(default)]
    metadata: Option<ShellMetadata>,
}

#[derive(Deserialize)]
struct ShellMetadata {
    #[serde(default)]
    exit_code: Option<i64>,
}

fn shell_json(text: &str) -> Option<Shell<'_>> {
    if !text.starts_with("{\"output\":") {
        return None;
    }
    serde_json::from_str::<Shell<'_>>(text)
        .ok()
        .filter(|shell| shell.output.0.is_some())
}

/// Returns the text of an MCP server's parts, which are JSON in a string.
fn parts_json(text: &str) -> Option<String> {
    if !text.starts_with("[{") || !text.contains("\"text\"") {
        return None;
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(text).ok()?;
    let texts: Option<Vec<_>> = parts.iter().map(|part| part.text.0.as_deref()).collect();
    Some(texts?.join("\n"))
}

/// Splits Codex's header from a command's own output.
fn split_header(text: &str) -> Option<(&str, &str)> {
    const MARK: &str = "Output:\n";
    if !["Chunk ID: ", "Wall time: ", "Exit code: "]
        .iter()
        .any(|head| text.starts_with(head))
    {
        return None;
    }
    let mut end = 0;
    for line in text.split_inclusive('\n').take(8) {
        if line == MARK {
            return Some((&text[..end], &text[end + MARK.len()..]));
        }
        // The process is still running; later calls refer to it by this number.
        if line.starts_with("Process running") {
            return None;
        }
        end += line.len();
    }
    None
}

fn exit_code(header: &str) -> Option<i64> {
    header.lines().find_map(|line| {
        let code = ["Process exited with code ", "Exit code: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))?;
        code.trim().parse().ok()
    })
}

/// Returns the exit code in an old version's `failed in sandbox …, exit code: 101, stdout: …`.
fn sandbox_exit_code(text: &str) -> Option<i64> {
    let rest = text.strip_prefix("failed in sandbox ")?;
    let (_, rest) = rest.lines().next()?.split_once("exit code: ")?;
    rest.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks an output as `content|exit code|failed`.
    #[track_caller]
    fn check(json: &str, expected: &str) {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let output = parse_output(Some(raw));
        let code = output
            .exit_code
            .map_or_else(|| "-".to_owned(), |code| code.to_string());
        assert_eq!(
            format!("{}|{code}|{}", output.content, output.failed),
            expected
        );
    }

    #[test]
    fn every_wrapping_comes_off() {
        check(r#""Plan updated""#, "Plan updated|-|false");
        check(
            concat!(
                r#""{\"output\":\"no rule\\n\",\"metadata\":{\"exit_code\":2,\"duration_seconds\"#,
                r#"":0.3}}""#,
            ),
            "no rule\n|2|false",
        );
        check(
            concat!(
                r#""Chunk ID: c6c49b\nWall time: 0.0020 seconds\nProcess exited with code 1\nOri"#,
                r#"ginal token count: 15\nOutput:\nx\n""#,
            ),
            "x\n|1|false",
        );
        check(
            r#""Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.""#,
            "Success.|0|false",
        );
        check(
            r#"[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]"#,
            "a\nb|-|false",
        );
        check(r#"{"type":"input_text","text":"a"}"#, "a|-|false");
        check(r#""[{\"text\":\"hit\",\"type\":\"text\"}]""#, "hit|-|false");
        check(r#""{\"agent_id\":\"7\"}""#, "{\"agent_id\":\"7\"}|-|false");
        check("null", "|-|false");
    }

    #[test]
    fn a_running_process_keeps_its_number() {
        let text =
            "Chunk ID: c6\nWall time: 1 seconds\nProcess running with session ID 5\nOutput:\nx";
        check(
            &serde_json::to_string(text).unwrap(),
            &format!("{text}|-|false"),
        );
    }

    #[test]
    fn a_command_may_print_what_codex_says() {
        check(
            r#""Exit code: 0\nWall time: 0 seconds\nOutput:\naborted""#,
            "aborted|0|false",
        );
    }

    #[test]
    fn tools_that_could_not_work_failed() {
        check(
            r#""unsupported call: memory_search""#,
            "unsupported call: memory_search|-|true",
        );
        check(
            r#""exec command rejected by user""#,
            "exec command rejected by user|-|true",
        );
    }

    #[test]
    fn an_image_is_its_type_and_size() {
        let raw: &RawValue = serde_json::from_str(
            r#"[{"type":"input_image","image_url":"data:image/png;base64,AAAABBBB"}]"#,
        )
        .unwrap();
        let expected = Block::Image {
            media_type: "image/png".into(),
            size_bytes: 6,
        };
        assert_eq!(parse_output(Some(raw)).images, [expected]);
    }
}
