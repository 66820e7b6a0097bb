//! The running notes of a live session, stored as `summary.md`.
//!
//! A [`Summary`] is a list of sections under headings, in file order. A [`Template`] is a summary
//! before anything was written. Users can replace the template, so nothing here depends on its
//! headings.

use std::fmt;

use crate::Tokens;
use crate::tokens::estimate;

/// The default template: headings, and the hint below each.
pub const SECTIONS: [(&str, &str); 10] = [
    ("Title", "What this session is about, in five to ten words"),
    (
        "Current state",
        "What is being done right now, what is open, and the next step",
    ),
    (
        "Task",
        "What the user asked for, in their words, with the rules they gave",
    ),
    (
        "Files and functions",
        "Which files and functions matter, and why",
    ),
    (
        "Commands and workflow",
        "Which commands are run, in which order, and how to read them",
    ),
    (
        "Errors and corrections",
        "What failed, what fixed it, what the user corrected, what not to try again",
    ),
    (
        "System documentation",
        "How the parts of the system fit together",
    ),
    ("Learnings", "What worked well, what did not, what to avoid"),
    (
        "Key results",
        "Answers, tables and other results the user asked for, exactly",
    ),
    ("Worklog", "Step by step, very short, what was done"),
];

/// Notes in sections, each with a heading.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    pub sections: Vec<SummarySection>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SummarySection {
    /// Empty for text before the first heading.
    pub heading: String,
    /// The line in italics below the heading, which says what belongs in the section.
    pub hint: Option<String>,
    pub text: String,
}

impl Summary {
    /// Parses a `summary.md`. Any text is accepted, and none of it is lost.
    pub fn parse(text: &str) -> Self {
        let mut sections = vec![SummarySection::default()];
        let mut code = false;
        for line in text.lines() {
            code ^= line.trim_start().starts_with("```");
            if let Some(heading) = line.strip_prefix("# ").filter(|_| !code) {
                sections.push(SummarySection {
                    heading: heading.trim().to_owned(),
                    ..SummarySection::default()
                });
            } else if let Some(section) = sections.last_mut() {
                section.add_line(line);
            }
        }
        for section in &mut sections {
            section.text = section.text.trim().to_owned();
        }
        sections.retain(|section| !section.heading.is_empty() || !section.text.is_empty());
        Self { sections }
    }

    /// Returns the text under a heading.
    pub fn get(&self, heading: &str) -> Option<&str> {
        let mut sections = self.sections.iter();
        let section = sections.find(|section| section.heading == heading)?;
        Some(&section.text)
    }

    /// Replaces the text under a heading, and adds the heading if it is missing.
    pub fn set(&mut self, heading: &str, text: impl Into<String>) {
        let text = text.into();
        match self.sections.iter_mut().find(|s| s.heading == heading) {
            Some(section) => section.text = text,
            None => self.sections.push(SummarySection {
                heading: heading.to_owned(),
                hint: None,
                text,
            }),
        }
    }

    /// Says whether the template has not been filled in yet.
    pub fn is_bare(&self, template: &Template) -> bool {
        self.sections.iter().all(|section| {
            section.text.is_empty() || template.0.get(&section.heading) == Some(&section.text)
        })
    }

    /// Returns the notes with each section and the whole within their limits. A section that is too
    /// long is cut at a line break, with a note that names the file with the full text.
    pub fn truncate_to(&self, limits: &SummaryLimits, file: &str) -> Self {
        let sizes: Vec<_> = self.sections.iter().map(|s| estimate(&s.text).0).collect();
        let heads: u64 = (self.sections.iter())
            .map(|section| estimate(&section.heading).0 + 2)
            .sum();
        let cap = limits
            .section
            .0
            .min(fair_share(&sizes, limits.whole.0.saturating_sub(heads)));
        let cut = |(section, size): (&SummarySection, &u64)| SummarySection {
            text: if *size <= cap {
                section.text.clone()
            } else {
                truncate_text(&section.text, Tokens(cap), file)
            },
            hint: None,
            heading: section.heading.clone(),
        };
        let sections = self.sections.iter().zip(&sizes).map(cut).collect();
        Self { sections }
    }
}

impl Summary {
    /// Returns as many of the first sections as fit, with the last one cut. The most important
    /// sections are first, and a part of each would be less useful than some in full.
    pub fn first_sections(&self, room: Tokens, file: &str) -> Self {
        let mut left = room.0;
        let mut sections = Vec::new();
        for section in self.sections.iter().filter(|s| !s.text.is_empty()) {
            let head = estimate(&section.heading).0 + 2;
            let size = estimate(&section.text).0;
            let hint = None;
            if head + size <= left {
                left -= head + size;
                sections.push(SummarySection {
                    hint,
                    ..section.clone()
                });
                continue;
            }
            if head + CUT_TOKENS_MIN <= left {
                sections.push(SummarySection {
                    text: truncate_text(&section.text, Tokens(left - head), file),
                    heading: section.heading.clone(),
                    hint,
                });
            }
            break;
        }
        Self { sections }
    }
}

/// A section that would be cut to fewer tokens is left out.
const CUT_TOKENS_MIN: u64 = 80;

impl SummarySection {
    fn add_line(&mut self, line: &str) {
        let hint = line
            .trim()
            .strip_prefix('_')
            .and_then(|rest| rest.strip_suffix('_'));
        match hint {
            Some(hint)
                if self.text.trim().is_empty()
                    && self.hint.is_none()
                    && !self.heading.is_empty() =>
            {
                self.hint = Some(hint.to_owned());
            }
            _ => {
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
    }
}

/// Formats the summary as `summary.md`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, section) in self.sections.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            if !section.heading.is_empty() {
                writeln!(f, "# {}", section.heading)?;
            }
            if let Some(hint) = &section.hint {
                writeln!(f, "_{hint}_")?;
            }
            if !section.text.is_empty() {
                writeln!(f, "{}", section.text)?;
            }
        }
        Ok(())
    }
}

/// A summary before anything was written into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(pub Summary);

impl Default for Template {
    fn default() -> Self {
        let sections = SECTIONS.map(|(heading, hint)| SummarySection {
            heading: heading.to_owned(),
            hint: Some(hint.to_owned()),
            text: String::new(),
        });
        Self(Summary {
            sections: sections.into(),
        })
    }
}

/// The maximum size of notes that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryLimits {
    pub section: Tokens,
    pub whole: Tokens,
}

impl Default for SummaryLimits {
    fn default() -> Self {
        Self {
            section: Tokens(2_000),
            whole: Tokens(12_000),
        }
    }
}

/// Returns the cap at which all parts together fit into `whole`. Parts below the cap keep their
/// size, and the longer ones share the rest equally.
fn fair_share(sizes: &[u64], whole: u64) -> u64 {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut left = whole;
    for (index, size) in sizes.iter().enumerate() {
        let parts = (sizes.len() - index) as u64;
        if *size > left / parts {
            return left / parts;
        }
        left -= size;
    }
    u64::MAX
}

/// Returns the head of a text within a limit, cut at a line break, with a note that says where the
/// rest is. A single line that is too long is cut at a character.
pub fn truncate_text(text: &str, limit: Tokens, file: &str) -> String {
    let note = format!("[cut here; all of it is in {file}]");
    // The sum over single lines may differ slightly from the estimate of the whole text.
    let room = limit.0.saturating_sub(estimate(&note).0 + limit.0 / 50);
    let mut kept = String::new();
    let (mut used, mut code) = (0, false);
    for line in text.lines() {
        let size = estimate(line).0 + 1;
        if used + size > room {
            if kept.is_empty() {
                kept.push_str(head_of_line(line, room));
                kept.push('\n');
            }
            break;
        }
        used += size;
        code ^= line.trim_start().starts_with("```");
        kept.push_str(line);
        kept.push('\n');
    }
    if code {
        kept.push_str("```\n");
    }
    kept + &note
}

/// Returns the longest prefix of a line that fits.
fn head_of_line(line: &str, room: u64) -> &str {
    let (mut low, mut high) = (0, line.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if estimate(&line[..line.floor_char_boundary(middle)]).0 <= room {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    &line[..line.floor_char_boundary(low)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(sections: &[(&str, String)]) -> Summary {
        let mut notes = Summary::default();
        for (heading, text) in sections {
            notes.set(heading, text.as_str());
        }
        notes
    }

    #[test]
    fn the_first_sections_are_those_that_stay() {
        let summary = Summary::parse(&format!(
            "# A\none two\n# B\n# C\n{}\n# D\nlast",
            "more words\n".repeat(200)
        ));
        let all = summary.first_sections(Tokens(9_000), "f");
        let headings: Vec<_> = all.sections.iter().map(|s| s.heading.as_str()).collect();
        assert_eq!(headings, ["A", "C", "D"]);
        let some = summary.first_sections(Tokens(200), "f");
        assert_eq!(some.sections.len(), 2);
        assert!(
            some.sections[1]
                .text
                .ends_with("[cut here; all of it is in f]")
        );
        assert!(estimate(&some.to_string()) <= Tokens(200));
        assert_eq!(summary.first_sections(Tokens(40), "f").sections.len(), 1);
        assert_eq!(summary.first_sections(Tokens(1), "f").sections.len(), 0);
    }

    #[test]
    fn the_template_has_ten_sections_and_is_bare() {
        let template = Template::default();
        let written = template.0.to_string();
        let read = Summary::parse(&written);
        assert_eq!(read, template.0);
        assert_eq!(read.sections.len(), 10);
        assert!(read.is_bare(&template));
        assert!(Summary::default().is_bare(&template));
    }

    #[test]
    fn a_word_under_any_heading_is_no_template() {
        let template = Template::default();
        let mut notes = template.0.clone();
        notes.set("Task", "sort the list");
        assert!(!notes.is_bare(&template));
        assert!(!Summary::parse("only words").is_bare(&template));
    }

    #[test]
    fn a_users_template_may_hold_words() {
        let template = Template(Summary::parse("# Goal\n_why_\nnot known yet\n# Log\n"));
        assert!(Summary::parse("# Goal\nnot known yet\n# Log\n").is_bare(&template));
        assert!(!Summary::parse("# Goal\nfaster\n# Log\n").is_bare(&template));
    }

    #[test]
    fn what_is_written_reads_back() {
        let text =
            "before\n\n# A\n_hint_\ntext\n\n```\n# no heading\n```\n\n# B\n_emphasis_ in a line\n";
        let read = Summary::parse(text);
        assert_eq!(Summary::parse(&read.to_string()), read);
        assert_eq!(read.sections[0].text, "before");
        assert_eq!(read.get("A"), Some("text\n\n```\n# no heading\n```"));
        assert_eq!(read.get("B"), Some("_emphasis_ in a line"));
        assert_eq!(read.get("C"), None);
    }

    #[test]
    fn long_sections_end_at_a_line_and_say_where_the_rest_is() {
        let long = "one line of the log\n".repeat(2_000);
        let notes = notes(&[("Task", "sort".into()), ("Worklog", long)]);
        let cut = notes.truncate_to(&SummaryLimits::default(), "/m/summary.md");
        assert_eq!(cut.get("Task"), Some("sort"));
        let log = cut.get("Worklog").unwrap();
        assert!(log.ends_with("of the log\n[cut here; all of it is in /m/summary.md]"));
        let size = estimate(log).0;
        assert!((1_800..=2_000).contains(&size), "{size}");
    }

    #[test]
    fn the_whole_has_a_limit_that_spares_short_sections() {
        let long = || "some words of it\n".repeat(1_000);
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut sections: Vec<_> = names.iter().map(|name| (*name, long())).collect();
        sections.push(("short", "stays".to_owned()));
        let limits = SummaryLimits {
            section: Tokens(2_000),
            whole: Tokens(8_000),
        };
        let cut = notes(&sections).truncate_to(&limits, "f");
        let size = estimate(&cut.to_string()).0;
        assert!((7_000..=8_000).contains(&size), "{size}");
        assert_eq!(cut.get("short"), Some("stays"));
    }

    #[test]
    fn one_endless_line_is_cut_at_a_character() {
        let cut = truncate_text(&"é".repeat(50_000), Tokens(100), "f");
        assert!(estimate(&cut) <= Tokens(100));
        assert!(cut.starts_with("éé") && cut.ends_with("is in f]"));
        assert_eq!(
            truncate_text("long text of words", Tokens(1), "f"),
            "\n[cut here; all of it is in f]"
        );
    }

    #[test]
    fn a_cut_in_code_closes_it() {
        let text = format!("```\n{}```\nend", "let a = 1;\n".repeat(500));
        let cut = truncate_text(&text, Tokens(300), "f");
        assert!(cut.ends_with("let a = 1;\n```\n[cut here; all of it is in f]"));
    }
}
