//! `memory_pin`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Form};
use crate::Write;
use crate::requests::{Refused, facts};

pub const FORM: Form = Form {
    name: "memory_pin",
    title: "Pin or forget a memory",
    description: "Pin a fact or a record so that every session of this workspace sees it, unpin it, or forget it for good. \
        Use it only when the user asks for it.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The id of a fact or a record
    id: String,
    action: Action,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Pin,
    Unpin,
    Forget,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    action: Action,
    id: String,
}

pub fn run(call: &Call<'_>, args: &Args) -> Result<Answer, Refused> {
    let needed = match args.action {
        Action::Pin | Action::Unpin => Write::Pin,
        Action::Forget => Write::Forget,
    };
    if !call.settings.mcp.write.contains(&needed) {
        return Err(Refused::not_allowed(
            "the user does not let agents do this",
            "the user can, with `throughline pin`, `unpin` or `forget`, or allow it by `write` under [mcp]",
        ));
    }
    let (store, reach) = (call.store, call.reach);
    let id = match args.action {
        Action::Pin => facts::pin(store, reach, &args.id, call.now)?,
        Action::Unpin => facts::unpin(store, reach, &args.id)?,
        Action::Forget => {
            facts::forget(store, reach, &args.id, call.now)?;
            args.id.clone()
        }
    };
    Ok(Answer {
        action: args.action,
        id,
    })
}
