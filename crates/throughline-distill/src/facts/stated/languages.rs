//! Statements in German, French, Spanish, Portuguese, Italian, Dutch, Russian, Chinese and
//! Japanese.
//!
//! The classifier knows the words of English only. In other languages a few forms are certain
//! enough: an imperative with "always" or "never", "from now on", "we decided", "we use". A
//! sentence that names a moment, a single file, a failure or a part of a screen states nothing,
//! whatever its form.

mod cjk;
mod european;
mod rules;

use memory::FactKind;

/// Function words of European languages that are no English words.
#[rustfmt::skip]
const FUNCTION_WORDS: &[&str] = &[
    "aber", "auch", "auf", "aus", "bitte", "das", "dem", "den", "der", "des", "diese", "dieser",
    "ein", "eine", "einen", "er", "für", "hat", "ich", "im", "immer", "ist", "kein", "keine", "mit",
    "nicht", "nie", "noch", "oder", "sich", "sind", "und", "von", "warum", "wenn", "wir", "wird",
    "zu",
    "zum", "zur", "au", "aux", "avec", "ce", "cette", "c'est", "dans", "de", "du", "en", "est",
    "et",
    "il", "je", "jamais", "la", "le", "les", "mais", "ne", "nous", "où", "par", "pas", "pour",
    "que",
    "qui", "sur", "toujours", "un", "une", "vous", "ça", "al", "como", "con", "cuando", "del", "el",
    "ella", "es", "eso", "esta", "este", "la", "las", "lo", "los", "muy", "nunca", "para", "pero",
    "por",
    "se", "siempre", "sin", "su", "una", "y", "ya", "qué",
    "agora", "ainda", "antes", "com", "da", "dos", "ele", "essa", "esse", "foi", "isso", "não",
    "nas", "neste", "nesta", "nós", "os", "pelo", "quando", "sempre", "são", "também", "uma",
    "anche", "che", "dei", "della", "di", "e", "gli", "mai", "nei", "nel", "nella", "non", "per",
    "più", "questa", "questo", "sono", "usa", "usiamo",
    "aan", "altijd", "bij", "dat", "deze", "dit", "een", "geen", "het", "ik", "maar", "naar",
    "niet", "nooit", "ook", "op", "te", "van", "voor", "wij", "zijn",
];

/// Words of English that other languages have too.
const SHARED_WORDS: &[&str] = &["a", "as", "do", "in", "me", "no", "on", "so", "we"];

/// Says whether a sentence is in another language, so that the words of English mean nothing in it.
pub(super) fn is_foreign(sentence: &str) -> bool {
    let (mut foreign, mut english) = (0, 0);
    for word in sentence.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        let word = word.to_lowercase();
        foreign += usize::from(FUNCTION_WORDS.contains(&word.as_str()));
        let is_english = super::words::FUNCTION_WORDS.contains(&word.as_str());
        english += usize::from(is_english && !SHARED_WORDS.contains(&word.as_str()));
    }
    foreign > english || sentence.chars().any(|c| cjk::is_cjk(c) || is_cyrillic(c))
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(&c)
}

/// Returns the statement of a sentence in a language other than English, without the words that
/// introduce it.
pub(super) fn statement(sentence: &str) -> Option<(FactKind, &str)> {
    if sentence.contains(['?', '？', '¿']) {
        return None;
    }
    let ends = ['.', '!', '。', '！', ';', '；', ',', '，', '、'];
    let sentence = sentence.trim().trim_end_matches(ends).trim();
    if sentence.chars().any(cjk::is_cjk) {
        cjk::statement(sentence)
    } else {
        european::statement(sentence)
    }
}

/// Words before a statement that are not part of it, and the kind of fact that they announce.
type Leads = &'static [(&'static str, Option<FactKind>)];

/// Strips the words that introduce a statement, and returns the kind that they announce.
fn strip_leads(leads: Leads, sentence: &str) -> (Option<FactKind>, &str) {
    let mut kind = None;
    let mut rest = sentence;
    while let Some((lead, announced)) = leads.iter().find(|(lead, _)| starts_with(rest, lead)) {
        kind = announced.or(kind);
        let chars = lead.chars().count();
        let end = rest.char_indices().nth(chars);
        rest = rest[end.map_or(rest.len(), |(at, _)| at)..].trim_start();
    }
    (kind, rest)
}

/// Compares without regard to case.
fn starts_with(text: &str, prefix: &str) -> bool {
    let mut chars = text.chars().flat_map(char::to_lowercase);
    prefix.chars().all(|c| chars.next() == Some(c))
}

#[cfg(test)]
mod tests {
    use crate::facts::stated::tests::measure;

    /// At least this share of the sentences that are found must be facts.
    const PRECISION_MIN: f64 = 0.95;
    /// At least this share of the facts must be found.
    const RECALL_MIN: f64 = 0.80;

    #[track_caller]
    fn check(set: &str, shows_errors: bool) {
        let (precision, recall, wrong) = measure(set);
        let wrong = if shows_errors { wrong.as_str() } else { "" };
        assert!(
            precision >= PRECISION_MIN && recall >= RECALL_MIN,
            "precision {precision:.3}, recall {recall:.3}\n{wrong}"
        );
    }

    #[test]
    fn statements_in_other_languages_are_found() {
        check(include_str!("../testdata/languages.tsv"), true);
    }

    /// These sentences were written before the rules, and no rule was chosen to suit one of them.
    #[test]
    fn unseen_statements_in_other_languages_are_found() {
        check(include_str!("../testdata/languages_heldout.tsv"), false);
    }
}
