//! What a prompt gets.

use jiff::Timestamp;
use memory::Workspace;
use recall::{ContextPack, RecallAnswer};
use store::Store;

use crate::{ServeSettings, prompt};

/// Memory's answer to a prompt.
#[derive(Debug)]
pub enum PromptContext {
    Given(ContextPack),
    /// Nothing, and why.
    Silent(&'static str),
}

/// Returns what memory has for a prompt, and counts it as shown.
pub fn prompt_context(
    store: &Store,
    settings: &ServeSettings,
    workspace: &Workspace,
    text: String,
    session: Option<&str>,
    now: Timestamp,
) -> store::Result<PromptContext> {
    if let Some(off) = prompt::injection_off(settings, workspace) {
        return Ok(PromptContext::Silent(off.reason()));
    }
    let occasion = prompt::prompt_request(store, settings, text, session, workspace)?;
    let recalled = prompt::recall_for_prompt(store, settings, &occasion, workspace, now)?;
    match recalled.answer {
        RecallAnswer::Abstain(silence) => Ok(PromptContext::Silent(silence.reason())),
        RecallAnswer::Inject(pack) => {
            if let Err(error) = store.record_injection(prompt::new_injection(&occasion, &pack, now))
            {
                tracing::warn!(%error, "what was shown is not recorded");
            }
            Ok(PromptContext::Given(pack))
        }
    }
}
