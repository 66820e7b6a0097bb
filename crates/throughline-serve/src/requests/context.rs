//! What a prompt gets.

use jiff::Timestamp;
use memory::Workspace;
use recall::{Answer, ContextPack};
use store::Store;

use crate::{Settings, prompt};

/// Memory's answer to a prompt.
#[derive(Debug)]
pub enum Context {
    Given(ContextPack),
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Returns what memory has for a prompt, and counts it as shown.
pub fn context(
    store: &Store,
    settings: &Settings,
    workspace: &Workspace,
    text: String,
    session: Option<&str>,
    now: Timestamp,
) -> store::Result<Context> {
    if let Some(off) = prompt::off(settings, workspace) {
        return Ok(Context::Nothing(off.reason()));
    }
    let occasion = prompt::occasion(store, settings, text, session, workspace)?;
    let recalled = prompt::answer(store, settings, &occasion, workspace, now)?;
    match recalled.answer {
        Answer::Abstain(silence) => Ok(Context::Nothing(silence.reason())),
        Answer::Inject(pack) => {
            if let Err(error) = store.record_injection(prompt::shown(&occasion, &pack, now)) {
                tracing::warn!(%error, "what was shown is not recorded");
            }
            Ok(Context::Given(pack))
        }
    }
}
