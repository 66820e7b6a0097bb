//! The features of a record and their fitted weights.
//!
//! One set of weights serves every kind of corpus. What depends on the corpus is a feature too: in
//! a chat a person's words weigh more than in a log that is mostly tool calls.

use memory::RecordKind;

use super::bm25::K1;
use super::model::linear_model;
use super::{ScoreContext, ScorePart, ScoredRecord};
use crate::query::preferences::PreferenceCues;
use crate::query::{ParsedQuestion, utterance};
use crate::retrieve::TermSet;
use crate::retrieve::exchanges::ExchangeRole;

/// Logarithms of sizes in bytes are divided by this: e¹⁰ bytes are 22 kB, so that the feature lies
/// between 0 and 1 for nearly all records.
pub(crate) const LOG_BYTES_SCALE: f64 = 10.0;
/// The similarity below which one term does not stand for another in the `similar` features.
pub(crate) const SIMILARITY_MIN: f64 = 0.45;

/// How far into a text the cues of an answer are looked for.
const CUE_BYTES: usize = 1500;
/// Words by which a text names the cause of a problem.
const CAUSE_WORDS: &[&str] = &[
    "because", "bug", "cause", "caused", "causes", "culprit", "due", "issue", "reason", "wrong",
];

/// The signals of a record that depend on the other records that were read.
#[derive(Debug)]
pub(crate) struct PeerSignals {
    /// BM25 of the best passage and of the whole text.
    pub(crate) lexical: f64,
    pub(crate) text_lexical: f64,
    /// The best of each among the neighbours that were read.
    pub(crate) nearby_lexical: f64,
    pub(crate) nearby_cosine: Option<f64>,
    /// The share of the query that the record and its neighbours hold or come near to.
    pub(crate) nearby_similar: f64,
    /// The lexical score of the question right before the record; 0 where there is none.
    pub(crate) question_lexical: f64,
    pub(crate) session_lexical: f64,
    pub(crate) session_best: f64,
    /// The score of the best window of consecutive records in the session.
    pub(crate) window: f64,
    pub(crate) rank_lexical: f64,
    pub(crate) rank_cosine: f64,
    pub(crate) rank_similar: f64,
}

linear_model! {
    /// The features of a record, relative to the query and to the other records that were read.
    pub struct RecordFeatures;

    fn compute(
        context: &ScoreContext,
        query: &ParsedQuestion,
        record: &ScoredRecord,
        peers: &PeerSignals,
    ) {
        let candidate = &record.candidate;
        let text = &record.text_match;
        let kind = record.row.kind;
        let has_speaker = record.row.speaker.is_some();
        let share = |terms: TermSet| context.idf_share(|at| f64::from(terms >> at & 1));
        let relative = |value: f64, mean: f64, max: f64| {
            ((value - mean) / (max - mean).max(1e-6)).clamp(-1.0, 1.0)
        };
        let relative_cosine =
            |value: f64| relative(value, context.cosine_mean, context.cosine_max);
        let lexical_max = context.lexical_max.max(1e-9);
        let text_lexical_max = context.text_lexical_max.max(1e-9);
        let matched = record.matched_terms();
        let matched_nearby = record.matched_terms_nearby();
        let rarest_term: TermSet = 1 << context.rarest_term;
        // A speaker with a name is a person, even where the log files the words under the agent.
        let is_person = kind == RecordKind::Prompt || has_speaker;
        let is_model = kind == RecordKind::Assistant && !is_person;
        let is_tool =
            !matches!(kind, RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary);
        // Squared: among tool calls, the records beside a record are seldom about the same thing.
        let chat = context.chat_share * context.chat_share;
        // A person's words to a model, as far as the records are a chat.
        let is_prompt = kind == RecordKind::Prompt && !has_speaker;
        let prompt_in_chat = chat * f64::from(is_prompt);
        let length = (f64::from(candidate.attributes.size_bytes) + 1.0).ln() / LOG_BYTES_SCALE;
        let (first_row, last_row) = context.row_span;
        let cues = if kind == RecordKind::Prompt {
            PreferenceCues::detect(&record.row.text)
        } else {
            PreferenceCues::default()
        };
        let is_opening = record.records_before == 0;
        let is_later = record.records_before > 1 && !has_speaker;
        // What answers a question in a log of tool calls is mostly the end of an agent's turn.
        let asks_log = f64::from(query.asks && !has_speaker) * (1.0 - chat);
        let is_announcement =
            query.asks && is_model && utterance::is_announcement(&record.row.text);
        let exchange = if is_model && !is_announcement {
            record.exchange
        } else {
            ExchangeRole::default()
        };
        let is_output =
            matches!(kind, RecordKind::ToolResult | RecordKind::Error | RecordKind::Artifact);
        let head = &record.row.text[..record.row.text.floor_char_boundary(CUE_BYTES)];
    }

    /// BM25 of the best passage, 1 for the best record.
    lexical = peers.lexical / lexical_max => 1.37;
    /// BM25 of the best passage, 1 if every term occurred without end.
    lexical_share = peers.lexical / (context.idf_sum * (K1 + 1.0)) => -1.66;
    /// The share of the query's weight that the record holds.
    coverage = share(matched) => -1.31;
    coverage_nearby = share(matched_nearby) * chat => 0.21;
    /// The share that occurs as it was typed.
    exact = share(text.exact) => 0.44;
    /// The share that closely follows the term before it in the query.
    adjacent = share(text.adjacent) => 2.55;
    /// The cosine of the whole text, relative to the mean and the best of all records.
    cosine_text = relative_cosine(f64::from(text.cosine)) => 0.16;
    /// The same for the best passage.
    cosine_passage = relative(
        f64::from(text.cosine_max), context.passage_cosine_mean, context.passage_cosine_max
    ) => 0.24;
    cosine_raw = f64::from(text.cosine_max) => 1.15;
    /// The share that the record holds, or has a similar word for.
    similar = context.similar_share(record, SIMILARITY_MIN) => 0.36;
    session_lexical = peers.session_lexical => 1.88;
    session_best = peers.session_best => -0.16;
    /// The query names the speaker of the record.
    speaker = f64::from(candidate.speaker != 0) => 0.40;
    /// The query names a speaker, and another one speaks.
    other_speaker =
        f64::from(context.speaker_terms != 0 && candidate.speaker == 0 && has_speaker) => -0.40;
    person = f64::from(is_person) => 0.40;
    model = f64::from(is_model) => 0.00;
    tool = f64::from(is_tool) => -0.20;
    person_in_chat = f64::from(is_person) * chat => 0.36;
    person_length = length * f64::from(is_person) => -1.14;
    question = f64::from(text.is_question) => 0.19;
    date = query.dates.match_day(candidate.attributes.day) => 4.16;
    time_for_time = f64::from(query.asks_for_time && text.has_time) => 1.35;
    nearby_lexical = chat * peers.nearby_lexical / lexical_max => 0.85;
    nearby_cosine =
        peers.nearby_cosine.map_or(0.0, |cosine| chat * relative_cosine(cosine)) => 0.43;
    /// BM25 of the whole text, 1 for the best record.
    text_lexical = peers.text_lexical / text_lexical_max => 1.08;
    lexical_and_cosine = lexical * cosine_passage.max(0.0) => -0.20;
    other_length = length * f64::from(!is_person) => -1.50;
    /// Where the record lies between the first and the last record that was read.
    recency = (candidate.row - first_row) as f64 / ((last_row - first_row) as f64).max(1.0)
        => 0.05;
    /// Like `similar`, with every similarity counted.
    similar_soft = context.similar_share(record, 0.0) => 2.72;
    nearby_similar = chat * peers.nearby_similar => 1.09;
    /// The record holds the rarest term.
    rarest = f64::from(matched & rarest_term != 0) => -0.47;
    rarest_nearby = f64::from(matched_nearby & rarest_term != 0) * chat => 0.00;
    rank_lexical = peers.rank_lexical => 0.99;
    rank_cosine = peers.rank_cosine => 0.44;
    rank_similar = peers.rank_similar => 0.48;
    /// The record comes right after a question that holds the query's words.
    follows_question = chat * peers.question_lexical / lexical_max => 1.31;
    number_for_count = f64::from(query.asks_for_count && text.has_number) => 1.64;
    window = peers.window => 0.79;
    text_lexical_in_chat = chat * peers.text_lexical / text_lexical_max => -1.55;
    cosine_passage_in_chat = chat * cosine_passage => 0.00;
    session_lexical_in_chat = chat * peers.session_lexical => -1.11;
    adjacent_in_chat = chat * adjacent => 0.78;
    named = f64::from(has_speaker) => 0.00;
    standing = prompt_in_chat * f64::from(cues.is_standing) => 1.09;
    standing_for_advice =
        prompt_in_chat * f64::from(cues.is_standing && query.asks_for_advice) => 3.03;
    preference = prompt_in_chat * f64::from(cues.is_preference) => -0.50;
    preference_for_advice =
        prompt_in_chat * f64::from(cues.is_preference && query.asks_for_advice) => 3.21;
    prompt_for_overview = prompt_in_chat * f64::from(query.asks_for_overview) => -0.89;
    model_for_overview = f64::from(is_model && query.asks_for_overview) => -0.75;
    /// The record opens its session.
    opening = prompt_in_chat * f64::from(is_opening) => 2.16;
    opening_for_overview =
        prompt_in_chat * f64::from(is_opening && query.asks_for_overview) => -0.96;
    later = f64::from(is_later) => 0.74;
    later_for_overview = later * f64::from(query.asks_for_overview) => -0.91;

    /// The record is the last text of an agent's turn.
    concludes = asks_log * f64::from(exchange.concludes) => 1.32;
    /// The share that the prompt of the turn holds.
    asked = asks_log * share(exchange.asked) => 2.45;
    concludes_asked = concludes * share(exchange.asked) => 1.52;
    /// The share that the prompt and the last text of its turn hold together.
    exchange_coverage = concludes * share(exchange.asked | matched) => 3.10;
    concludes_length = concludes * length => 0.32;
    call_for_question = asks_log * f64::from(is_tool && !is_output) => -2.07;
    output_for_question = asks_log * f64::from(is_output) => -1.50;
    prompt_for_question = asks_log * f64::from(is_prompt) => -0.56;
    announcement = asks_log * f64::from(is_announcement) => -0.41;
    cause_for_why =
        asks_log * f64::from(is_model && query.asks_for_cause && names_cause(head)) => 0.50;
    place_for_where =
        asks_log * f64::from(is_model && query.asks_for_place && names_file(head)) => 0.49;

    // Squares let a strong feature count less and less; the other products let people count
    // otherwise than models, and people who talk to each other otherwise than to a model.
    lexical_x_lexical = lexical * lexical => 0.33;
    similar_x_similar = similar * similar => -0.42;
    coverage_x_coverage = coverage * coverage => -0.33;
    cosine_passage_x_cosine_passage = cosine_passage * cosine_passage => 0.54;
    person_length_x_person_length = person_length * person_length => -1.44;
    other_length_x_other_length = other_length * other_length => -1.00;
    text_lexical_x_text_lexical = text_lexical * text_lexical => -0.53;
    session_lexical_x_session_lexical = session_lexical * session_lexical => 1.00;
    lexical_x_person_in_chat = lexical * person_in_chat => 1.20;
    coverage_x_person_in_chat = coverage * person_in_chat => -1.19;
    similar_x_person_in_chat = similar * person_in_chat => 0.96;
    cosine_passage_x_person_in_chat = cosine_passage * person_in_chat => 0.13;
    adjacent_x_person_in_chat = adjacent * person_in_chat => 0.41;
    text_lexical_x_person_in_chat = text_lexical * person_in_chat => -0.39;
    session_lexical_x_person_in_chat = session_lexical * person_in_chat => -1.31;
    person_length_x_person_in_chat = person_length * person_in_chat => 0.41;
    lexical_x_named = lexical * named => -0.39;
    similar_x_named = similar * named => 1.45;
    cosine_passage_x_named = cosine_passage * named => -0.69;
    person_length_x_named = person_length * named => 2.61;
    coverage_x_named = coverage * named => 0.10;
    text_lexical_x_named = text_lexical * named => -0.18;
    session_lexical_x_named = session_lexical * named => 0.73;
    adjacent_x_named = adjacent * named => -2.25;
    nearby_lexical_x_named = nearby_lexical * named => 0.23;
    nearby_cosine_x_named = nearby_cosine * named => 0.22;
    question_x_named = question * named => -0.97;
    cosine_passage_x_standing = cosine_passage * standing => 1.14;
}

fn names_cause(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic());
    words.any(|word| {
        CAUSE_WORDS
            .iter()
            .any(|cause| word.eq_ignore_ascii_case(cause))
    })
}

/// Returns whether a text names a file or a folder: a word with a slash, or with a dot inside.
fn names_file(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.split(|c: char| !is_part(c) && !matches!(c, '/' | '.'))
        .any(|word| {
            word.split(['/', '.'])
                .filter(|part| part.len() > 1 && part.chars().all(is_part))
                .count()
                > 1
        })
}

impl RecordFeatures {
    /// Returns what each feature adds to the score; features that add nothing are left out.
    pub(crate) fn score_parts(&self) -> Vec<ScorePart> {
        let named = Self::NAMES.iter().zip(self.values()).zip(Self::WEIGHTS);
        named
            .map(|((name, value), weight)| ScorePart {
                name,
                value,
                points: value * weight,
            })
            .filter(|part| part.points != 0.0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_weights_match() {
        let features = RecordFeatures {
            lexical: 0.5,
            cosine_passage_x_standing: 0.25,
            ..RecordFeatures::default()
        };
        let parts = features.score_parts();
        let shown: Vec<_> = parts.iter().map(|part| (part.name, part.value)).collect();
        assert_eq!(
            shown,
            [("lexical", 0.5), ("cosine_passage_x_standing", 0.25)]
        );
        let sum: f64 = parts.iter().map(|part| part.points).sum();
        assert!((sum - features.weighted_sum()).abs() < 1e-12);
    }

    #[test]
    fn products_are_named_for_their_factors() {
        let products = RecordFeatures::NAMES.iter().copied();
        for name in products.filter(|name| name.contains("_x_")) {
            let (a, b) = name.split_once("_x_").unwrap();
            for factor in [a, b] {
                assert!(RecordFeatures::NAMES.contains(&factor), "{name}");
            }
        }
    }
}
