//! `memory_remember`

use memory::{FactKind, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpToolSpec, ToolContext};
use crate::requests::RequestError;
use crate::requests::facts::{self, RememberRequest};
use crate::requests::submitted;

pub const SPEC: McpToolSpec = McpToolSpec {
    name: "memory_remember",
    title: "Remember a fact",
    description: "Keep one durable statement about this workspace for later sessions: a decision with its reason, a \
        command that works, an outcome. Use it when the user asks to remember something or when something was \
        settled that the files do not tell. Not for secrets, and not for what is only true today.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberToolArgs {
    /// One durable statement of at most 40 words that makes sense on its own
    text: String,
    /// The kind of statement: decision, command (one that works), outcome, or note, which is the
    /// default
    kind: Option<NoteKind>,
    /// Words to find it by
    #[serde(default)]
    tags: Vec<String>,
}

/// Preferences and corrections are missing: only the user states those.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NoteKind {
    Decision,
    Command,
    Outcome,
    Note,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RememberToolAnswer {
    id: String,
    /// The fact was known already, and its count was increased
    repeated: bool,
    /// Ids of the facts that it supersedes
    superseded: Vec<String>,
}

pub fn run(
    call: &ToolContext<'_>,
    args: RememberToolArgs,
) -> Result<RememberToolAnswer, RequestError> {
    let kind = match args.kind.unwrap_or(NoteKind::Note) {
        NoteKind::Decision => FactKind::Decision,
        NoteKind::Command => FactKind::Command,
        NoteKind::Outcome => FactKind::Outcome,
        NoteKind::Note => FactKind::Note,
    };
    let workspace = call.workspace()?.clone();
    submitted::require_captured(call.settings, Some(&workspace))?;
    let statement = RememberRequest {
        text: args.text,
        kind,
        tags: args.tags,
        workspace: Some(workspace),
        // Even if the user asked for it, the text that arrives here was written by a model.
        trust: Trust::Model,
        pinned: false,
    };
    let kept = facts::remember_fact(call.store, statement, call.now)?;
    Ok(RememberToolAnswer {
        id: kept.id.to_string(),
        repeated: kept.repeated,
        superseded: kept.superseded.iter().map(ToString::to_string).collect(),
    })
}
