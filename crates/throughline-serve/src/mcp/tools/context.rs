//! `memory_context`

use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpTool, ToolContext, read_only};
use crate::ServeSettings;
use crate::requests::RequestError;
use crate::requests::context::show_prompt_context;

pub(super) struct ContextTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextToolArgs {
    /// The prompt or task to find context for
    prompt: String,
    /// The session's id, so that nothing is shown to it twice
    session: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ContextToolAnswer {
    /// Ids of the facts and records in the text
    items: Vec<String>,
    /// Why there is no text
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The relevant memory, quoted; empty if there is none
    text: String,
}

impl McpTool for ContextTool {
    const NAME: &'static str = "memory_context";
    const TITLE: &'static str = "Context for a task";
    const DESCRIPTION: &'static str = "Get the few facts and excerpts of earlier sessions that \
        matter for a task, already selected; nothing if none is certain to matter. Use it once at \
        the start of a task if no memory was shown to you with the prompt.";
    type Args = ContextToolArgs;
    type Answer = ContextToolAnswer;

    fn annotations(_: &ServeSettings) -> Option<ToolAnnotations> {
        // An item that a session was shown once is not shown to it again.
        Some(read_only().idempotent(false))
    }

    fn run(
        context: &ToolContext<'_>,
        args: ContextToolArgs,
    ) -> Result<ContextToolAnswer, RequestError> {
        let shown = show_prompt_context(
            context.store,
            context.settings,
            context.workspace()?,
            args.prompt,
            args.session.as_deref(),
            context.now,
        )?;
        Ok(match shown.pack() {
            Ok(pack) => ContextToolAnswer {
                items: pack
                    .items
                    .iter()
                    .map(|item| item.item.to_string())
                    .collect(),
                note: None,
                text: pack.text.clone(),
            },
            Err(reason) => ContextToolAnswer {
                items: Vec::new(),
                note: Some(reason.to_owned()),
                text: String::new(),
            },
        })
    }
}
