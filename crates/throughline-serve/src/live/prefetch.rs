//! What a task will probably need: the nearest facts and records, fetched ahead of the prompts.

use jiff::Timestamp;
use memory::Workspace;
use memory::layers::{Card, CardKey};
use recall::ItemDecision;
use store::Store;

use super::session::LiveSession;
use super::{item_card, item_key};
use crate::{ServeSettings, prompt};

/// How many items are prefetched for a task.
const ITEMS_MAX: usize = 5;
/// Below this confidence of the gate nothing is near enough.
const CONFIDENCE_MIN: f64 = 0.75;
/// Longer prompts are cut before they are searched.
const PROMPT_CHARS_MAX: usize = 2_000;

/// Returns the cards of the items that are nearest to a task, if the gate is confident of them.
pub(super) fn task_cards(
    store: &Store,
    settings: &ServeSettings,
    live: &LiveSession,
    task: &str,
    now: Timestamp,
) -> store::Result<Vec<(CardKey, Card)>> {
    let workspace = Workspace {
        key: live.workspace.clone(),
        root: live.cwd.clone().unwrap_or_default(),
    };
    if prompt::injection_off(settings, &workspace).is_some() {
        return Ok(Vec::new());
    }
    let task: String = task.chars().take(PROMPT_CHARS_MAX).collect();
    let request = prompt::prompt_request(store, settings, task, None, &workspace)?;
    let config = &settings.injection.recall_in(Some(&workspace));
    let recalled = prompt::recall_for_prompt(store, config, &request, &workspace, now)?;
    if recalled.confidence < CONFIDENCE_MIN {
        return Ok(Vec::new());
    }
    let mut items = recalled.considered;
    items.retain(|item| item.decision == ItemDecision::Injected);
    items.sort_by(|a, b| b.score.total_cmp(&a.score));
    let cards = items.iter().take(ITEMS_MAX);
    let cards = cards.map(|item| (item_key(item.item), item_card(item.item, &item.text)));
    Ok(cards.collect())
}
