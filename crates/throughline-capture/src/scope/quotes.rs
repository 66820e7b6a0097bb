//! Withholds never-captured files from texts that quote files: diffs, patches, search results and
//! attached files. Only the parts that quote such a file are replaced.

use super::{CaptureScope, WithholdReason, placeholder};

impl CaptureScope {
    /// Returns `text` without what it quotes of never-captured files, or `None` if it quotes none.
    /// The withheld texts are added to `removed`.
    pub(crate) fn withhold_quotes(&self, text: &str, removed: &mut Vec<String>) -> Option<String> {
        let mut mentions = self.never_captured.mentions(text);
        if !mentions.any_in(0..text.len()) {
            return None;
        }
        let mut filter = QuoteFilter {
            out: String::with_capacity(text.len()),
            section: QuoteSection::Kept,
            dropped: String::new(),
            removed,
            is_changed: false,
        };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            filter.filter_line(self, line, mentions.any_in(start..end));
            start = end;
        }
        filter.end_section();
        let (is_changed, out) = (filter.is_changed, filter.out);
        is_changed.then_some(out)
    }

    /// Says whether a text may name a never-captured file at all. This quick check comes before the
    /// slow ones.
    pub(crate) fn may_name_never_captured(&self, text: &str) -> bool {
        self.never_captured.may_be_named_in(text)
    }
}

/// The part of the text that the current line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteSection {
    Kept,
    /// A quote of a never-captured file, and what ends it.
    Withheld(SectionEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionEnd {
    /// The header of the next file ends it.
    NextHeader,
    /// A line that is neither numbered nor indented ends it.
    Heading,
    /// A closing tag ends it.
    Tag,
}

struct QuoteFilter<'r> {
    out: String,
    section: QuoteSection,
    dropped: String,
    removed: &'r mut Vec<String>,
    is_changed: bool,
}

impl QuoteFilter<'_> {
    fn filter_line(&mut self, scope: &CaptureScope, line: &str, may_name: bool) {
        // Most lines name no such file. Colours may divide a name, and backslashes may stand for
        // some of its slashes.
        if self.section == QuoteSection::Kept
            && !may_name
            && memchr::memchr2(0x1b, b'\\', line.as_bytes()).is_none()
        {
            return self.out.push_str(line);
        }
        let plain = strip_colours(line);
        let plain = plain.trim_end();
        if let Some(header) = file_header(plain) {
            let is_same_file = self.section == QuoteSection::Withheld(SectionEnd::NextHeader)
                && header.is_detail
                && scope.is_never_captured(header.path);
            if !is_same_file {
                self.end_section();
                self.out.push_str(line);
                if scope.is_never_captured(header.path) || scope.is_never_captured(header.other) {
                    self.section = QuoteSection::Withheld(header.end);
                }
                return;
            }
        }
        match self.section {
            QuoteSection::Withheld(SectionEnd::Heading) if !is_below_heading(plain) => {
                self.end_section();
            }
            QuoteSection::Withheld(SectionEnd::Tag) if plain.trim_start().starts_with("</") => {
                self.end_section();
            }
            QuoteSection::Withheld(_) if is_end_marker(plain) => self.end_section(),
            QuoteSection::Withheld(_) => {
                self.dropped.push_str(line);
                return;
            }
            QuoteSection::Kept => {}
        }
        if let Some(end) = quote_start(scope, plain) {
            let Some(at) = line.find(&plain[..end]) else {
                return self.out.push_str(line);
            };
            let at = at + end;
            let text = line[at..].trim_end_matches(['\r', '\n']);
            if !text.trim().is_empty() {
                self.removed.push(text.to_owned());
                self.is_changed = true;
                self.out.push_str(&line[..at]);
                self.out
                    .push_str(&placeholder(WithholdReason::Credentials, text.len()));
                self.out.push_str(&line[at + text.len()..]);
                return;
            }
        }
        self.out.push_str(line);
    }

    fn end_section(&mut self) {
        self.section = QuoteSection::Kept;
        let dropped = std::mem::take(&mut self.dropped);
        if dropped.trim().is_empty() {
            self.out.push_str(&dropped);
            return;
        }
        self.is_changed = true;
        self.out
            .push_str(&placeholder(WithholdReason::Credentials, dropped.len()));
        if dropped.ends_with('\n') {
            self.out.push('\n');
        }
        self.removed.push(dropped);
    }
}

/// A line that announces the text of a file.
struct FileHeader<'a> {
    path: &'a str,
    /// The other name of the file, if a diff gives two.
    other: &'a str,
    end: SectionEnd,
    /// The header may follow another header of the same file.
    is_detail: bool,
}

fn file_header(line: &str) -> Option<FileHeader<'_>> {
    let next = |path| FileHeader {
        path,
        other: path,
        end: SectionEnd::NextHeader,
        is_detail: false,
    };
    if let Some(paths) = line.strip_prefix("diff --git ") {
        let (old, new) = paths.split_once(' ').unwrap_or((paths, paths));
        return Some(FileHeader {
            other: strip_diff_prefix(new),
            ..next(strip_diff_prefix(old))
        });
    }
    for prefix in ["--- ", "+++ "] {
        if let Some(path) = line.strip_prefix(prefix) {
            let path = path.split('\t').next().unwrap_or(path);
            return Some(FileHeader {
                is_detail: true,
                ..next(strip_diff_prefix(path))
            });
        }
    }
    let trimmed = line.trim_start();
    for prefix in [
        "*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** File: ",
    ] {
        if let Some(path) = trimmed.strip_prefix(prefix) {
            return Some(next(path.trim()));
        }
    }
    if let Some(path) = trimmed.strip_prefix("==> ") {
        return Some(next(path.trim_end_matches("<==").trim()));
    }
    for prefix in ["Content from @", "Content from ", "File: ", "### File: "] {
        if let Some(path) = trimmed.strip_prefix(prefix) {
            return Some(next(path.trim_matches(['`', ':', '"', ' '])));
        }
    }
    for prefix in [
        "<file_content path=", "<file path=", "<document path=", "<path>",
    ] {
        let Some(rest) = trimmed.strip_prefix(prefix) else {
            continue;
        };
        let rest = rest.trim_start_matches(['"', '\'']);
        let path = rest.split(['"', '\'', '<', '>']).next().unwrap_or(rest);
        let end = if prefix == "<path>" {
            SectionEnd::NextHeader
        } else {
            SectionEnd::Tag
        };
        return Some(FileHeader { end, ..next(path) });
    }
    let heading = trimmed.strip_suffix(':').unwrap_or(trimmed);
    let is_path = heading.contains(['.', '/']) && !heading.contains([' ', '=', '(', '"', ',']);
    (is_path && heading.len() > 1).then(|| FileHeader {
        end: SectionEnd::Heading,
        ..next(heading)
    })
}

/// Strips the prefix that a diff puts before a path.
fn strip_diff_prefix(path: &str) -> &str {
    let path = path.trim().trim_matches('"');
    let sides = ["a/", "b/", "i/", "w/", "c/", "o/"];
    sides
        .iter()
        .find_map(|side| path.strip_prefix(side))
        .unwrap_or(path)
}

/// Recognizes the lines that search tools print below the name of a file.
fn is_below_heading(line: &str) -> bool {
    let is_numbered = || {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        digits > 0 && line[digits..].starts_with([':', '-', '|', '\t'])
    };
    line.starts_with([' ', '\t']) || is_numbered()
}

fn is_end_marker(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("*** End Patch") || line.starts_with("--- End of content") || line == "---"
}

/// Returns where the quoted text begins in a line such as `.env:3:text`.
fn quote_start(scope: &CaptureScope, line: &str) -> Option<usize> {
    // The path itself may contain dashes, so every position where it may end is tried.
    let (at, _) = line
        .match_indices([':', '-'])
        .take(SEPARATORS_TRIED_MAX)
        .find(|(at, _)| scope.is_never_captured(line[..*at].trim_start()))?;
    let path = line[..at].trim_start();
    if path.is_empty() || path.contains(char::is_whitespace) {
        return None;
    }
    let rest = &line[at + 1..];
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 && rest[digits..].starts_with([':', '-']) {
        return Some(at + 1 + digits + 1);
    }
    // Without a line number, only a name that is clearly a path counts: `item.key: 1` is code.
    let is_path = path.starts_with(['.', '/', '~']) || path.contains('/');
    let is_quote = line.as_bytes().get(at) == Some(&b':') && !rest.starts_with([' ', ':']);
    (is_path && is_quote && !rest.is_empty()).then_some(at + 1)
}

/// How many positions of a line are tried as the end of a path.
const SEPARATORS_TRIED_MAX: usize = 8;

fn strip_colours(line: &str) -> std::borrow::Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return line.into();
    }
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut removed = Vec::new();
        let kept = CaptureScope::default().withhold_quotes(text, &mut removed);
        let kept = kept.unwrap_or_else(|| text.to_owned());
        let short = kept.replace("[not kept: a file that holds credentials, ", "[-");
        assert_eq!(short.replace(" bytes]", "]"), expected);
    }

    #[test]
    fn only_the_hunks_of_the_withheld_file_are_replaced() {
        check(
            "diff --git a/.env b/.env\nindex 1..2 100644\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n\
             -FOO=1\n+FOO=2\ndiff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n-a\n+b\n",
            "diff --git a/.env b/.env\n[-66]\ndiff --git a/x.rs b/x.rs\n--- a/x.rs\n\
             +++ b/x.rs\n-a\n+b\n",
        );
        check(
            "--- a/.env\n+++ b/.env\n+FOO=2\n--- a/x.rs\n+++ b/x.rs\n+b\n",
            "--- a/.env\n[-18]\n--- a/x.rs\n+++ b/x.rs\n+b\n",
        );
        check(
            "*** Begin Patch\n*** Add File: .env\n+FOO=2\n*** Update File: a.rs\n+b\n*** End Patch",
            "*** Begin Patch\n*** Add File: .env\n[-7]\n*** Update File: a.rs\n+b\n*** End Patch",
        );
    }

    #[test]
    fn matches_in_a_withheld_file_are_replaced() {
        check(
            "src/a.rs:3:let a = 1;\n.env:3:FOO=1\n./conf/.env-4-BAR=2\n",
            "src/a.rs:3:let a = 1;\n.env:3:[-5]\n./conf/.env-4-[-5]\n",
        );
        check("./.env:FOO=1\n", "./.env:[-5]\n");
        check(
            ".env\n3:FOO=1\n4-BAR=2\n\nsrc/a.rs\n1:x\n",
            ".env\n[-16]\n\nsrc/a.rs\n1:x\n",
        );
        check(
            "/p/.env:\n  Line 3: FOO=1\n\ndone\n",
            "/p/.env:\n[-16]\n\ndone\n",
        );
        check(
            "==> .env <==\nFOO=1\n\n==> a <==\nx\n",
            "==> .env <==\n[-7]\n==> a <==\nx\n",
        );
        check(
            "File: .env\nL3: FOO=1\n---\nFile: a.rs\nL1: x\n",
            "File: .env\n[-10]\n---\nFile: a.rs\nL1: x\n",
        );
    }

    #[test]
    fn attached_files_are_withheld() {
        check(
            "look\n--- Content from referenced files ---\nContent from @.env:\nFOO=1\n\
             --- End of content ---\n",
            "look\n--- Content from referenced files ---\nContent from @.env:\n[-6]\n\
             --- End of content ---\n",
        );
        check(
            "<file_content path=\".env\">\nFOO=1\n</file_content>\nand on\n",
            "<file_content path=\".env\">\n[-6]\n</file_content>\nand on\n",
        );
    }

    #[test]
    fn code_that_looks_like_a_file_name_stays() {
        for text in [
            "process.env: NodeJS.ProcessEnv\n",
            "item.key: value\n",
            "const a = process.env.FOO\nself.key\n",
            "see .env.example:3:FOO=\n",
            "mv .env elsewhere\n",
        ] {
            check(text, text);
        }
    }
}
