//! Tells what a text is by its form: a question, a report of a problem, an announcement of an
//! agent, a call of a memory tool.
//!
//! A question that was asked before holds all the words of the same question asked again, so it
//! would be the best hit of every search. It contains no information; the agent's answer does.

use memory::RecordKind;
use memory::words::StemmedText;
use store::CandidateRow;

use super::phrases::starts_with_any_phrase;

/// A question that is longer than this and does not begin like one gives context before it asks.
const PLAIN_QUESTION_BYTES: usize = 80;
/// Less text than this after the first sentence does not make a question more than a question.
const AFTERTHOUGHT_BYTES: usize = 60;
/// A text restates the query when this share of its weight consists of the query's stems.
const RESTATED_SHARE: f64 = 0.7;
/// A text has the query's topic when it holds this share of the query's weight.
const SAME_TOPIC_SHARE: f64 = 0.65;
/// The content words that two texts of one topic share at least.
const SAME_TOPIC_WORDS_MIN: usize = 2;
/// A text that weighs more has several topics; a content word weighs 1.
const SAME_TOPIC_WEIGHT_MAX: f64 = 12.0;
/// A longer text that begins like an announcement goes on to say something else.
const ANNOUNCEMENT_BYTES_MAX: usize = 240;

/// First words of questions that give no context before they ask.
const QUESTION_OPENINGS: &[&str] = &[
    "am", "any", "are", "can", "could", "did", "do", "does", "explain", "has", "have", "how", "is",
    "may", "please", "shall", "should", "so", "was", "were", "what", "whats", "when", "where",
    "which", "who", "whose", "why", "will", "would",
];
/// First words of questions without a question mark; a verb of [`AUXILIARIES`] must be near.
const INTERROGATIVES: &[&str] = &[
    "how", "what", "when", "where", "which", "who", "whose", "why",
];
const AUXILIARIES: &[&str] = &[
    "are", "arent", "can", "cant", "could", "did", "didnt", "do", "does", "doesnt", "dont", "has",
    "have", "is", "isnt", "must", "shall", "should", "was", "wasnt", "were", "will", "wont",
    "would",
];
/// Pronouns that turn "what we do is …" into a statement.
const SUBJECTS: &[&str] = &["he", "i", "it", "she", "they", "this", "we", "you"];
/// Beginnings of requests for information, which need no question mark.
const REQUESTS: &[&[&str]] = &[
    &["tell", "me"],
    &["remind", "me"],
    &["show", "me"],
    &["give", "me", "the"],
    &["explain"],
    &["recall"],
    &["do", "you", "know"],
    &["do", "you", "remember"],
    &["i", "want", "to", "know"],
    &["i", "need", "to", "know"],
    &["i", "wonder"],
    &["look", "up"],
    &["find", "out"],
    &["search", "memory"],
    &["search", "the", "memory"],
    &["search", "your", "memory"],
    &["check", "memory"],
    &["check", "the", "memory"],
    &["ask", "memory"],
    &["use", "memory_search"],
];
/// Beginnings of words by which people report that something is wrong.
const PROBLEM_STEMS: &[&str] = &[
    "again", "broke", "cannot", "cant", "clos", "crash", "didnt", "doesnt", "error", "fail",
    "freez", "hang", "isnt", "lose", "losing", "lost", "missing", "not", "off", "refus", "reject",
    "slow", "stuck", "unable", "wont", "wrong",
];
/// Beginnings of sentences in which an agent announces its next step.
const ANNOUNCEMENT_OPENINGS: &[&[&str]] = &[
    &["let", "me"],
    &["let", "s"],
    &["lets"],
    &["i", "ll"],
    &["ill"],
    &["i", "will"],
    &["i", "am", "going", "to"],
    &["i", "m", "going", "to"],
    &["now", "let", "me"],
    &["now", "i"],
    &["first", "let", "me"],
    &["first", "i"],
    &["sure", "let", "me"],
    &["ok", "let", "me"],
    &["okay", "let", "me"],
    &["good", "let", "me"],
    &["looking", "at"],
    &["looking", "into"],
    &["checking"],
    &["searching"],
    &["reading"],
];
/// Parts of the names of tools that query a memory.
const MEMORY_TOOLS: &[&str] = &["throughline", "memory", "recall", "conversation_search"];
/// Shell commands that query this memory.
const MEMORY_COMMANDS: &[&str] = &[
    "throughline search", "throughline context", "throughline how", "throughline fix",
    "throughline show", "throughline blame", "throughline facts",
];

/// The words that an opening phrase is looked for in; every phrase is shorter.
const OPENING_WORDS: usize = 16;

/// Returns whether a prompt is a question and nothing else, and so contains no information.
pub fn is_bare_question(text: &str) -> bool {
    let mut sentences = sentences(text);
    let first = sentences.next().unwrap_or_default().trim();
    let rest: usize = sentences.map(str::len).sum();
    if rest >= AFTERTHOUGHT_BYTES {
        return false;
    }
    let words = opening_words(first);
    let opens = words
        .first()
        .is_some_and(|word| QUESTION_OPENINGS.contains(&word.as_str()));
    if first.ends_with('?') {
        // A question that first states context is still informative.
        return first.len() < PLAIN_QUESTION_BYTES || opens;
    }
    is_unmarked_question(&words)
}

/// Returns whether any sentence of a prompt is a question.
pub(crate) fn has_question(text: &str) -> bool {
    sentences(text).any(|sentence| {
        let sentence = sentence.trim();
        sentence.ends_with('?') || is_unmarked_question(&opening_words(sentence))
    })
}

/// Returns whether words form a question that was typed without its question mark.
fn is_unmarked_question(words: &[String]) -> bool {
    let [first, rest @ ..] = words else {
        return false;
    };
    // A request names something after its phrase: "explain" alone asks for nothing.
    if starts_with_any_phrase(&words[..rest.len()], REQUESTS) {
        return true;
    }
    let is_subject = |word: &String| SUBJECTS.contains(&word.as_str());
    INTERROGATIVES.contains(&first.as_str())
        && rest.first().is_some_and(|second| !is_subject(second))
        && rest
            .iter()
            .take(4)
            .any(|word| AUXILIARIES.contains(&word.as_str()))
}

/// Returns whether a text says little more than the query.
pub(crate) fn restates_query(query: &StemmedText, text: &StemmedText) -> bool {
    let weight = text.stem_weight();
    let shared: f64 = text
        .stems
        .intersection(&query.stems)
        .map(|stem| memory::words::weight(stem))
        .sum();
    weight > 0.0 && shared / weight >= RESTATED_SHARE
}

/// Returns whether a text has the same topic as the query: it restates the query, or holds most of
/// its weight.
pub(crate) fn is_same_topic(query: &StemmedText, text: &StemmedText) -> bool {
    let shared = || query.stems.intersection(&text.stems);
    let content_words = shared().filter(|stem| memory::words::weight(stem) >= 1.0);
    let weight: f64 = shared().map(|stem| memory::words::weight(stem)).sum();
    // "Keep going" occurs in sessions on every topic, and a long text mentions several.
    content_words.count() >= SAME_TOPIC_WORDS_MIN
        && text.stem_weight() <= SAME_TOPIC_WEIGHT_MAX
        && (restates_query(query, text)
            || weight / query.stem_weight().max(1e-9) >= SAME_TOPIC_SHARE)
}

/// Returns whether a prompt asks something or reports that something is wrong.
pub(crate) fn reports_problem(text: &str) -> bool {
    let words = plain_words(text);
    let is_problem = |word: &String| PROBLEM_STEMS.iter().any(|stem| word.starts_with(stem));
    has_question(text) || words.iter().any(|word| word == "no" || is_problem(word))
}

/// Returns whether an agent only announces its next step.
pub fn is_announcement(text: &str) -> bool {
    if text.len() > ANNOUNCEMENT_BYTES_MAX {
        return false;
    }
    starts_with_any_phrase(&opening_words(text), ANNOUNCEMENT_OPENINGS)
}

/// Returns whether a record is a call of a memory tool, or its result.
pub(crate) fn is_memory_call(record: &CandidateRow) -> bool {
    if !matches!(
        record.kind,
        RecordKind::ToolUse | RecordKind::ToolResult | RecordKind::Error
    ) {
        return false;
    }
    is_memory_tool(record.tool.as_deref().unwrap_or_default())
        || (record.kind == RecordKind::ToolUse && runs_memory_command(&record.text))
}

/// Returns whether a tool queries a memory, by its name.
pub fn is_memory_tool(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    MEMORY_TOOLS.iter().any(|name| tool.contains(name))
}

/// Returns whether a shell command queries this memory.
pub fn runs_memory_command(text: &str) -> bool {
    MEMORY_COMMANDS.iter().any(|command| text.contains(command))
}

/// Returns the sentences of a text with their end marks. A dot inside a name ends no sentence.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = sentence_end(rest);
            let (sentence, tail) = rest.split_at(end);
            rest = tail;
            if sentence.trim().len() > 1 {
                return Some(sentence);
            }
        }
        None
    })
}

fn sentence_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Returns the words of a text in lower case; "don't" becomes "dont".
pub(crate) fn plain_words(text: &str) -> Vec<String> {
    split_plain_words(text).collect()
}

/// Returns the first words of a text: enough to compare them with any opening phrase.
fn opening_words(text: &str) -> Vec<String> {
    split_plain_words(text).take(OPENING_WORDS).collect()
}

fn split_plain_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '_'))
        .map(|word| {
            let letters = word.chars().filter(|c| c.is_alphanumeric() || *c == '_');
            letters.flat_map(char::to_lowercase).collect::<String>()
        })
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_phrases_are_shorter_than_what_they_are_looked_for_in() {
        for phrase in REQUESTS.iter().chain(ANNOUNCEMENT_OPENINGS) {
            assert!(phrase.len() < OPENING_WORDS, "{phrase:?}");
        }
    }

    #[test]
    fn bare_questions() {
        for text in [
            "How do we deploy?",
            "and the staging one?",
            "What's the best way to keep the deploy keys of all our clusters in one safe place?",
            "tell me the port that metrics are served on",
            "which port does the metrics endpoint use",
            "search the memory for metrics",
            "why does grafana not show staging logs",
        ] {
            assert!(is_bare_question(text), "{text}");
        }
        for text in [
            "I keep the deploy keys in the vault of the team since May, how do I rotate them?",
            "Deploy from the release branch only.",
            "What we do is deploy from main.",
            "Show the total in euros.",
            "How it works: the worker polls every 5 s.",
        ] {
            assert!(!is_bare_question(text), "{text}");
        }
        assert!(has_question(
            "grafana shows no logs again, what was it last time?"
        ));
        assert!(!has_question(
            "Add a section on how to reach the metrics endpoint"
        ));
    }

    #[test]
    fn a_query_is_restated_by_its_own_words() {
        let query = StemmedText::parse("What port does the metrics endpoint listen on?");
        let says = |text: &str| restates_query(&query, &StemmedText::parse(text));
        assert!(says("which port does the metrics endpoint use?"));
        assert!(!says(
            "we decided to use port 8123 for the metrics endpoint, not the default 9090"
        ));
        assert!(!says(""));
    }

    #[test]
    fn announcements() {
        assert!(is_announcement("Let me check the metrics module."));
        assert!(is_announcement("I'll look at the config first."));
        assert!(!is_announcement("The metrics endpoint listens on 8123."));
    }

    #[test]
    fn names_do_not_end_sentences() {
        let all: Vec<_> = sentences("It comes from config.toml. Never hard-code it!").collect();
        assert_eq!(all, ["It comes from config.toml.", " Never hard-code it!"]);
    }
}
