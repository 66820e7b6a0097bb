//! What a task will probably need: the nearest patterns, facts and records, fetched ahead of the
//! prompts.

use jiff::Timestamp;
use memory::Workspace;
use memory::layers::{Card, CardKey};
use recall::{ItemDecision, NEAR_CONFIDENCE_MIN};
use store::Store;

use super::session::LiveSession;
use super::{item_card, item_key};
use crate::{ServeSettings, prompt};

/// How many items are prefetched for a task.
const ITEMS_MAX: usize = 5;
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
    // Capsules and items are on the scale of the gate; of equal ones, capsules come first.
    let capsules = store.capsules(&live.workspace)?;
    let near = recall::find_near_capsules(store, &live.workspace, &capsules, &request.prompt, now)?;
    let near = near.iter().filter_map(|hit| {
        let capsule = capsules.get(hit.index)?;
        Some((hit.confidence, capsule.card_key(), capsule.card()))
    });
    let mut cards: Vec<_> = near.collect();
    if recalled.confidence >= NEAR_CONFIDENCE_MIN {
        let mut items = recalled.considered;
        items.retain(|item| item.decision == ItemDecision::Injected);
        items.sort_by(|a, b| b.score.total_cmp(&a.score));
        let card = |item: recall::ConsideredItem| {
            let (key, card) = (item_key(item.item), item_card(item.item, &item.text));
            (recalled.confidence, key, card)
        };
        cards.extend(items.into_iter().map(card));
    }
    cards.sort_by(|a, b| b.0.total_cmp(&a.0));
    cards.truncate(ITEMS_MAX);
    Ok(cards
        .into_iter()
        .map(|(_, key, card)| (key, card))
        .collect())
}
