//! Removes from the agent's own log what was withheld from its records.
//!
//! Agents write the same text more than once: in the message, in another field of the same line, in
//! an event, in a snapshot of the file. A string of the log is replaced if its object names a
//! never-captured file, if it answers a call whose output is withheld, or if it repeats a text that
//! was withheld from a record. Only string values change: every line stays valid JSON and keeps its
//! other bytes.

use std::collections::{HashMap, HashSet};

use super::json_outline::JsonOutline;
use super::message_filter::strip_line_number;
use super::{CaptureScope, WithholdReason, placeholder};
use crate::tools;

/// A shorter line may occur in any file.
const LINE_BYTES_MIN: usize = 6;
/// The most lines of withheld files that are searched for in one source.
const LINES_MAX: usize = 20_000;
/// A string repeats a file outside the workspace if it shares at least this much text with it.
const SHARED_BYTES_MIN: usize = 16;
const SHARED_PERCENT_MIN: usize = 60;
/// JSON inside strings inside JSON is parsed to this depth.
const NESTING_MAX: usize = 4;
/// How many levels above its arguments the id of a call is searched for.
const CALL_ID_LEVELS_MAX: usize = 4;

/// The texts that must be removed from the log of a source.
#[derive(Debug, Default)]
pub(crate) struct LogFilter {
    /// Lines of credential files.
    credential_lines: HashSet<String>,
    /// Lines of files outside the workspace.
    outside_lines: HashSet<String>,
    /// Calls whose output is withheld.
    calls: HashMap<String, WithholdReason>,
}

impl LogFilter {
    pub(crate) fn add_credentials(&mut self, text: &str) {
        add_lines(&mut self.credential_lines, text);
    }

    pub(crate) fn add_outside(&mut self, text: &str) {
        add_lines(&mut self.outside_lines, text);
    }

    pub(crate) fn add_calls(&mut self, calls: &HashMap<String, WithholdReason>) {
        let calls = calls.iter().map(|(call, reason)| (call.clone(), *reason));
        self.calls.extend(calls);
    }

    /// Drops the lines of files outside the workspace. They are ordinary text, so they are searched
    /// for only near the call that printed them.
    pub(crate) fn drop_outside_lines(&mut self) {
        self.outside_lines.clear();
    }

    /// Returns a piece of a log without what is withheld.
    pub(crate) fn apply(&mut self, scope: &CaptureScope, text: String) -> String {
        let mut mentions = scope.never_captured.mentions(&text);
        if self.is_empty() && !mentions.any_in(0..text.len()) {
            return text;
        }
        if !text.trim_start().starts_with(['{', '[']) {
            return self.filter_plain_text(scope, &text).unwrap_or(text);
        }
        // A document is one value over many lines; a log has one value on each line.
        let is_document = text.lines().next().is_some_and(|line| !is_json(line));
        let units: Vec<&str> = if is_document {
            vec![&text]
        } else {
            text.split_inclusive('\n').collect()
        };
        let mut start = 0;
        let units: Vec<(&str, bool)> = units
            .into_iter()
            .map(|unit| {
                let end = start + unit.len();
                let may_name = mentions.any_in(start..end);
                start = end;
                (unit, may_name)
            })
            .collect();
        for (unit, _) in units.iter().filter(|(_, may_name)| *may_name) {
            self.collect_calls(scope, &JsonOutline::parse(unit));
        }
        let mut kept = String::with_capacity(text.len());
        for (unit, may_name) in units {
            if self.is_empty() && !may_name {
                kept.push_str(unit);
                continue;
            }
            match self.filter_json(scope, unit, 0) {
                Some(unit) => kept.push_str(&unit),
                None => kept.push_str(unit),
            }
        }
        kept
    }

    fn is_empty(&self) -> bool {
        self.credential_lines.is_empty() && self.outside_lines.is_empty() && self.calls.is_empty()
    }

    /// Collects the calls of a line that name never-captured files. Their results follow later.
    fn collect_calls(&mut self, scope: &CaptureScope, outline: &JsonOutline<'_>) {
        for string in &outline.strings {
            let key = outline.key(string);
            let is_arguments = ["arguments", "input", "args", "rawinput", "parameters"]
                .contains(&tools::normalize_key(key).as_str());
            let is_command = tools::is_command_key(key);
            if !is_arguments && !is_command && !tools::is_path_key(key) {
                continue;
            }
            let value = outline.value(string);
            let names_never_captured = if tools::is_path_key(key) {
                scope.is_never_captured(&value)
            } else {
                let tool = if is_command { "bash" } else { "" };
                let mut named = tools::call_files(tool, &value).named.into_iter();
                named.any(|name| scope.names_never_captured(&name))
            };
            if names_never_captured {
                for call in enclosing_call_ids(outline, string.node) {
                    self.calls.insert(call, WithholdReason::Credentials);
                }
            }
        }
    }

    /// Returns JSON without what is withheld, or `None` if nothing is.
    fn filter_json(&self, scope: &CaptureScope, text: &str, depth: usize) -> Option<String> {
        let outline = JsonOutline::parse(text);
        let flags = self.flag_nodes(scope, &outline);
        let mut kept = String::new();
        let mut copied = 0;
        for string in &outline.strings {
            let key = outline.key(string);
            let mut flags_of_string = flags[string.node];
            // The arguments of a withheld call stay; only its answer is replaced.
            if flags_of_string.withheld_answer.is_some()
                && (is_input_key(key)
                    || outline
                        .enclosing(string.node)
                        .any(|node| flags[node].is_input))
            {
                flags_of_string.withheld_answer = None;
            }
            let value = outline.value(string);
            let Some(new) = self.filter_string(scope, flags_of_string, key, &value, depth) else {
                continue;
            };
            kept.push_str(&text[copied..string.range.start]);
            kept.push_str(&serde_json::Value::String(new).to_string());
            copied = string.range.end;
        }
        if copied == 0 {
            return None;
        }
        kept.push_str(&text[copied..]);
        Some(kept)
    }

    /// Decides for each object whether all of its strings are withheld.
    fn flag_nodes(&self, scope: &CaptureScope, outline: &JsonOutline<'_>) -> Vec<NodeFlags> {
        let flags_of_key = |key: &str| NodeFlags {
            is_input: is_input_key(key),
            // Some agents write a map from paths to changes, so the key of an object may be a path.
            names_never_captured: key.contains('.') && scope.is_never_captured(key),
            withheld_answer: None,
        };
        let mut flags: Vec<_> = outline.node_keys().map(flags_of_key).collect();
        for string in &outline.strings {
            let key = outline.key(string);
            if tools::is_path_key(key) && scope.is_never_captured(&outline.value(string)) {
                flags[string.node].names_never_captured = true;
            }
            if is_id_key(key)
                && !self.calls.is_empty()
                && let Some(reason) = self.calls.get(outline.value(string).as_str())
            {
                flags[string.node].withheld_answer = Some(*reason);
            }
        }
        // Parents come before their children, so one pass is enough to inherit the flags.
        for node in 0..flags.len() {
            let Some(parent) = outline.parent(node) else {
                continue;
            };
            let inherited = flags[parent];
            let flags = &mut flags[node];
            flags.names_never_captured |= inherited.names_never_captured;
            if !flags.is_input {
                flags.withheld_answer = flags.withheld_answer.or(inherited.withheld_answer);
            }
        }
        flags
    }

    fn filter_string(
        &self,
        scope: &CaptureScope,
        flags: NodeFlags,
        key: &str,
        value: &str,
        depth: usize,
    ) -> Option<String> {
        if value.trim().is_empty() || is_neutral_key(key, value) {
            return None;
        }
        if let Some(reason) = flags.withheld_answer {
            return Some(placeholder(reason, value.len()));
        }
        if depth < NESTING_MAX
            && tools::parse_json_arguments(value).is_some()
            && let Some(inner) = self.filter_json(scope, value, depth + 1)
        {
            return Some(inner);
        }
        let of_never = flags.names_never_captured;
        let argument = scope.withhold_argument(value, key, of_never, &mut Vec::new());
        let text = argument.as_deref().unwrap_or(value);
        self.filter_plain_text(scope, text).or(argument)
    }

    /// Returns a text without the lines that are withheld, or `None` if it has none.
    fn filter_plain_text(&self, scope: &CaptureScope, text: &str) -> Option<String> {
        if self.repeats_outside(text) {
            return Some(placeholder(WithholdReason::Outside, text.len()));
        }
        let quoted = scope.withhold_quotes(text, &mut Vec::new());
        let text = quoted.as_deref().unwrap_or(text);
        let is_withheld = |line: &str| {
            normalized_line(line).is_some_and(|line| self.credential_lines.contains(line))
        };
        if self.credential_lines.is_empty() || !text.lines().any(is_withheld) {
            return quoted;
        }
        let mut kept = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            if is_withheld(line) {
                let length = line.trim_end().len();
                kept.push_str(&placeholder(WithholdReason::Credentials, length));
                kept.extend(line.ends_with('\n').then_some('\n'));
            } else {
                kept.push_str(line);
            }
        }
        Some(kept)
    }

    /// Says whether most of a text comes from a file outside the workspace that was printed nearby.
    fn repeats_outside(&self, text: &str) -> bool {
        if self.outside_lines.is_empty() || text.len() < SHARED_BYTES_MIN {
            return false;
        }
        let (mut shared, mut whole) = (0, 0);
        for line in text.lines().filter_map(normalized_line) {
            whole += line.len();
            if self.outside_lines.contains(line) {
                shared += line.len();
            }
        }
        shared >= SHARED_BYTES_MIN && shared * 100 >= whole * SHARED_PERCENT_MIN
    }
}

fn add_lines(lines: &mut HashSet<String>, text: &str) {
    for line in text.lines().filter_map(normalized_line) {
        if lines.len() < LINES_MAX {
            lines.insert(line.to_owned());
        }
    }
}

/// Returns a line without its number, diff sign and white space, if it is long enough to be
/// distinctive.
fn normalized_line(line: &str) -> Option<&str> {
    let line = strip_line_number(line).trim();
    let line = line.strip_prefix(['+', '-']).unwrap_or(line).trim();
    let is_text = line.chars().any(char::is_alphanumeric);
    (line.len() >= LINE_BYTES_MIN && is_text).then_some(line)
}

fn is_json(line: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(line.trim()).is_ok()
}

fn is_input_key(key: &str) -> bool {
    let key = tools::normalize_key(key);
    [
        "input", "args", "arguments", "parameters", "rawinput", "toolinput",
    ]
    .contains(&key.as_str())
        || tools::is_command_key(&key)
}

fn is_id_key(key: &str) -> bool {
    tools::normalize_key(key).ends_with("id")
}

/// Says whether a field only describes its object and never holds the text of a file.
fn is_neutral_key(key: &str, value: &str) -> bool {
    let key = tools::normalize_key(key);
    let ends = [
        "id", "at", "time", "timestamp", "type", "name", "status", "role", "model", "kind", "cwd",
        "version", "branch", "language", "uuid",
    ];
    // Some agents list the words of a command as its possible paths, so a path with a newline or an
    // equals sign is not trusted.
    tools::is_path_key(&key) && !value.contains(['\n', '='])
        || ends.iter().any(|end| key.ends_with(end))
        || key == "tool"
}

/// Returns the ids of the call whose arguments contain this node.
fn enclosing_call_ids(outline: &JsonOutline<'_>, node: usize) -> Vec<String> {
    for node in outline.enclosing(node).take(CALL_ID_LEVELS_MAX) {
        let mut ids = Vec::new();
        let (mut id, mut is_named) = (None, false);
        for string in outline.strings.iter().filter(|string| string.node == node) {
            match tools::normalize_key(outline.key(string)).as_str() {
                "callid" | "tooluseid" | "toolcallid" | "toolid" | "functioncallid" => {
                    ids.push(outline.value(string));
                }
                "id" => id = Some(outline.value(string)),
                "name" | "tool" | "toolname" | "function" => is_named = true,
                _ => {}
            }
        }
        // A message also has an id; only a call has the name of a tool as well.
        ids.extend(id.filter(|_| is_named));
        if !ids.is_empty() {
            return ids;
        }
    }
    Vec::new()
}

/// The rules that apply to the strings of one JSON object.
#[derive(Clone, Copy, Debug)]
struct NodeFlags {
    /// The object, or one around it, names a never-captured file.
    names_never_captured: bool,
    /// The object answers a call whose output is withheld.
    withheld_answer: Option<WithholdReason>,
    /// The strings are arguments of a call.
    is_input: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_KEPT: &str = "[not kept: a file that holds credentials, ";

    #[track_caller]
    fn check(log: &str, gone: &[&str], stays: &[&str]) {
        let kept = LogFilter::default().apply(&CaptureScope::default(), log.to_owned());
        for line in kept.lines().filter(|_| !log.starts_with("{\n")) {
            assert!(is_json(line), "{line}");
        }
        for text in gone {
            assert!(!kept.contains(text), "{text} is still in\n{kept}");
        }
        for text in stays {
            assert!(kept.contains(text), "{text} is missing from\n{kept}");
        }
        assert!(kept.contains(NOT_KEPT), "{kept}");
        assert_eq!(kept.lines().count(), log.lines().count());
    }

    #[test]
    fn the_result_of_a_withheld_call_is_replaced() {
        check(
            concat!(
                r#"{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","#,
                r#""id":"toolu_1","name":"Bash","input":{"command":"cat .env"}}]}}"#,
                "\n",
                r#"{"type":"user","uuid":"u","message":{"content":[{"tool_use_id":"toolu_1","#,
                r#""type":"tool_result","content":"FOO=marker\nX=1"}]},"toolUseResult":"n"}"#,
                "\n",
            ),
            &["marker"],
            &["cat .env", "toolu_1", r#""uuid":"u""#],
        );
        check(
            concat!(
                r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","#,
                r#""arguments":"{\"command\":[\"bash\",\"-lc\",\"sed -n 4p ./.env\"]}","#,
                r#""call_id":"call_1"}}"#,
                "\n",
                r#"{"type":"event_msg","payload":{"type":"exec_command_end","call_id":"call_1","#,
                r#""aggregated_output":"FOO=marker\n"}}"#,
                "\n",
                r#"{"type":"response_item","payload":{"type":"function_call_output","#,
                r#""call_id":"call_1","output":"{\"output\":\"FOO=marker\"}"}}"#,
                "\n",
            ),
            &["marker"],
            &["sed -n 4p", "exec_command_end"],
        );
    }

    #[test]
    fn strings_beside_a_withheld_path_are_replaced() {
        check(
            concat!(
                r#"{"a":"keep this","toolUseResult":{"type":"text","file":{"#,
                r#""content":"FOO=marker","filePath":"/p/.env","numLines":1}}}"#,
            ),
            &["marker"],
            &["keep this", "/p/.env", "\"numLines\":1"],
        );
        check(
            concat!(
                r#"{"payload":{"type":"patch_apply_begin","call_id":"c","changes":{"/p/.env":{"#,
                r#""add":{"content":"FOO=marker"}},"/p/a.rs":{"add":{"content":"keep"}}}}}"#,
            ),
            &["marker"],
            &["keep"],
        );
        check(
            r#"{"tool":"Write","input":"{\"file_path\":\".env\",\"content\":\"FOO=marker\"}"}"#,
            &["marker"],
            &["file_path"],
        );
        check(
            "{\n  \"messages\": [\n    {\"path\": \".env\", \"text\": \"FOO=marker\"}\n  ]\n}\n",
            &["marker"],
            &["\"messages\": ["],
        );
    }

    #[test]
    fn a_command_that_writes_a_withheld_file_is_replaced() {
        check(
            concat!(
                r#"{"id":"t1","name":"Bash","input":{"command":"cat > .env "#,
                r#"<<EOF\nFOO=marker\nEOF","description":"write it"}}"#,
            ),
            &["marker"],
            &["write it"],
        );
    }

    #[test]
    fn copies_of_a_withheld_text_are_replaced() {
        let mut filter = LogFilter::default();
        filter.add_credentials("     1→FOO=marker\n     2→BAR=other");
        filter.add_outside("first line of the file\nsecond line of the file");
        let log = concat!(
            r#"{"a":"said:\nFOO=marker\nend","b":"first line of the file\nsecond line of "#,
            r#"the file","c":"a long text that says: first line of the file"}"#,
            "\n"
        );
        assert_eq!(
            filter.apply(&CaptureScope::default(), log.to_owned()),
            concat!(
                r#"{"a":"said:\n[not kept: a file that holds credentials, 10 bytes]\nend","b":"["#,
                r#"not kept: a file outside the workspace, 46 bytes]","#,
                r#""c":"a long text that says: first line of the file"}"#,
                "\n"
            )
        );
    }

    #[test]
    fn other_lines_keep_every_byte() {
        let log =
            "{\"text\" : \"self.key = 1\\n\", \"n\":1e3 , \"u\":\"\\u00e9\\/\"}\n{\"torn\":\"x";
        let kept = LogFilter::default().apply(&CaptureScope::default(), log.to_owned());
        assert_eq!(kept, log);
    }
}
