//! Sends prompts through the function that hooks call, and tells what would be injected.

use jiff::Timestamp;
use memory::{MemoryItem, RecordId};
use recall::{
    ContextPack, ItemDecision, PromptHits, PromptRequest, RankedHit, RecallAnswer, RecallConfig,
    RecallEnv, RejectReason, find_prompt_hits,
};
use store::Store;

use crate::corpus::{self, EvalStore};

/// Prompts that need nothing from memory, one per line.
const EVERYDAY: &str = include_str!("everyday_prompts.txt");

pub(crate) fn everyday_prompts() -> impl Iterator<Item = &'static str> {
    EVERYDAY.lines().filter(|line| !line.is_empty())
}

/// What a prompt would get.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptReaction {
    /// The default configuration injects something.
    pub(crate) injects: bool,
    /// The confidence of the best record that may be injected, or 0 without such a record.
    pub(crate) confidence: f64,
    /// The features from which the confidence was computed.
    pub(crate) gate: recall::GateFeatures,
    /// Corpus ids of the records that are injected, or that would be if the gate were open, and of
    /// the questions that are shown with their answers.
    pub(crate) shown: Vec<String>,
}

/// What a prompt to a store of real logs would get.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogPromptReaction {
    pub(crate) injects: bool,
    pub(crate) confidence: f64,
    pub(crate) gate: recall::GateFeatures,
    /// The records that are injected, or that would be if the gate were open, and the questions
    /// that are shown with their answers.
    pub(crate) shown: Vec<RecordId>,
    /// The records that are not, and why.
    pub(crate) rejected: Vec<(RecordId, RejectReason)>,
}

/// Sends a prompt from the workspace of a namespace.
pub(crate) fn send_prompt(
    eval_store: &EvalStore,
    ns: &str,
    prompt: &str,
    now: Timestamp,
) -> anyhow::Result<PromptReaction> {
    let workspace = Some(corpus::workspace_key(ns));
    let reaction = send_log_prompt(&eval_store.store, workspace, prompt, now)?;
    let corpus_id = |id: &RecordId| eval_store.corpus_id(*id).map(str::to_owned);
    Ok(PromptReaction {
        injects: reaction.injects,
        confidence: reaction.confidence,
        gate: reaction.gate,
        shown: reaction.shown.iter().filter_map(corpus_id).collect(),
    })
}

/// Sends a prompt from a workspace. If the gate rejects everything, sends it again with an open
/// gate, to see what was rejected.
pub(crate) fn send_log_prompt(
    store: &Store,
    workspace: Option<String>,
    prompt: &str,
    now: Timestamp,
) -> anyhow::Result<LogPromptReaction> {
    let request = PromptRequest {
        prompt: prompt.to_owned(),
        workspace,
        ..PromptRequest::default()
    };
    let mut found = None;
    let default = recall_once(store, &request, &RecallConfig::default(), now, &mut found)?;
    if default.injects || found.is_none() {
        return Ok(default);
    }
    let open = RecallConfig {
        gate: 0.0,
        ..RecallConfig::default()
    };
    Ok(LogPromptReaction {
        injects: false,
        ..recall_once(store, &request, &open, now, &mut found)?
    })
}

/// Sends a prompt once. Hits that an earlier call found are taken from `known`.
fn recall_once(
    store: &Store,
    request: &PromptRequest,
    config: &RecallConfig,
    now: Timestamp,
    known: &mut Option<PromptHits>,
) -> anyhow::Result<LogPromptReaction> {
    let env = RecallEnv {
        now,
        fence_word: "measure",
        changed_since: &|_, _| false,
    };
    let mut reaction = LogPromptReaction::default();
    let find = |store: &Store, asked: &PromptRequest, now: Timestamp| {
        let found = match known.take() {
            Some(found) => found,
            None => find_prompt_hits(store, asked, now)?,
        };
        reaction.gate = found.gate;
        *known = Some(found.clone());
        Ok(found)
    };
    let recalled = recall::recall(store, request, config, &env, find)?;
    reaction.injects = matches!(recalled.answer, RecallAnswer::Inject(_));
    for considered in &recalled.considered {
        let MemoryItem::Record(id) = considered.item else {
            continue;
        };
        match considered.decision {
            ItemDecision::Injected => {
                reaction.confidence = reaction.confidence.max(considered.score);
                reaction.shown.push(id);
            }
            ItemDecision::Rejected(reason) => reaction.rejected.push((id, reason)),
        }
    }
    if let (RecallAnswer::Inject(pack), Some(found)) = (&recalled.answer, known) {
        reaction.shown.extend(shown_questions(pack, found));
    }
    Ok(reaction)
}

/// Returns the questions that a pack shows whole with their answers.
fn shown_questions(pack: &ContextPack, found: &PromptHits) -> Vec<RecordId> {
    let head_of = |id: RecordId| {
        let mut items = pack.items.iter();
        let item = items.find(|item| item.item == MemoryItem::Record(id));
        item.map_or("", |item| item.head.as_str())
    };
    let asked = |hit: &RankedHit| {
        let asked = hit.asked.as_ref()?;
        let is_shown = head_of(hit.hit.id).contains(asked.text.trim());
        is_shown.then_some(asked.id)
    };
    found.hits.iter().filter_map(asked).collect()
}
