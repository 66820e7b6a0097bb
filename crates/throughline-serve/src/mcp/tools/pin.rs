//! `memory_pin`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpToolSpec, ToolContext};
use crate::McpPermission;
use crate::requests::{RequestError, facts};

pub const SPEC: McpToolSpec = McpToolSpec {
    name: "memory_pin",
    title: "Pin or forget a memory",
    description: "Pin a fact or a record so that every session of this workspace sees it, unpin it, or forget it for good. \
        Use it only when the user asks for it.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinToolArgs {
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
pub struct PinToolAnswer {
    action: PinAction,
    id: String,
}

pub fn run(call: &ToolContext<'_>, args: &PinToolArgs) -> Result<PinToolAnswer, RequestError> {
    let needed = match args.action {
        PinAction::Pin | PinAction::Unpin => McpPermission::Pin,
        PinAction::Forget => McpPermission::Forget,
    };
    if !call.settings.mcp.write.contains(&needed) {
        return Err(RequestError::not_allowed(
            "the user has not allowed agents to do this",
            "the user can, with `throughline pin`, `unpin` or `forget`, or allow it by `write` under [mcp]",
        ));
    }
    let (store, reach) = (call.store, call.scope);
    let id = match args.action {
        PinAction::Pin => facts::pin_item(store, reach, &args.id, call.now)?,
        PinAction::Unpin => facts::unpin_fact(store, reach, &args.id)?,
        PinAction::Forget => {
            facts::forget_item(store, reach, &args.id, call.now)?;
            args.id.clone()
        }
    };
    Ok(PinToolAnswer {
        action: args.action,
        id,
    })
}
