//! The formats, one table per field.
//!
//! Each rule carries examples that it catches and spares; a test checks them. Examples are
//! templates, so that no line of this repository looks like a live key: `{w36}` stands for 36
//! generated letters and digits (see `template` for the alphabets).

mod ai;
mod chat;
mod cloud;
mod code;
mod command;
mod data;
mod payment;
#[cfg(test)]
pub(crate) mod template;

/// A format, found by one of its literals and confirmed by its pattern.
#[derive(Debug)]
pub(crate) struct FormatRule {
    pub(crate) name: &'static str,
    /// What the scanner looks for.
    pub(crate) literals: &'static [&'static str],
    /// Matched where the literal starts, or up to `before` bytes earlier. Group 1, if there is one,
    /// is the secret.
    pub(crate) pattern: &'static str,
    pub(crate) before: usize,
    pub(crate) body: BodyKind,
    pub(crate) boundary: LiteralBoundary,
    pub(crate) catches: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "examples that a test reads"))]
    pub(crate) spares: &'static [&'static str],
}

/// What the secret must look like beyond the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Generated: it must look random.
    Random,
    /// A password that a person may have chosen.
    HumanChosen,
    /// Whatever the pattern matches.
    PatternOnly,
}

/// The characters that are allowed directly before a format's literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiteralBoundary {
    /// Anything but a letter or a digit when the literal is short or could end a word (`ico-`), and
    /// anything at all when it is long or mixed as no word is (`ghp_`).
    NonAlphanumeric,
    /// The start of a word: the literal is itself a common word, as in `cache-key-…`.
    WordStart,
    /// Anything: the literal is short, but the parts behind it have lengths that no word has.
    Anywhere,
}

const fn rule(
    name: &'static str,
    literals: &'static [&'static str],
    pattern: &'static str,
    catches: &'static [&'static str],
    spares: &'static [&'static str],
) -> FormatRule {
    FormatRule {
        name,
        literals,
        pattern,
        before: 0,
        body: BodyKind::Random,
        boundary: LiteralBoundary::NonAlphanumeric,
        catches,
        spares,
    }
}

impl FormatRule {
    /// For formats whose literal is not at the start of the match.
    const fn before(mut self, bytes: usize) -> Self {
        self.before = bytes;
        self
    }

    const fn body(mut self, body: BodyKind) -> Self {
        self.body = body;
        self
    }

    /// For formats whose literal is a word that names also contain.
    const fn whole_word(mut self) -> Self {
        self.boundary = LiteralBoundary::WordStart;
        self
    }

    /// For formats whose structure alone proves them.
    const fn anywhere(mut self) -> Self {
        self.boundary = LiteralBoundary::Anywhere;
        self
    }

    /// True when text that merely resembles the format is improbable.
    #[cfg(test)]
    pub(crate) fn is_certain(&self) -> bool {
        self.boundary != LiteralBoundary::WordStart && self.body != BodyKind::HumanChosen
    }
}

/// Returns the rules of all tables.
pub(crate) fn all() -> impl Iterator<Item = &'static FormatRule> {
    [
        ai::RULES,
        chat::RULES,
        cloud::RULES,
        code::RULES,
        command::RULES,
        data::RULES,
        payment::RULES,
    ]
    .into_iter()
    .flatten()
}

/// Returns the length of the text that a template stands for.
pub(crate) fn expanded_len(template: &str) -> usize {
    let mut length = template.len();
    for slot in template.split('{').skip(1) {
        let Some((count, _)) = slot.split_once('}') else {
            continue;
        };
        if let Some(count) = count.get(1..).and_then(|count| count.parse::<usize>().ok()) {
            length = length + count - slot.find('}').unwrap_or(0) - 2;
        }
    }
    length
}
