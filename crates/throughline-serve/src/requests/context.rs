//! The memory that is relevant to a prompt, for the command line, HTTP and MCP.

use jiff::Timestamp;
use memory::Workspace;
use recall::{ContextPack, PromptRequest, RecallAnswer, RecallOutcome};
use store::Store;

use crate::ServeSettings;
use crate::prompt::{self, InjectionOff};

/// What memory has for a prompt.
#[derive(Debug)]
pub enum PromptContext {
    /// Injection is off in this workspace, so nothing was recalled.
    Off(InjectionOff),
    Recalled(Box<PromptRecall>),
}

/// A recall request and its outcome.
#[derive(Debug)]
pub struct PromptRecall {
    pub request: PromptRequest,
    pub outcome: RecallOutcome,
}

impl PromptContext {
    /// Returns the text to inject and its items, or why there is none.
    pub fn pack(&self) -> Result<&ContextPack, &'static str> {
        match self {
            Self::Off(off) => Err(off.reason()),
            Self::Recalled(recall) => match &recall.outcome.answer {
                RecallAnswer::Inject(pack) => Ok(pack),
                RecallAnswer::Abstain(silence) => Err(silence.reason()),
            },
        }
    }

    /// Records the injection as shown to the session.
    pub fn record(&self, store: &Store, now: Timestamp) -> store::Result<()> {
        match (self, self.pack()) {
            (Self::Recalled(recall), Ok(pack)) => {
                store.record_injection(prompt::new_injection(&recall.request, pack, now))
            }
            _ => Ok(()),
        }
    }
}

/// Recalls memory for a prompt. Writes nothing; see [`PromptContext::record`].
pub fn prompt_context(
    store: &Store,
    settings: &ServeSettings,
    workspace: &Workspace,
    text: String,
    session: Option<&str>,
    now: Timestamp,
) -> store::Result<PromptContext> {
    if let Some(off) = prompt::injection_off(settings, workspace) {
        return Ok(PromptContext::Off(off));
    }
    let request = prompt::prompt_request(store, settings, text, session, workspace)?;
    let config = &settings.injection.recall_in(Some(workspace));
    let outcome = prompt::recall_for_prompt(store, config, &request, workspace, now)?;
    let recall = PromptRecall { request, outcome };
    Ok(PromptContext::Recalled(Box::new(recall)))
}

/// Recalls memory for a prompt and records it as shown. An answer is worth more than its record, so
/// a failure to write is only logged.
pub fn show_prompt_context(
    store: &Store,
    settings: &ServeSettings,
    workspace: &Workspace,
    text: String,
    session: Option<&str>,
    now: Timestamp,
) -> store::Result<PromptContext> {
    let context = prompt_context(store, settings, workspace, text, session, now)?;
    if let Err(error) = context.record(store, now) {
        tracing::warn!(%error, "cannot record the injection");
    }
    Ok(context)
}
