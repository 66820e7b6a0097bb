//! The phrases that identify rules, findings and errors, and functions that shorten texts.

/// Words that set a rule at the beginning of a clause, where they are an order: "don't push", but
/// not "I don't know".
#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "always", "never", "don't", "dont", "do not", "avoid", "prefer", "make sure", "only use",
    "use only", "stop", "remember to", "remember that", "remember:", "keep in mind", "stick to",
];

/// Words that set a rule anywhere in a sentence.
#[rustfmt::skip]
const OBLIGATIONS: &[&str] = &[
    "must not", "must be", "must never", "must always", "you must", "should not", "shouldn't",
    "should always", "should never", "from now on", "not allowed", "no more than", "at most",
    "i don't want", "i do not want", "i want you to", "i prefer", "we always", "we never",
    "we prefer", "instead of",
];

/// Words before an order that belong to it: "and never", "please don't".
#[rustfmt::skip]
const CLAUSE_STARTS: &[&str] = &[
    "and", "but", "please", "so", "then", "also", "you", "should", "must", "or", "no", "-", "*",
];

/// Words with which models report findings and decisions.
#[rustfmt::skip]
const FINDING_WORDS: &[&str] = &[
    "root cause", "the issue is", "the issue was", "the problem is", "the problem was",
    "turns out", "because ", "the fix", "fixed by", "decided", "decision", "the reason",
    "found that", "i found", "confirmed", "the bug", "which means", "so we need", "we should",
    "i'll use", "chose ", "instead of", "works now", "now passes", "does not support",
    "doesn't support", "not supported", "is caused by", "the key ", "note:", "important",
    "default is", "defaults to", "must ", "requires ",
];

/// A longer line was pasted, not typed.
const RULE_BYTES_MAX: usize = 1_000;
const FINDING_BYTES_MIN: usize = 24;
const FINDING_BYTES_MAX: usize = 400;

/// Prefixes of a rule even if the sentence ends as a question: "never touch it, ok?".
const ORDER_PREFIXES: &[&str] = &["always ", "never ", "don't ", "do not ", "please don't "];
/// Prefixes of a sentence that only supposes something.
#[rustfmt::skip]
const SUPPOSITION_PREFIXES: &[&str] = &[
    "it seems", "as far as", "i think", "i guess", "maybe", "perhaps",
];

/// Says whether one of the sentences of a line sets a rule. A question does not, and neither does
/// the advice in the output of a program.
pub(super) fn is_rule(line: &str) -> bool {
    line.len() <= RULE_BYTES_MAX
        && !is_program_output(line)
        && line.split_inclusive(['.', '?', '!']).any(is_rule_sentence)
}

/// Says whether a line is a diagnostic of a program: `a.ts:15:20 - warning NG1: …`, `Error: …`.
fn is_program_output(line: &str) -> bool {
    const LEVELS: &[&str] = &["error", "warning", "warn", "fatal", "panic", "exception"];
    // `error[E0499]` and `TypeError`, but not "the error is".
    let names_level = |head: &str| {
        let lower = head.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        let is_level = |word: &str| LEVELS.iter().any(|level| word.ends_with(level));
        !head.contains(char::is_whitespace) && words.any(is_level)
    };
    let names_position = |word: &str| {
        let mut parts = word.trim_matches(['(', ')', ',']).rsplit(':');
        let mut is_number = || {
            let part = parts.next().unwrap_or_default();
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        is_number() && is_number()
    };
    let head = line.split_once(": ").map_or("", |(head, _)| head);
    names_level(head) || line.split_whitespace().take(2).any(names_position)
}

fn is_rule_sentence(sentence: &str) -> bool {
    let lower = sentence.trim().to_lowercase();
    // "Stop" alone interrupts the agent.
    if !lower.contains(char::is_whitespace) {
        return false;
    }
    let starts_with_any = |with: &[&str]| with.iter().any(|words| lower.starts_with(words));
    let is_open = lower.ends_with('?') || starts_with_any(SUPPOSITION_PREFIXES);
    let sets_rule =
        || ORDERS.iter().any(|order| is_order(&lower, order)) || contains_any(&lower, OBLIGATIONS);
    sets_rule() && (!is_open || starts_with_any(ORDER_PREFIXES))
}

/// Says whether a sentence has these words at the beginning of a clause.
fn is_order(sentence: &str, words: &str) -> bool {
    sentence.match_indices(words).any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + words.len()..]);
        let ends = after.chars().next().is_none_or(|c| !c.is_alphanumeric());
        let starts = before.is_empty() || before.ends_with(char::is_whitespace);
        let word = before.split_whitespace().next_back().unwrap_or_default();
        let is_clause = word.is_empty()
            || word.ends_with([',', ';', ':', '—', '('])
            || CLAUSE_STARTS.contains(&word);
        starts && ends && is_clause
    })
}

pub(super) fn is_finding(line: &str) -> bool {
    (FINDING_BYTES_MIN..=FINDING_BYTES_MAX).contains(&line.len())
        && contains_any(line, FINDING_WORDS)
}

fn contains_any(line: &str, words: &[&str]) -> bool {
    let lower = line.to_lowercase();
    words.iter().any(|word| lower.contains(word))
}

/// Returns the line of an output that describes a failure best: the first that mentions an error,
/// else the last one.
pub(super) fn failure_line(output: &str) -> &str {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "error", "Error", "ERROR", "panicked", "FAILED", "failed", "fatal", "Exception",
        "not found", "No such", "denied", "cannot", "refused", "Traceback", "assert",
    ];
    if let Some(exception) = python_exception(output) {
        return exception;
    }
    let lines = || output.lines().map(str::trim).filter(|line| line.len() > 3);
    let named = lines().find(|line| NAMES.iter().any(|name| line.contains(name)));
    named.or_else(|| lines().next_back()).unwrap_or_default()
}

/// Returns the line after the last Python traceback, which names the exception.
fn python_exception(output: &str) -> Option<&str> {
    const TRACEBACK: &str = "Traceback (most recent call last)";
    let (_, trace) = output.rsplit_once(TRACEBACK)?;
    // The frames are indented relative to the traceback, which may itself be indented.
    let start = output.len() - trace.len() - TRACEBACK.len();
    let before = output[..start].rsplit('\n').next().unwrap_or_default();
    let indent = before.len();
    let mut lines = trace.lines().skip(1);
    let is_exception = |line: &&str| {
        let width = line.len() - line.trim_start().len();
        width <= indent && line.trim().len() > 3
    };
    lines.find(is_exception).map(str::trim)
}

/// Returns a text on one line, cut to a number of characters.
pub(super) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        for c in word.chars() {
            if chars >= chars_max {
                line.push('…');
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line
}

/// Returns the head of a text, cut to a number of bytes and at a line break if possible.
pub(super) fn head_of_text(text: &str, bytes_max: usize) -> String {
    let text = text.trim();
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes_max)];
    let head = head
        .rfind('\n')
        .filter(|end| *end > bytes_max / 2)
        .map_or(head, |end| &head[..end]);
    format!("{} […]", head.trim_end())
}

/// Returns the head of a text, without the word that the limit would cut.
pub(super) fn whole_words(text: &str, bytes_max: usize) -> &str {
    let head = &text[..text.floor_char_boundary(bytes_max)];
    if head.len() == text.len() {
        return text;
    }
    let end = head.rfind(char::is_whitespace);
    &head[..end.unwrap_or_default()]
}

/// Returns the words that can only be identifiers: `snake_case`, `camelCase`, `a::b`, `a.b`.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let inner = |c: char| match c {
        '_' | '.' | ':' => true,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        c => c.is_alphanumeric(),
    };
    let words = text.split(move |c: char| !inner(c));
    // Most words are too short, and this check is the cheapest.
    let words = words.filter(|word| word.len() >= NAME_BYTES_MIN);
    let words = words.map(|word| word.trim_matches(['.', ':']));
    words.filter(|word| {
        (NAME_BYTES_MIN..=NAME_BYTES_MAX).contains(&word.len())
            && word.starts_with(|c: char| c.is_alphabetic())
            // The middle of a shortened name is missing.
            && !word.contains("..")
            && is_compound_name(word)
    })
}

const NAME_BYTES_MIN: usize = 5;
const NAME_BYTES_MAX: usize = 60;

/// Says whether a word is a compound, as only identifiers are.
fn is_compound_name(word: &str) -> bool {
    let (mut was_lower, mut was_colon) = (false, false);
    for c in word.chars() {
        if c == '_' || c == '.' || (was_colon && c == ':') || (was_lower && c.is_uppercase()) {
            return true;
        }
        (was_lower, was_colon) = (c.is_lowercase(), c == ':');
    }
    false
}

/// Removes the argument name from a line of a call, because a name like `file_path` is not an
/// identifier of the project.
pub(super) fn strip_argument_name(line: &str) -> &str {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match line.split_once(':') {
        Some((name, value)) if is_name(name.trim_start()) && !value.starts_with(':') => value,
        _ => line,
    }
}

/// Returns the names of functions, types and modules that a change defines.
pub(super) fn defined_names(diff: &str) -> Vec<String> {
    #[rustfmt::skip]
    const KEYWORDS: &[&str] = &[
        "fn", "def", "class", "function", "struct", "enum", "trait", "interface", "func", "type",
        "mod",
    ];
    let mut names: Vec<String> = Vec::new();
    for line in diff.lines() {
        let line = line
            .strip_prefix(['+', '-', ' '])
            .unwrap_or(line)
            .trim_start();
        let mut words = line.split_whitespace().take(6);
        let Some(_) = words.find(|word| KEYWORDS.contains(word)) else {
            continue;
        };
        let Some(word) = words.next() else { continue };
        // A method in Go has a receiver before its name.
        let word = if word.starts_with('(') {
            words.nth(1).unwrap_or_default()
        } else {
            word
        };
        let end = word
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(word.len());
        let name = &word[..end];
        let is_name = name.len() > 2 && name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if is_name && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_no_names() {
        assert_eq!(strip_argument_name("file_path: /a/b.rs"), " /a/b.rs");
        assert_eq!(strip_argument_name("use a::b;"), "use a::b;");
        assert_eq!(strip_argument_name("std::fs::read"), "std::fs::read");
        assert_eq!(strip_argument_name("plain"), "plain");
    }

    #[test]
    fn rules_and_findings() {
        assert!(is_rule("Never touch main.rs, and use tabs."));
        assert!(!is_rule("Sort the list."));
        assert!(is_rule("Never push to main, ok?"));
        assert!(is_rule("Is it done? Remember to run the linter."));
        for line in [
            "no, amounts must be Decimal, never float. And do not touch metrics.py",
            "please don't commit to main",
            "I don't want any new dependency.",
            "- prefer small functions",
            "from now on, run clippy first",
        ] {
            assert!(is_rule(line), "{line}");
        }
        for line in [
            "do you remember what service we configured on the host?",
            "as far as I can remember we must restart it",
            "it seems like i can edit it without a password",
            "should we always use tabs?",
            "I don't know what is wrong here.",
            "it never worked without the cache",
            "the tests need to run, and that is important",
            "the error is that it cannot stop the server",
            "stop",
            "Stop!",
            "src/a.html:15:20 - warning NG8103: never imported. Use @if or make sure it is.",
            "Error: a.ts is missing from the compilation. Please make sure it is in tsconfig.json",
            "error[E0499]: cannot borrow twice, do not do that",
            "warning: unused variable, prefer an underscore",
        ] {
            assert!(!is_rule(line), "{line}");
        }
        assert!(is_finding(
            "The root cause is a stale lock file in target/."
        ));
        assert!(!is_finding("Let me look at the file."));
    }

    #[test]
    fn the_telling_line_of_an_output() {
        assert_eq!(
            failure_line("compiling\nerror[E0308]: mismatched\n  help\n"),
            "error[E0308]: mismatched"
        );
        assert_eq!(failure_line("a line\nlast line\n"), "last line");
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    \
                     import orderflow\nModuleNotFoundError: No module named 'orderflow'\n";
        let exception = "ModuleNotFoundError: No module named 'orderflow'";
        assert_eq!(failure_line(trace), exception);
        let chained = format!(
            "ran\n{trace}\nDuring handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"b.py\", line 2\nKeyError: 'a'\nexit 1\n"
        );
        assert_eq!(failure_line(&chained), "KeyError: 'a'");
        assert_eq!(failure_line(""), "");
    }

    #[test]
    fn texts_are_cut_where_it_reads() {
        assert_eq!(one_line("a  b\nc", 10), "a b c");
        assert_eq!(one_line("ééééé", 3), "ééé…");
        assert_eq!(one_line("abc defg", 3), "abc …");
        assert_eq!(
            head_of_text("one line\nanother line that is long", 15),
            "one line […]"
        );
        assert_eq!(head_of_text("short", 16), "short");
    }

    #[test]
    fn names_in_code_are_not_prose() {
        let text = "See s.getAll(x), then load_all or Store::open. And so on: e.g. 3.14, a.b. \
                    It was respon...fana.net.";
        let found: Vec<_> = identifiers(text).collect();
        assert_eq!(found, ["s.getAll", "load_all", "Store::open"]);
    }

    #[test]
    fn definitions_in_several_languages() {
        let diff = "+pub fn load_all(x: u8) {\n+class Cart:\n+    def add(self):\n\
                    -function total() {\n+func (s *Store) Find(id int)\n plain text of the type";
        assert_eq!(
            defined_names(diff),
            ["load_all", "Cart", "add", "total", "Find"]
        );
    }
}
