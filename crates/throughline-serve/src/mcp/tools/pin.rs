//! `memory_pin`

use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpTool, ToolContext, closed_world};
use crate::requests::{RequestError, facts};
use crate::{McpPermission, ServeSettings};

pub(super) struct PinTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PinToolArgs {
    /// The id of a fact or a record
    id: String,
    action: PinAction,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PinAction {
    Pin,
    Unpin,
    Forget,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PinToolAnswer {
    action: PinAction,
    id: String,
}

impl McpTool for PinTool {
    const NAME: &'static str = "memory_pin";
    const TITLE: &'static str = "Pin or forget a memory";
    const DESCRIPTION: &'static str = "Pin a fact or a record so that every session of this \
        workspace sees it, unpin it, or delete it permanently. Use it only when the user asks for \
        it.";
    type Args = PinToolArgs;
    type Answer = PinToolAnswer;

    fn annotations(settings: &ServeSettings) -> Option<ToolAnnotations> {
        let may_pin = settings.mcp.write.contains(&McpPermission::Pin);
        let may_forget = settings.mcp.write.contains(&McpPermission::Forget);
        let annotations = closed_world().read_only(false).destructive(may_forget);
        (may_pin || may_forget).then_some(annotations)
    }

    fn run(context: &ToolContext<'_>, args: PinToolArgs) -> Result<PinToolAnswer, RequestError> {
        let needed = match args.action {
            PinAction::Pin | PinAction::Unpin => McpPermission::Pin,
            PinAction::Forget => McpPermission::Forget,
        };
        if !context.settings.mcp.write.contains(&needed) {
            return Err(RequestError::not_allowed(
                "the user has not allowed agents to do this",
                "the user can run `throughline pin`, `unpin` or `forget`, or allow it by `write` \
                 under [mcp]",
            ));
        }
        let (store, scope) = (context.store, context.scope);
        let id = match args.action {
            PinAction::Pin => facts::pin_item(store, scope, &args.id, context.now)?,
            PinAction::Unpin => facts::unpin_fact(store, scope, &args.id)?,
            PinAction::Forget => {
                facts::forget_item(store, scope, &args.id, context.now)?;
                args.id
            }
        };
        Ok(PinToolAnswer {
            action: args.action,
            id,
        })
    }
}
