//! `memory_context`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpToolSpec, ToolContext};
use crate::requests::RequestError;
use crate::requests::context::{self, PromptContext};

pub const SPEC: McpToolSpec = McpToolSpec {
    name: "memory_context",
    title: "Context for a task",
    description: "Get the few facts and excerpts of earlier sessions that matter for a task, already chosen; nothing \
        when nothing is sure to matter. Use it once at the start of a task when no memory was shown to you \
        with the prompt.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextToolArgs {
    /// The prompt or task to find context for
    prompt: String,
    /// The session's id, so that nothing is shown to it twice
    session: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextToolAnswer {
    /// Ids of the facts and records in the text
    items: Vec<String>,
    /// Why there is no text
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The relevant memory, quoted; empty if there is none
    text: String,
}

pub fn run(
    call: &ToolContext<'_>,
    args: ContextToolArgs,
) -> Result<ContextToolAnswer, RequestError> {
    let here = call.workspace()?;
    let session = args.session.as_deref();
    let found = context::prompt_context(
        call.store,
        call.settings,
        here,
        args.prompt,
        session,
        call.now,
    )?;
    Ok(match found {
        PromptContext::Given(pack) => ContextToolAnswer {
            items: pack
                .items
                .iter()
                .map(|item| item.item.to_string())
                .collect(),
            note: None,
            text: pack.text,
        },
        PromptContext::Silent(why) => ContextToolAnswer {
            items: Vec::new(),
            note: Some(why.to_owned()),
            text: String::new(),
        },
    })
}
