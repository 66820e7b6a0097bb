//! Statements in European languages other than English, by their words.

use memory::FactKind;

use super::rules::{DUTCH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, RUSSIAN, SPANISH};
use super::{Leads, strip_leads};

/// The words by which statements of one language are recognised, in lower case.
pub(super) struct LanguageRules {
    pub leads: Leads,
    /// Beginnings of sentences that state something.
    pub openings: &'static [(&'static str, FactKind)],
    /// Phrases that state something if a name follows, but not if an article or a pronoun does.
    pub choices: &'static [(&'static str, FactKind)],
    pub articles: &'static [&'static str],
    /// Two phrases that state something together.
    pub pairs: &'static [(&'static str, &'static str, FactKind)],
    /// "Always" and "never".
    pub always: &'static [&'static str],
    /// Verbs that make an order of a sentence with "always" if they open it.
    pub imperatives: &'static [&'static str],
    /// Verbs that make an order of a sentence with "always" wherever they are.
    pub modals: &'static [&'static str],
    /// Says whether a sentence with "always" is an order by the form of another word.
    pub is_order: fn(&[&str]) -> bool,
    /// Phrases that limit a sentence to the moment, to one file, to a failure or to a screen.
    pub momentary: &'static [&'static str],
}

/// Returns the statement of a sentence, without the words that introduce it.
pub(super) fn statement(sentence: &str) -> Option<(FactKind, &str)> {
    let languages = [
        &GERMAN, &FRENCH, &SPANISH, &PORTUGUESE, &ITALIAN, &DUTCH, &RUSSIAN,
    ];
    let mut languages = languages.into_iter();
    languages.find_map(|rules| rules.statement(sentence))
}

impl LanguageRules {
    fn statement<'a>(&self, sentence: &'a str) -> Option<(FactKind, &'a str)> {
        let (announced, rest) = strip_leads(self.leads, sentence);
        let text = words_of(rest);
        if self.momentary.iter().any(|phrase| text.contains(phrase)) {
            return None;
        }
        // A request to remember something needs no other sign.
        let kind = match announced {
            Some(FactKind::Note) => Some(FactKind::Note),
            _ => self.kind(&text),
        }?;
        Some((announced.unwrap_or(kind), rest))
    }

    fn kind(&self, text: &str) -> Option<FactKind> {
        let opening = self.openings.iter().find(|(it, _)| text.starts_with(it));
        let choice = self.choices.iter().find(|(phrase, _)| {
            text.split_once(phrase).is_some_and(|(_, after)| {
                let next = after.split(' ').next().unwrap_or_default();
                !next.is_empty() && !self.articles.contains(&next)
            })
        });
        let pair = self
            .pairs
            .iter()
            .find(|(a, b, _)| text.contains(a) && text.contains(b));
        let order = self.is_standing_order(text).then_some(FactKind::Preference);
        opening
            .or(choice)
            .map(|(_, kind)| *kind)
            .or(pair.map(|(.., kind)| *kind))
            .or(order)
    }

    /// Says whether a sentence orders that something is always or never done.
    fn is_standing_order(&self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(first) = words.first() else {
            return false;
        };
        let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
        has(self.always)
            && (self.imperatives.contains(first) || has(self.modals) || (self.is_order)(&words))
    }
}

/// Returns the words of a sentence in lower case, with a space around each word and comma.
fn words_of(sentence: &str) -> String {
    let mut text = String::from(" ");
    for raw in sentence.split_whitespace() {
        let word = raw.trim_matches(|c: char| ",;:.!()\"«»„“”".contains(c));
        text += &word.to_lowercase().replace('’', "'");
        text.push(' ');
        if raw.ends_with([',', ';', ':']) {
            text += ", ";
        }
    }
    text
}
