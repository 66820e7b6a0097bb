//! `memory_remember`

use memory::{FactKind, Trust};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpTool, ToolContext, closed_world};
use crate::requests::facts::{self, RememberRequest};
use crate::requests::{RequestError, submitted};
use crate::{McpPermission, ServeSettings};

pub(super) struct RememberTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RememberToolArgs {
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
pub(super) struct RememberToolAnswer {
    id: String,
    /// The fact was known already, and its count was increased
    repeated: bool,
    /// Ids of the facts that it supersedes
    superseded: Vec<String>,
}

impl McpTool for RememberTool {
    const NAME: &'static str = "memory_remember";
    const TITLE: &'static str = "Remember a fact";
    const DESCRIPTION: &'static str = "Store one durable statement about this workspace for later \
        sessions: a decision with its reason, a command that works, an outcome. Use it when the \
        user asks to remember something, or when something was decided that the files do not \
        show. Not for secrets, and not for what is only true today.";
    type Args = RememberToolArgs;
    type Answer = RememberToolAnswer;

    fn annotations(settings: &ServeSettings) -> Option<ToolAnnotations> {
        let is_allowed = settings.mcp.write.contains(&McpPermission::Remember);
        is_allowed.then(|| closed_world().read_only(false).destructive(false))
    }

    fn run(
        context: &ToolContext<'_>,
        args: RememberToolArgs,
    ) -> Result<RememberToolAnswer, RequestError> {
        let kind = match args.kind.unwrap_or(NoteKind::Note) {
            NoteKind::Decision => FactKind::Decision,
            NoteKind::Command => FactKind::Command,
            NoteKind::Outcome => FactKind::Outcome,
            NoteKind::Note => FactKind::Note,
        };
        let workspace = context.workspace()?.clone();
        submitted::require_captured(context.settings, Some(&workspace))?;
        let request = RememberRequest {
            text: args.text,
            kind,
            tags: args.tags,
            workspace: Some(workspace),
            // Even if the user asked for it, the text that arrives here was written by a model.
            trust: Trust::Model,
            pinned: false,
        };
        let stored = facts::remember_fact(context.store, request, context.now)?;
        Ok(RememberToolAnswer {
            id: stored.id.to_string(),
            repeated: stored.repeated,
            superseded: stored.superseded.iter().map(ToString::to_string).collect(),
        })
    }
}
