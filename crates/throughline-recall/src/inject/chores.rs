//! Chores: testing, building, linting and the like, for which a workspace has known commands.
//!
//! "run the tests" has no keywords to search for, but the command that runs them may be a fact.

use memory::words::StemmedText;
use memory::{Fact, FactKind};
use store::{FactFilter, FactScope, Store};

use super::request::PromptRequest;
use crate::query::utterance;

/// Commands that are compared with a chore.
const COMMANDS_MAX: usize = 40;
/// A prompt that weighs more is about something else than the chore; a content word weighs 1. A
/// question carries more words than an order.
const COMMAND_QUESTION_WEIGHT_MAX: f64 = 4.0;
const COMMAND_TASK_WEIGHT_MAX: f64 = 2.0;
/// Stems of the words for chores.
const CHORES: &[&str] = &[
    "bench", "build", "compil", "deploy", "format", "install", "lint", "migrat", "release", "test",
    "typecheck",
];

/// Adds the commands for the chores that a prompt asks for to the facts about it.
pub(super) fn add_chore_commands(
    store: &Store,
    request: &PromptRequest,
    prompt: &str,
    words: &StemmedText,
    similarity: f64,
    facts: &mut Vec<(Fact, f64)>,
) -> store::Result<()> {
    if !asks_for_command(prompt, words) {
        return Ok(());
    }
    let chores = CHORES.iter().copied();
    let chores: Vec<&str> = chores
        .filter(|chore| words.stems.contains(*chore))
        .collect();
    if chores.is_empty() {
        return Ok(());
    }
    let commands = store.facts(&FactFilter {
        scope: FactScope::Workspaces(request.workspaces()),
        kind: Some(FactKind::Command),
        history: false,
        limit: COMMANDS_MAX,
    })?;
    for command in commands {
        // A fact without a workspace holds everywhere; a chore needs a command of this one.
        let is_here = command.workspace.is_some();
        let stems = StemmedText::parse(&command.text).stems;
        let serves = |chore: &&str| stems.iter().any(|stem| stem.contains(chore));
        if is_here && chores.iter().any(serves) {
            facts.retain(|(fact, _)| fact.id != command.id);
            facts.push((command, similarity));
        }
    }
    Ok(())
}

/// Returns whether a prompt asks how a chore is done, or orders it.
fn asks_for_command(prompt: &str, words: &StemmedText) -> bool {
    let typed = utterance::plain_words(prompt);
    let has = |wanted: &str| typed.iter().any(|word| word == wanted);
    let asks = utterance::has_question(prompt) && (has("how") || has("command"));
    let first = typed.first().map_or("", String::as_str);
    let orders = first == "run" || CHORES.contains(&memory::words::stem(first).as_str());
    let weight_max = if asks {
        COMMAND_QUESTION_WEIGHT_MAX
    } else {
        COMMAND_TASK_WEIGHT_MAX
    };
    (asks || orders) && words.stem_weight() < weight_max
}
