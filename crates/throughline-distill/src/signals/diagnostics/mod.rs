//! Names the problems that the output of a failed command reports.
//!
//! A command fails for several reasons at once, so [`diagnostics`] returns a set. Each line is
//! tried against a table of small [`Reader`]s, one per form of message, each with its own
//! examples. Lines that only say that something failed ([`wrappers`]) name nothing. If no reader
//! knows a line, the most informative line itself becomes the name.

mod build_tools;
mod git;
mod jvm;
mod native;
mod python;
mod rust;
mod scripting;
mod systems;
mod web;
mod wrappers;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use memory::fingerprint::normalized_line;
use regex::{Captures, Regex, bytes};

use self::wrappers::{is_wrapper, reports_error};

/// A failed command has at most this many names.
const NAMES_MAX: usize = 32;
/// The number of bytes that are read at either end of an output.
const SCANNED_BYTES: usize = 16 << 10;
/// The rest of a longer line does not help to name the problem.
const LINE_BYTES_MAX: usize = 600;
/// A line has at most this many prefixes of task runners and CI services.
const PREFIXES_MAX: usize = 4;
/// A message that becomes part of a name is cut after this many words.
const NAME_WORDS_MAX: usize = 14;
/// The prefix of names that no reader produced.
pub const UNREAD: &str = "other/";

/// Recognizes one form of message.
struct Reader {
    pattern: &'static str,
    /// The name, with `$1` for a captured word, `$msg` for a captured message in its normalized
    /// form, `$path` for a path without what differs between machines, and `$rule` for a lint.
    name: &'static str,
    /// Lines with the names they must get.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests run the examples"))]
    examples: &'static [(&'static str, &'static str)],
}

/// Returns a reader.
const fn reader(
    pattern: &'static str,
    name: &'static str,
    examples: &'static [(&'static str, &'static str)],
) -> Reader {
    Reader {
        pattern,
        name,
        examples,
    }
}

/// The readers by priority: the first that knows a line names it.
const TABLES: &[&[Reader]] = &[
    rust::READERS,
    web::READERS,
    python::READERS,
    jvm::READERS,
    native::READERS,
    scripting::READERS,
    build_tools::READERS,
    git::READERS,
    systems::READERS,
    python::EXCEPTIONS,
];

/// All readers as one automaton, and each of them once a line has needed it.
struct CompiledReaders {
    set: bytes::RegexSet,
    readers: Vec<(&'static Reader, OnceLock<Option<Regex>>)>,
}

/// The automaton is built as it is needed, up to this size. A smaller one would be thrown away and
/// built again for each output.
const AUTOMATON_BYTES_MAX: usize = 16 << 20;

static READERS: LazyLock<CompiledReaders> =
    LazyLock::new(|| CompiledReaders::new(TABLES.iter().copied().flatten().collect()));

impl CompiledReaders {
    /// Compiles readers. One whose pattern is not valid is reported and left out.
    fn new(mut readers: Vec<&'static Reader>) -> Self {
        let set = reader_set(&readers).unwrap_or_else(|_| {
            readers.retain(|reader| match reader_set(&[reader]) {
                Ok(_) => true,
                Err(error) => {
                    tracing::error!(name = reader.name, %error, "invalid pattern of a reader");
                    false
                }
            });
            reader_set(&readers).unwrap_or_else(|error| {
                tracing::error!(%error, "cannot compile the patterns of the readers");
                bytes::RegexSet::empty()
            })
        });
        let readers = readers.into_iter();
        Self {
            set,
            readers: readers.map(|reader| (reader, OnceLock::new())).collect(),
        }
    }

    fn read_line(&self, line: &str) -> Option<Diagnostic> {
        let mut matching = self.set.matches(line.as_bytes()).into_iter();
        matching.find_map(|at| {
            let (reader, regex) = self.readers.get(at)?;
            let regex = regex.get_or_init(|| Regex::new(reader.pattern).ok());
            let captures = regex.as_ref()?.captures(line)?;
            Some(Diagnostic {
                name: expand_name(reader.name, &captures),
                line: line.to_owned(),
            })
        })
    }
}

/// Compiles patterns to one automaton. Messages of programs are ASCII where it matters, and ASCII
/// classes keep the automaton small.
fn reader_set(readers: &[&Reader]) -> Result<bytes::RegexSet, regex::Error> {
    bytes::RegexSetBuilder::new(readers.iter().map(|reader| reader.pattern))
        .unicode(false)
        .dfa_size_limit(AUTOMATON_BYTES_MAX)
        .build()
}

/// A named problem with the line that reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub name: String,
    pub line: String,
}

/// Returns the problems that the output of a failed command reports, in the order of their names.
pub fn diagnostics(output: &str) -> Vec<Diagnostic> {
    let text = both_ends(output);
    let lines: Vec<String> = text.lines().map(plain_line).collect();
    let mut found: BTreeMap<String, Diagnostic> = BTreeMap::new();
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let Some(diagnostic) = READERS.read_line(line) else {
            continue;
        };
        if found.len() >= NAMES_MAX {
            break;
        }
        found.entry(diagnostic.name.clone()).or_insert(diagnostic);
    }
    if found.is_empty() {
        return unread_line(&lines).into_iter().collect();
    }
    let names: Vec<String> = found.keys().cloned().collect();
    found.retain(|name, _| !is_redundant(name, &names));
    found.into_values().collect()
}

/// Names of steps that fail because of something else. They count only if nothing else is known.
const STEPS: &[&str] = &[
    "cargo/failed to select a version",
    "docker/build-failed",
    "elixir/CompileError",
    "gh/run-failed",
    "git/hook-failed",
    "git/push-rejected",
    "net/no-connection",
    "rustc/linking",
    "shell/permission-denied",
    "shell/segfault",
];

/// Says whether a name only repeats that a step failed for which `names` have the reason.
fn is_redundant(name: &str, names: &[String]) -> bool {
    let mut others = names.iter().filter(|other| other.as_str() != name);
    if let Some((tool, "failed" | "error")) = name.split_once('/') {
        // A failed test says less than the exception that it reports.
        let is_of_tool = |other: &String| {
            let reporter = other.split('/').next();
            reporter == Some(tool) || reporter == Some("exception") || reporter == Some("ruby")
        };
        return others.any(is_of_tool);
    }
    is_step(name) && others.any(|other| !is_step(other))
}

fn is_step(name: &str) -> bool {
    let (tool, step) = name.split_once('/').unwrap_or((name, ""));
    match tool {
        // A goal of a plugin, as opposed to an error of Maven itself.
        "maven" => step.contains(':'),
        "gradle" | "http" => true,
        "cmake" => !step.starts_with("missing-package"),
        // These hooks report nothing but their own name.
        "pre-commit" => !["trailing-", "end-of-", "check-", "mixed-", "detect-", "no-"]
            .iter()
            .any(|own| step.starts_with(own)),
        _ => STEPS.contains(&name),
    }
}

/// Fills the template of a name. A captured word loses what differs from place to place.
fn expand_name(template: &str, captures: &Captures<'_>) -> String {
    let mut name = template.to_owned();
    if let Some(message) = captures.name("msg") {
        let message = without_quotations(message.as_str());
        name = name.replace("$msg", &short_message(&message));
    }
    if let Some(rule) = captures.name("rule") {
        // Rust writes the same lint with hyphens on the command line and with underscores in code.
        name = name.replace("$rule", &rule.as_str().replace('-', "_"));
    }
    if let Some(path) = captures.name("path") {
        name = name.replace("$path", &relative_path(path.as_str()));
    }
    for at in (1..captures.len()).rev() {
        // Of several alternatives one is captured; the others add nothing.
        let word = captures.get(at).map_or("", |word| word.as_str());
        name = name.replace(&format!("${at}"), word);
    }
    name
}

/// Returns the words of a message that do not depend on place and time.
fn short_message(message: &str) -> String {
    let normal = normalized_line(message);
    let words: Vec<_> = normal.split(' ').take(NAME_WORDS_MAX).collect();
    words.join(" ")
}

/// Returns a path without the folders above the checkout, as far as they can be recognized.
fn relative_path(path: &str) -> String {
    let path = path.trim_matches(|c: char| "'\"`:,.".contains(c) && c != '.');
    let absolute = path.starts_with('/') || path.starts_with('~');
    if !absolute {
        return path.strip_prefix("./").unwrap_or(path).to_owned();
    }
    // The folders of an absolute path differ from machine to machine; its end names the file.
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

/// Returns the most informative line that no reader knows, as a name.
fn unread_line(lines: &[String]) -> Option<Diagnostic> {
    let line = lines
        .iter()
        .find(|line| reports_error(line) && !is_wrapper(line))?;
    let message = short_message(&without_quotations(line));
    let words = message.split(' ').filter(|word| !word.starts_with('<'));
    // A line of placeholders and one word would join unrelated problems.
    (words.filter(|word| word.len() > 2).count() >= 3).then(|| Diagnostic {
        name: format!("{UNREAD}{message}"),
        line: line.clone(),
    })
}

/// Removes quoted names, which differ from case to case. An apostrophe inside a word is no
/// quotation mark.
fn without_quotations(line: &str) -> Cow<'_, str> {
    static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(^|[\s(\[:=])(?:'[^']{1,80}'|"[^"]{1,80}"|`[^`]{1,80}`)"#).ok()
    });
    let quoted = QUOTED.as_ref();
    quoted.map_or(line.into(), |quoted| quoted.replace_all(line, "${1}"))
}

fn both_ends(text: &str) -> String {
    if text.len() <= 2 * SCANNED_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(SCANNED_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - SCANNED_BYTES)..];
    format!("{head}\n{tail}")
}

/// Returns a line without terminal escapes, the prefixes of task runners and CI services, and white
/// space at its end. Typographic quotation marks become plain ones.
fn plain_line(line: &str) -> String {
    static ESCAPES: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]|</tool_use_error>$").ok());
    static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^(?:\s*\[[\w:./@-]{1,30}\] |<tool_use_error>|(?:#\d+ )?\d+\.\d{3} |",
            // Turborepo and pnpm name the package and its script.
            r"(?:[\w@/-]+:|[\w@.-]+/[\w@/.-]+ )(?:build|check|dev|lint|test|type)[\w:-]*: +|",
            // GitHub Actions: a log as it is stored, a log from `gh run view`, and an annotation.
            r"(?:[^\t]{1,80}\t[^\t]{1,80}\t)?\u{feff}?\d{4}-\d\d-\d\dT[\d:]{8}\.\d{7}Z |",
            r"##\[(?:error|warning)\]|::(?:error|warning)(?: [^:]+)?::|",
            // Docker Compose names the container.
            r"[a-z][\w.-]*-\d+ +\| )",
        ))
        .ok()
    });
    let cut = &line[..line.floor_char_boundary(LINE_BYTES_MAX)];
    let plain = ESCAPES
        .as_ref()
        .map_or(cut.into(), |escapes| escapes.replace_all(cut, ""));
    let plain = plain.replace(['‘', '’'], "'").replace(['“', '”'], "\"");
    let mut rest = plain.as_str();
    for _ in 0..PREFIXES_MAX {
        let Some(prefix) = PREFIX.as_ref().and_then(|prefix| prefix.find(rest)) else {
            break;
        };
        rest = &rest[prefix.end()..];
    }
    rest.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(output: &str) -> Vec<String> {
        let found = diagnostics(output).into_iter();
        found.map(|diagnostic| diagnostic.name).collect()
    }

    #[test]
    fn a_failed_step_is_no_name_if_its_reason_is_known() {
        let goal = "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:\
                    3.11.0:compile (default-compile) on project shop: Compilation failure";
        assert_eq!(names(goal), ["maven/maven-compiler-plugin:compile"]);
        let reason = "[ERROR] /w/A.java:[31,20] cannot find symbol";
        assert_eq!(
            names(&format!("{reason}\n{goal}")),
            ["javac/cannot find symbol"]
        );
        let panic = "test a::b ... FAILED\nthread 'a::b' panicked at src/a.rs:4:5:\nno";
        assert_eq!(names(panic), ["cargo-test/panic"]);
        let two_steps = "--- FAIL: TestX (0.00s)\n  ✕ adds two numbers (3 ms)";
        assert_eq!(names(two_steps), ["go-test/failed", "js-test/failed"]);
    }

    #[test]
    fn an_unknown_message_loses_what_differs() {
        let name = |line: &str| diagnostics(line).into_iter().next().map(|found| found.name);
        let one = name("Error: No agent running in worktree 'results-schema'");
        assert_eq!(
            one.as_deref(),
            Some("other/error no agent running in worktree")
        );
        assert_eq!(one, name("Error: No agent running in worktree 'e2e'"));
        let plain = name("error: can't find the session that doesn't exist");
        assert!(plain.unwrap().contains("session that"));
    }

    #[test]
    fn prefixes_of_build_steps_are_removed() {
        assert_eq!(
            names("build\tRun make lint\t2026-03-04T11:20:33.1234567Z a.py:1:8: F401 unused"),
            ["ruff/F401"]
        );
        assert_eq!(
            names("2026-03-04T11:20:33.1234567Z ##[error]a.ts(1,2): error TS2322: Type 'x'"),
            ["tsc/TS2322"]
        );
        assert_eq!(
            names("api-1  | ModuleNotFoundError: No module named 'yaml'"),
            ["python/no-module yaml"]
        );
        assert_eq!(names("#12 3.120 npm error code ERESOLVE"), ["npm/ERESOLVE"]);
        assert_eq!(
            names("0.412 error[E0382]: use of moved value: `a`"),
            ["rustc/E0382"]
        );
    }

    #[test]
    fn a_reader_with_an_invalid_pattern_does_not_stop_the_others() {
        static GIVEN: [Reader; 3] = [
            reader("^lost: (.*)$", "lost/$1", &[]),
            reader("^broken: (.*$", "broken/$1", &[]),
            reader("^found: (.*)$", "found/$1", &[]),
        ];
        let readers = CompiledReaders::new(GIVEN.iter().collect());
        let name = |line| readers.read_line(line).map(|read| read.name);
        assert_eq!(name("lost: key").as_deref(), Some("lost/key"));
        assert_eq!(name("found: key").as_deref(), Some("found/key"));
        assert_eq!(name("broken: key"), None);
    }

    #[test]
    fn every_reader_names_its_examples() {
        let mut wrong = Vec::new();
        for reader in TABLES.iter().copied().flatten() {
            assert!(Regex::new(reader.pattern).is_ok(), "{}", reader.pattern);
            assert!(reader_set(&[reader]).is_ok(), "{}", reader.pattern);
            assert!(
                !reader.examples.is_empty(),
                "{} has no example",
                reader.name
            );
            for (line, name) in reader.examples {
                let names = names(line);
                if names != [*name] {
                    wrong.push(format!("{line}: {names:?}, not {name}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
