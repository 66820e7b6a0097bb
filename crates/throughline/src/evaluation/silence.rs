//! What prompts get without asking, measured through the same function that hooks call.

use jiff::Timestamp;
use memory::MemoryItem;
use recall::{
    ItemDecision, PromptHits, PromptRequest, RecallAnswer, RecallConfig, RecallEnv,
    find_prompt_hits,
};
use store::Store;

use crate::evaluation::corpus::{self, EvalStore};

/// What people type without asking memory for anything, a line each.
const EVERYDAY: &str = include_str!("everyday.txt");

pub fn everyday_prompts() -> impl Iterator<Item = &'static str> {
    EVERYDAY.lines().filter(|line| !line.is_empty())
}

/// What came of a prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptReaction {
    /// Something is injected by default.
    pub injects: bool,
    /// How sure the search is of the best record that may be shown; 0 where none may.
    pub confidence: f64,
    /// What the confidence was made of.
    pub gate: recall::GateFeatures,
    /// Names of the records that are shown, or would be if the gate were open.
    pub shown: Vec<String>,
}

/// Sends a prompt as somebody would who works in the workspace of a namespace.
pub fn send_prompt(
    library: &EvalStore,
    ns: &str,
    prompt: &str,
    now: Timestamp,
) -> anyhow::Result<PromptReaction> {
    let occasion = PromptRequest {
        prompt: prompt.to_owned(),
        workspace: Some(corpus::workspace_key(ns)),
        ..PromptRequest::default()
    };
    let mut found = None;
    let usual = recall_once(
        library,
        &occasion,
        &RecallConfig::default(),
        now,
        &mut found,
    )?;
    if usual.injects || found.is_none() {
        return Ok(usual);
    }
    let open = RecallConfig {
        gate: 0.0,
        ..RecallConfig::default()
    };
    Ok(PromptReaction {
        injects: false,
        ..recall_once(library, &occasion, &open, now, &mut found)?
    })
}

/// Sends a prompt once. What was found the time before is not looked for again.
fn recall_once(
    library: &EvalStore,
    occasion: &PromptRequest,
    config: &RecallConfig,
    now: Timestamp,
    known: &mut Option<PromptHits>,
) -> anyhow::Result<PromptReaction> {
    let world = RecallEnv {
        now,
        fence_word: "measure",
        changed_since: &|_, _| false,
    };
    let mut reaction = PromptReaction::default();
    let find = |store: &Store, asked: &PromptRequest, now: Timestamp| {
        let found = match known.take() {
            Some(found) => found,
            None => find_prompt_hits(store, asked, now)?,
        };
        reaction.gate = found.gate;
        *known = Some(found.clone());
        Ok(found)
    };
    let recalled = recall::recall(&library.store, occasion, config, &world, find)?;
    reaction.injects = matches!(recalled.answer, RecallAnswer::Inject(_));
    for considered in &recalled.considered {
        if considered.decision == ItemDecision::Injected
            && let MemoryItem::Record(id) = considered.item
        {
            reaction.confidence = reaction.confidence.max(considered.score);
            reaction
                .shown
                .extend(library.corpus_id(id).map(str::to_owned));
        }
    }
    Ok(reaction)
}
