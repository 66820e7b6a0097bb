//! Recognises our entries in a configuration file, whichever release wrote them.

use serde_json::Value;

use super::json::edit::JsonPathStep;

/// The name of our MCP server.
pub(crate) const SERVER: &str = "throughline";
/// The members in which agents list MCP servers.
pub(crate) const SERVER_LISTS: &[&str] = &["mcpServers", "mcp"];
/// The members in which agents name the command of a hook.
const COMMAND_KEYS: &[&str] = &["command", "bash", "powershell"];

/// The list of tools that an agent uses without asking the user.
pub(crate) const ALLOW_LIST: &[&str] = &["permissions", "allow"];
/// Our tools that only read.
pub(crate) const READ_ONLY_TOOLS: &[&str] = &[
    "memory_search", "memory_get", "memory_context", "memory_stats",
];

/// Returns the name under which agents know one of our tools.
pub(crate) fn qualified_tool_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// Returns those of our tools that the file allows, by their full names.
pub(crate) fn allowed_tools(root: &Value) -> Vec<String> {
    let list = root["permissions"]["allow"].as_array();
    let names = list.into_iter().flatten().filter_map(Value::as_str);
    names
        .filter(|name| is_our_tool(name))
        .map(str::to_owned)
        .collect()
}

/// Finds our tools in the list of allowed tools. The last ones come first, so that removing one
/// does not move the others.
pub(crate) fn allowed_tool_indexes(root: &Value) -> Vec<usize> {
    let list = root["permissions"]["allow"].as_array();
    let items = list.into_iter().flatten().enumerate();
    let ours = items.filter(|(_, item)| item.as_str().is_some_and(is_our_tool));
    let mut indexes: Vec<_> = ours.map(|(index, _)| index).collect();
    indexes.reverse();
    indexes
}

/// Returns whether a permission is for one of our tools.
pub(crate) fn is_our_tool(name: &str) -> bool {
    READ_ONLY_TOOLS
        .iter()
        .any(|tool| qualified_tool_name(tool) == name)
}

/// One of our hooks in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InstalledHook {
    pub(crate) event: String,
    pub(crate) command: String,
    /// What to remove: the handler, or its group if the group contains nothing else.
    pub(crate) path: Vec<JsonPathStep>,
}

/// Finds our hooks. The last ones come first, so that removing one does not move the others.
pub(crate) fn find_our_hooks(root: &Value) -> Vec<InstalledHook> {
    let mut found = Vec::new();
    for (event, groups) in root["hooks"].as_object().into_iter().flatten() {
        let path = [
            JsonPathStep::Key("hooks".to_owned()),
            JsonPathStep::Key(event.clone()),
        ];
        let groups = groups.as_array().into_iter().flatten().enumerate();
        for (index, group) in groups.collect::<Vec<_>>().into_iter().rev() {
            let path: Vec<_> = path
                .iter()
                .cloned()
                .chain([JsonPathStep::Index(index)])
                .collect();
            find_in_group(event, group, &path, &mut found);
        }
    }
    found
}

fn find_in_group(
    event: &str,
    group: &Value,
    path: &[JsonPathStep],
    found: &mut Vec<InstalledHook>,
) {
    let hook = |command: &str, path: Vec<JsonPathStep>| InstalledHook {
        event: event.to_owned(),
        command: command.to_owned(),
        path,
    };
    if let Some(command) = hook_command(group) {
        found.push(hook(command, path.to_vec()));
    }
    let Some(handlers) = group["hooks"].as_array() else {
        return;
    };
    let ours: Vec<_> = handlers.iter().map(hook_command).collect();
    if ours.len() == 1
        && let Some(command) = ours[0]
    {
        found.push(hook(command, path.to_vec()));
        return;
    }
    for (index, command) in ours.iter().enumerate().rev() {
        if let Some(command) = command {
            let inner = [
                JsonPathStep::Key("hooks".to_owned()),
                JsonPathStep::Index(index),
            ];
            let path = path.iter().cloned().chain(inner).collect();
            found.push(hook(command, path));
        }
    }
}

/// Returns the command of a handler that runs our hook.
fn hook_command(handler: &Value) -> Option<&str> {
    COMMAND_KEYS
        .iter()
        .filter_map(|key| handler[*key].as_str())
        .find(|command| runs_our_hook(command))
}

/// Returns whether a command line is `throughline hook`, with any path to the program.
pub(crate) fn runs_our_hook(command: &str) -> bool {
    let (program, rest) = first_word(command.trim_start().trim_start_matches("& "));
    is_our_program(program) && rest.split_whitespace().next() == Some("hook")
}

/// Returns whether a server is started with our program.
pub(crate) fn is_our_server(server: &Value) -> bool {
    let command = &server["command"];
    let program = command.as_str().or_else(|| command[0].as_str());
    program.is_some_and(is_our_program)
}

fn is_our_program(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name == "throughline" || name == "throughline.exe"
}

/// Splits off the first word of a command line, which may be quoted.
fn first_word(line: &str) -> (&str, &str) {
    for quote in ['\'', '"'] {
        if let Some(quoted) = line.strip_prefix(quote)
            && let Some((word, rest)) = quoted.split_once(quote)
        {
            return (word, rest);
        }
    }
    line.split_once(char::is_whitespace).unwrap_or((line, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_hook_is_recognised_by_program_and_argument() {
        for ours in [
            "throughline hook",
            "  throughline   hook --agent codex",
            "/opt/bin/throughline hook",
            "'/home/a b/throughline' hook",
            "\"C:\\Program Files\\throughline.exe\" hook --agent copilot",
            "& 'C:\\x y\\throughline.exe' hook",
        ] {
            assert!(runs_our_hook(ours), "{ours}");
        }
        for other in [
            "throughline search hook", "throughline-hook", "mythroughline hook",
            "echo throughline hook", "",
        ] {
            assert!(!runs_our_hook(other), "{other}");
        }
    }

    #[test]
    fn a_group_is_removed_only_if_it_has_no_other_handler() {
        let handler = json!({"type": "command", "command": "throughline hook"});
        let other = json!({"type": "command", "command": "lint"});
        let root = json!({"hooks": {
            "Stop": [{"hooks": [other, handler]}, {"hooks": [handler]}],
            "sessionStart": [{"bash": "throughline hook --event sessionStart"}],
        }});
        let paths: Vec<_> = find_our_hooks(&root)
            .into_iter()
            .map(|found| (found.event, found.path.len(), found.path[2].clone()))
            .collect();
        let expected = [
            ("Stop".to_owned(), 3, JsonPathStep::Index(1)),
            ("Stop".to_owned(), 5, JsonPathStep::Index(0)),
            ("sessionStart".to_owned(), 3, JsonPathStep::Index(0)),
        ];
        assert_eq!(paths, expected);
    }
}
