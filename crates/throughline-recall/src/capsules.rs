//! Finds the knowledge capsules that a task has to do with.
//!
//! A capsule is rated as if it were a record of its workspace: it is scored beside the records that
//! the search reads for the same text, with the same statistics of terms, and the gate says how
//! confident the search would be if the capsule were its best hit. So the floor is on the scale of
//! the gate, which is fitted on records, and not a bare similarity.
//!
//! The history of a workspace is about all of its tasks and therefore near to none.

use jiff::Timestamp;
use memory::layers::{Capsule, CapsuleKind};
use memory::words::StemmedText;
use memory::{RecordId, RecordKind, SessionId, Trust};
use store::{CandidateRow, Presence, Query, RowAttributes, Store};

use crate::gate::GateFeatures;
use crate::query::{ParsedQuestion, RecallQuery};
use crate::retrieve::{Candidate, find_candidates};
use crate::score::embedding::EmbeddingTable;
use crate::score::passages::PassageReader;
use crate::score::reading::{self, ReadRecords};
use crate::score::{self, ScoredRecord};

/// Below this confidence of the gate a capsule has nothing to do with the text.
pub const NEAR_CONFIDENCE_MIN: f64 = 0.75;
/// Records that are read and scored beside the capsules.
const READ_MAX: usize = 32;
/// A capsule below more records than this is not near. The gate compares the best hit with the
/// twentieth after it, so a capsule further down would be compared with too few records, and their
/// absence would look like agreement.
const RECORDS_BEFORE_MAX: usize = 11;
const CANDIDATES_MAX: usize = 1_000;

/// A capsule that has to do with a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapsuleHit {
    /// The position in the list that was searched.
    pub index: usize,
    /// The confidence of the gate, between 0 and 1.
    pub confidence: f64,
}

/// Returns the capsules of a workspace of which the gate is at least [`NEAR_CONFIDENCE_MIN`]
/// confident, the nearest first.
pub fn find_near_capsules(
    store: &Store,
    workspace: &str,
    capsules: &[Capsule],
    text: &str,
    now: Timestamp,
) -> store::Result<Vec<CapsuleHit>> {
    let mut hits = rate_capsules(store, workspace, capsules, text, now)?;
    hits.retain(|hit| hit.confidence >= NEAR_CONFIDENCE_MIN);
    Ok(hits)
}

/// Rates every capsule that holds a term of the text, the nearest first.
fn rate_capsules(
    store: &Store,
    workspace: &str,
    capsules: &[Capsule],
    text: &str,
    now: Timestamp,
) -> store::Result<Vec<CapsuleHit>> {
    let question = ParsedQuestion::parse(text, now);
    if question.terms.is_empty() || capsules.is_empty() {
        return Ok(Vec::new());
    }
    let query = RecallQuery {
        query: Query {
            text: text.to_owned(),
            workspace_key: Some(workspace.to_owned()),
            limit: READ_MAX,
            ..Query::default()
        },
        home_workspace: Some(workspace.to_owned()),
        read_max: Some(READ_MAX),
        ..RecallQuery::default()
    };
    store.lookup(|lookup| {
        let Some(scope) = lookup.scope(&query.query)? else {
            return Ok(Vec::new());
        };
        let candidates = find_candidates(lookup, &query.query, &scope, &question, CANDIDATES_MAX)?;
        let mut reader = PassageReader::new(&question, EmbeddingTable::load());
        let ReadRecords {
            mut records,
            chat_share,
        } = reading::read_candidates(lookup, &query, &question, &candidates, &mut reader)?;
        let tasks = (0_u32..).zip(capsules);
        let tasks = tasks.filter(|(_, capsule)| capsule.kind != CapsuleKind::History);
        let as_records =
            tasks.map(|(number, capsule)| capsule_record(number, capsule, workspace, &mut reader));
        records.extend(as_records.filter(|record| record.text_match.matched != 0));
        let home = Some(workspace);
        let ranked = score::score_records(&question, &candidates, records, chat_share, home);
        // The gate compares a capsule with records, not with other capsules.
        let (capsules, mut records): (Vec<_>, Vec<_>) = ranked
            .into_iter()
            .partition(|record| capsule_index(record.candidate.row).is_some());
        let prompt_weight = StemmedText::parse(text).stem_weight();
        let mut hits = Vec::new();
        for capsule in capsules {
            let at = records.partition_point(|record| record.score >= capsule.score);
            let Some(index) = capsule_index(capsule.candidate.row) else {
                continue;
            };
            if at > RECORDS_BEFORE_MAX {
                continue;
            }
            records.insert(at, capsule);
            let rest = &records[at..];
            let gate = GateFeatures::compute(prompt_weight, &question, &candidates, rest);
            hits.push(CapsuleHit {
                index,
                confidence: gate.confidence(),
            });
            records.remove(at);
        }
        // Equally rated capsules keep the order of their scores.
        hits.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Ok(hits)
    })
}

/// Returns a capsule as a record. Its row number is negative, as no record's is, and it shares its
/// session with no record.
fn capsule_record(
    number: u32,
    capsule: &Capsule,
    workspace: &str,
    reader: &mut PassageReader<'_>,
) -> ScoredRecord {
    let text = capsule.full_text();
    let attributes = RowAttributes {
        session: u32::MAX - number,
        day: 0,
        kind: RecordKind::Summary,
        size_bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
    };
    let text_match = reader.match_text(&text);
    let row = -1 - i64::from(number);
    let candidate = Candidate {
        matched: text_match.matched,
        ..Candidate::new(row, attributes)
    };
    let row = CandidateRow {
        row,
        id: RecordId::from_bytes([0; 16]),
        kind: RecordKind::Summary,
        trust: Trust::Tool,
        at: Some(capsule.at),
        session: SessionId::new(capsule.id()),
        title: None,
        workspace: Some(workspace.to_owned()),
        tool: None,
        path: None,
        speaker: None,
        tags: Vec::new(),
        metadata: None,
        submitted_id: None,
        presence: Presence::InSource,
        text,
        digest_only: false,
    };
    ScoredRecord::new(candidate, row, text_match, 0)
}

fn capsule_index(row: i64) -> Option<usize> {
    usize::try_from(-1 - row).ok()
}

#[cfg(test)]
mod tests {
    use memory::Tokens;
    use testkit::store::store;

    use super::*;

    const WORKSPACE: &str = "example.com/shop";

    fn capsule(name: &str, text: &str) -> Capsule {
        Capsule {
            kind: CapsuleKind::Pattern,
            name: name.to_owned(),
            at: testkit::store::START,
            patterns: Vec::new(),
            summary: text.to_owned(),
            text: String::new(),
            tokens: Tokens(20),
            original_tokens: Tokens(200),
            made_of: Vec::new(),
        }
    }

    #[test]
    fn a_capsule_about_the_task_is_near_and_another_is_not() {
        let mut script = String::from("session s1 in /src/shop\n");
        for number in 0..30 {
            script +=
                &format!("u change page {number} of the catalogue\na Page {number} is done.\n");
        }
        let store = store(&script);
        let capsules = [
            capsule(
                "tabs",
                "diag gofmt/indent tabs expected in templates in 4 sessions",
            ),
            capsule(
                "wrapcheck",
                "diag golangci/wrapcheck error returned from the payment gateway is unwrapped in \
                 9 sessions of Claude Code",
            ),
        ];
        let near = |text: &str| {
            let hits =
                find_near_capsules(&store, WORKSPACE, &capsules, text, testkit::store::START);
            let hits = hits.unwrap().into_iter();
            hits.map(|hit| capsules[hit.index].name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            near("wrapcheck says the error returned from the payment gateway is unwrapped"),
            ["wrapcheck"]
        );
        assert_eq!(near("write a poem about the sea"), Vec::<String>::new());
        assert_eq!(near(""), Vec::<String>::new());
    }
}
