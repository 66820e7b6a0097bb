//! Restores context next to the summary: files in use, the todo list, the plan.

use std::collections::HashSet;

use memory::tokens::estimate;
use memory::{Block, CallId, Message, Tokens, ToolResult, ToolUse, summary};
use serde::Serialize;
use serde_json::Value;

use super::limits::RestoreLimits;

/// The context to restore.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RestoredContext {
    /// The most recently used file is first.
    pub files: Vec<RestoredFile>,
    pub todos: Vec<TodoItem>,
    pub plan: Option<String>,
    /// Files that the conversation may need next; they are only named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pointers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredFile {
    pub path: String,
    /// The content as it was last read; `None` if it changed since or was read only in part.
    pub content: Option<String>,
    /// The last change or failure, from the session's working memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
}

/// What the working memory of a session knows about its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RememberedFiles {
    /// The last used files, with the last change or failure where there is one. Paths are relative
    /// to the folder of the session where possible.
    pub used: Vec<(String, Option<String>)>,
    /// Other files that the session may need next.
    pub pointers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TodoItem {
    pub text: String,
    pub status: String,
}

/// Arguments with which tools read a part of a file.
#[rustfmt::skip]
const RANGE_ARGUMENTS: &[&str] = &[
    "offset", "limit", "view_range", "start_line", "end_line", "line_start", "line_end", "ranges",
];

impl RestoredContext {
    /// Takes the last used files, todos and plan from the replaced messages, unless the kept ones
    /// contain them. It walks back only until everything is found.
    pub fn from_messages(cut: &[Message], kept: &[Message], limits: &RestoreLimits) -> Self {
        let shown: HashSet<&str> = results(kept)
            .flat_map(|result| touched_paths(result))
            .collect();
        let mut search = RestoreSearch {
            shown,
            files_max: limits.files,
            todos: calls(kept).rev().find_map(todo_list).map(|_| Vec::new()),
            plan: calls(kept).rev().find_map(plan_text).map(|_| None),
            ..RestoreSearch::default()
        };
        let blocks = cut
            .iter()
            .rev()
            .flat_map(|message| message.blocks.iter().rev());
        for block in blocks {
            match block {
                Block::ToolUse(call) => search.add_call(call),
                Block::ToolResult(result) if !result.is_error => search.add_result(result),
                _ => {}
            }
            if search.is_complete() {
                break;
            }
        }
        search.finish()
    }

    /// Adds what working memory knows: cards of files whose content is not restored, and the files
    /// that the messages do not name.
    pub fn add_remembered(&mut self, remembered: &RememberedFiles, kept: &[Message]) {
        let shown: Vec<&str> = results(kept).flat_map(touched_paths).collect();
        for (path, card) in &remembered.used {
            let known = self
                .files
                .iter_mut()
                .find(|file| is_same_file(&file.path, path));
            match known {
                Some(file) if file.content.is_none() => file.card.clone_from(card),
                Some(_) => {}
                None if shown.iter().any(|shown| is_same_file(shown, path)) => {}
                None => self.files.push(RestoredFile {
                    path: path.clone(),
                    content: None,
                    card: card.clone(),
                }),
            }
        }
        let is_named = |path: &String| {
            let mut named = self.files.iter().map(|file| file.path.as_str());
            named.any(|named| is_same_file(named, path))
                || shown.iter().any(|shown| is_same_file(shown, path))
        };
        let pointers = remembered.pointers.iter().filter(|path| !is_named(path));
        self.pointers = pointers.cloned().collect();
    }

    /// Returns the context as text within the limits, or `None` if it is empty.
    pub fn to_text(&self, limits: &RestoreLimits) -> Option<String> {
        let mut budget = TextBudget {
            left: limits.tokens.0,
            text: String::new(),
        };
        if let Some(plan) = &self.plan {
            let half = Tokens(limits.tokens.0 / 2);
            let plan = if estimate(plan) > half {
                summary::truncate_text(plan, half, "the transcript")
            } else {
                plan.clone()
            };
            budget.add(&format!("The plan:\n{}\n\n", fenced_code(&plan)));
        }
        if !self.todos.is_empty() && budget.add("The todo list:\n") {
            for todo in &self.todos {
                let text = todo.text.replace('\n', " ");
                if !budget.add(&format!("- [{}] {text}\n", todo.status)) {
                    break;
                }
            }
        }
        for file in self.files.iter().take(limits.files) {
            let whole = file.content.as_ref().filter(|content| {
                estimate(content) <= limits.file_tokens && !content.trim().is_empty()
            });
            let shown = whole.is_some_and(|content| {
                let path = &file.path;
                budget.add(&format!(
                    "\nThe file {path} as it was read:\n{}\n",
                    fenced_code(content)
                ))
            });
            let note = format!("\nThe file {} was in use; read it again.", file.path);
            let card = file.card.as_ref().filter(|_| !shown);
            let shown = shown
                || card.is_some_and(|card| {
                    budget.add(&format!(
                        "{note} What is known of it:\n{}\n",
                        fenced_code(card)
                    ))
                });
            if !shown {
                budget.add(&format!("{note}\n"));
            }
        }
        if !self.pointers.is_empty() {
            let pointers = self.pointers.join(", ");
            budget.add(&format!("\nOther files that may be needed: {pointers}\n"));
        }
        let text = budget.text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

struct TextBudget {
    left: u64,
    text: String,
}

impl TextBudget {
    /// Appends a part if it fits, and says whether it did.
    fn add(&mut self, part: &str) -> bool {
        let size = estimate(part).0;
        let fits = size <= self.left;
        if fits {
            self.left -= size;
            self.text.push_str(part);
        }
        fits
    }
}

/// Encloses a text in a code fence that is longer than any run of backticks in it.
fn fenced_code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest.max(2) + 1);
    format!("{marks}\n{}\n{marks}", text.trim_end())
}

/// The state of the walk back through the replaced messages.
#[derive(Default)]
struct RestoreSearch<'a> {
    shown: HashSet<&'a str>,
    files_max: usize,
    files: Vec<RestoredFile>,
    /// Read files whose call is still to be found; its arguments say whether the whole file was
    /// read.
    reads: Vec<(&'a CallId, usize)>,
    todos: Option<Vec<TodoItem>>,
    plan: Option<Option<String>>,
}

impl<'a> RestoreSearch<'a> {
    fn is_complete(&self) -> bool {
        let files = self.files.len() >= self.files_max && self.reads.is_empty();
        files && self.todos.is_some() && self.plan.is_some()
    }

    fn add_result(&mut self, result: &'a ToolResult) {
        for path in touched_paths(result) {
            let known = self.shown.contains(path) || self.files.iter().any(|f| f.path == path);
            if known || self.files.len() >= self.files_max {
                continue;
            }
            let reads = is_read_tool(result.tool.as_deref().unwrap_or_default());
            let call = result.call.as_ref();
            let call = call.filter(|_| reads && result.changes.is_empty());
            self.reads.extend(call.map(|call| (call, self.files.len())));
            self.files.push(RestoredFile {
                path: path.to_owned(),
                content: call.map(|_| result.content.clone()),
                card: None,
            });
        }
    }

    fn add_call(&mut self, call: &'a ToolUse) {
        if self.todos.is_none() {
            self.todos = todo_list(call);
        }
        if self.plan.is_none() {
            self.plan = plan_text(call).map(Some);
        }
        let is_part = || {
            RANGE_ARGUMENTS
                .iter()
                .any(|name| has_parameter(&call.input, name))
        };
        let files = &mut self.files;
        self.reads.retain(|(id, file)| {
            let is_read_call = **id == call.call;
            if is_read_call && is_part() {
                files[*file].content = None;
            }
            !is_read_call
        });
    }

    fn finish(mut self) -> RestoredContext {
        // A result without its call may be a part of the file.
        for (_, file) in &self.reads {
            self.files[*file].content = None;
        }
        RestoredContext {
            files: self.files,
            todos: self.todos.unwrap_or_default(),
            plan: self.plan.flatten(),
            pointers: Vec::new(),
        }
    }
}

/// Says whether two paths name the same file; one may be relative to a folder of the other.
fn is_same_file(a: &str, b: &str) -> bool {
    let ends_with = |long: &str, short: &str| {
        let folder = long.strip_suffix(short);
        folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    };
    ends_with(a, b) || ends_with(b, a)
}

/// Says whether JSON arguments contain a parameter, without parsing them.
fn has_parameter(input: &str, parameter: &str) -> bool {
    input.contains(&format!("\"{parameter}\""))
}

fn is_read_tool(tool: &str) -> bool {
    let is = |name: &str| tool.eq_ignore_ascii_case(name);
    contains_ignoring_case(tool, "read")
        || contains_ignoring_case(tool, "view")
        || is("cat")
        || is("open")
}

/// Says whether a name contains a word, in any letter case.
fn contains_ignoring_case(name: &str, word: &str) -> bool {
    let mut windows = name.as_bytes().windows(word.len());
    windows.any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

fn touched_paths(result: &ToolResult) -> Vec<&str> {
    let changed = result.changes.iter().map(|change| change.path.as_str());
    let mut paths: Vec<_> = changed.collect();
    if paths.is_empty() {
        paths.extend(result.path.as_deref());
    }
    paths
}

fn results(messages: &[Message]) -> impl DoubleEndedIterator<Item = &ToolResult> {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    blocks.filter_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    })
}

fn calls(messages: &[Message]) -> impl DoubleEndedIterator<Item = &ToolUse> {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    blocks.filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    })
}

/// Parses the list of a todo or planning tool, by the argument names that agents use.
fn todo_list(call: &ToolUse) -> Option<Vec<TodoItem>> {
    let input = planning_arguments(call)?;
    let lists = ["todos", "plan", "items", "tasks"];
    let list = lists.iter().find_map(|name| input.get(name)?.as_array())?;
    let text = |todo: &Value| {
        let names = ["content", "step", "text", "title", "description"];
        let text = names.iter().find_map(|name| todo.get(name)?.as_str());
        text.map(str::to_owned)
    };
    let todo = |todo: &Value| {
        Some(TodoItem {
            text: text(todo)?,
            status: todo
                .get("status")
                .and_then(Value::as_str)
                .unwrap_or("open")
                .to_owned(),
        })
    };
    Some(list.iter().filter_map(todo).collect())
}

fn plan_text(call: &ToolUse) -> Option<String> {
    let plan = planning_arguments(call)?
        .get("plan")?
        .as_str()?
        .trim()
        .to_owned();
    (!plan.is_empty()).then_some(plan)
}

fn planning_arguments(call: &ToolUse) -> Option<Value> {
    if !contains_ignoring_case(&call.tool, "todo") && !contains_ignoring_case(&call.tool, "plan") {
        return None;
    }
    serde_json::from_str(&call.input).ok()
}

#[cfg(test)]
mod tests {
    use memory::FileModification;
    use testkit::transcript::transcript;

    use super::*;

    /// Returns a conversation that reads a file, changes one and makes a plan.
    fn messages() -> Vec<Message> {
        let mut messages = transcript(
            "a use #1 Read\nu result #1 Read\na use #2 Edit\nu result #2 Edit\na use #3 Read\n\
             u result #3 Read\na use #4 TodoWrite\nu result #4\na use #5 ExitPlanMode\nu result #5",
        );
        let inputs = [
            (0, r#"{"file_path":"/p/a.rs"}"#),
            (4, r#"{"file_path":"/p/b.rs","offset":3}"#),
            (
                6,
                r#"{"todos":[{"content":"sort","status":"completed"},{"content":"test it"}]}"#,
            ),
            (8, r#"{"plan":"1. sort\n2. test"}"#),
        ];
        for (place, text) in inputs {
            if let Block::ToolUse(call) = &mut messages[place].blocks[0] {
                call.input = text.to_owned();
            }
        }
        for (place, path) in [(1, "/p/a.rs"), (3, "/p/c.rs"), (5, "/p/b.rs")] {
            if let Block::ToolResult(result) = &mut messages[place].blocks[0] {
                result.path = Some(path.to_owned());
                result.content = format!("fn of_{place}() {{}}\n```");
                if place == 3 {
                    result.changes = vec![FileModification {
                        path: path.to_owned(),
                        diff: "+x".to_owned(),
                    }];
                }
            }
        }
        messages
    }

    #[test]
    fn files_todos_and_plan_come_from_the_messages() {
        let messages = messages();
        let restored = RestoredContext::from_messages(&messages, &[], &RestoreLimits::default());
        insta::assert_snapshot!(restored.to_text(&RestoreLimits::default()).unwrap(), @r#"
    The plan:
    ```
    1. sort
    2. test
    ```

    The todo list:
    - [completed] sort
    - [open] test it

    The file /p/b.rs was in use; read it again.

    The file /p/c.rs was in use; read it again.

    The file /p/a.rs as it was read:
    ````
    fn of_1() {}
    ```
    ````
    "#);
    }

    #[test]
    fn what_is_kept_is_not_restored() {
        let messages = messages();
        let restored = RestoredContext::from_messages(
            &messages[..4],
            &messages[4..],
            &RestoreLimits::default(),
        );
        let paths: Vec<_> = restored
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(paths, ["/p/c.rs", "/p/a.rs"]);
        assert_eq!((restored.todos.len(), restored.plan), (0, None));
        let all = RestoredContext::from_messages(&messages, &messages, &RestoreLimits::default());
        assert_eq!(all.to_text(&RestoreLimits::default()), None);
    }

    #[test]
    fn working_memory_completes_what_the_messages_mention() {
        let messages = messages();
        let (cut, kept) = messages.split_at(4);
        let limits = RestoreLimits::default();
        let mut restored = RestoredContext::from_messages(cut, kept, &limits);
        let file = |path: &str, card: Option<&str>| (path.to_owned(), card.map(str::to_owned));
        restored.add_remembered(
            &RememberedFiles {
                used: vec![
                    file("b.rs", Some("in the kept messages")),
                    file("c.rs", Some("last change:\n+ total")),
                    file("a.rs", Some("its content is restored")),
                    file("other.rs", None),
                ],
                pointers: vec!["c.rs".to_owned(), "next.rs".to_owned()],
            },
            kept,
        );
        insta::assert_snapshot!(restored.to_text(&limits).unwrap(), @r"
        The file /p/c.rs was in use; read it again. What is known of it:
        ```
        last change:
        + total
        ```

        The file /p/a.rs as it was read:
        ````
        fn of_1() {}
        ```
        ````

        The file other.rs was in use; read it again.

        Other files that may be needed: next.rs
        ");
    }

    #[test]
    fn the_budget_holds() {
        let file = |path: &str, words: usize| RestoredFile {
            path: path.to_owned(),
            content: Some("word ".repeat(words)),
            card: None,
        };
        let restored = RestoredContext {
            files: vec![
                file("/a", 900),
                file("/b", 100),
                file("/c", 5_000),
                file("/d", 1),
            ],
            todos: vec![
                TodoItem {
                    text: "long ".repeat(300),
                    status: "open".into()
                };
                9
            ],
            plan: Some("step\n".repeat(4_000)),
            pointers: vec!["/d".repeat(2_000)],
        };
        for tokens in [0, 1, 10, 100, 1_000, 4_000] {
            let limits = RestoreLimits {
                tokens: Tokens(tokens),
                files: 3,
                file_tokens: Tokens(1_000),
            };
            let text = restored.to_text(&limits).unwrap_or_default();
            // The sum over the parts may differ slightly from the estimate of the whole.
            assert!(
                estimate(&text).0 <= tokens + tokens / 50,
                "{tokens}: {text}"
            );
            assert!(!text.contains("/d"));
        }
    }
}
