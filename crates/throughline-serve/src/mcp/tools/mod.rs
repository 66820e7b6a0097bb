//! The MCP tools. Each file holds one tool: its description, its arguments, its answer and what it
//! does.

mod context;
mod get;
mod pin;
mod remember;
mod search;
mod stats;

use std::sync::Arc;

use jiff::Timestamp;
use memory::layers::{Card, CardKey};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::Store;

pub(super) use self::get::read_timeline;
use super::schema::{answer_schema, arguments_schema};
use crate::ServeSettings;
use crate::live::{FlushMode, LiveLayers};
use crate::requests::{AccessScope, RequestError};

/// What a tool call is answered from.
#[derive(Debug)]
pub(super) struct ToolContext<'a> {
    pub(super) store: &'a Store,
    pub(super) settings: &'a ServeSettings,
    pub(super) layers: &'a LiveLayers,
    pub(super) scope: &'a AccessScope,
    /// The store's generation before anything was read for the call.
    pub(super) generation: i64,
    pub(super) now: Timestamp,
}

impl<'a> ToolContext<'a> {
    /// Returns whether texts that may contain a secret are shown in the client's workspace.
    fn includes_sensitive(&self) -> bool {
        let injection = &self.settings.injection;
        injection
            .recall_in(self.scope.workspace())
            .include_sensitive
    }

    /// Counts the cards that a client asked for in the layers of its workspace. The answer does not
    /// depend on it, so a failure is only reported.
    fn count_pull(&self, cards: &[(CardKey, Option<Card>)]) {
        let Some(workspace) = self.scope.workspace() else {
            return;
        };
        let counted = self
            .layers
            .count_pull(self.store, &workspace.key, cards, self.generation, self.now)
            .and_then(|_| self.layers.flush(self.store, FlushMode::WhenDue, self.now));
        if let Err(error) = counted {
            tracing::warn!(%error, "lookups were not counted");
        }
    }

    fn workspace(&self) -> Result<&'a memory::Workspace, RequestError> {
        self.scope.workspace().ok_or_else(|| {
            RequestError::invalid(
                "the client's folder is unknown",
                "send the header Throughline-Folder, or use `throughline mcp` instead of HTTP",
            )
        })
    }
}

/// A tool.
trait McpTool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Tells a model when to use the tool.
    const DESCRIPTION: &'static str;
    type Args: DeserializeOwned + JsonSchema;
    type Answer: Serialize + JsonSchema;

    /// Returns what the tool may change, or `None` if the settings do not allow the tool.
    fn annotations(settings: &ServeSettings) -> Option<ToolAnnotations>;

    fn run(context: &ToolContext<'_>, args: Self::Args) -> Result<Self::Answer, RequestError>;
}

/// Annotations of a tool that only reads.
fn read_only() -> ToolAnnotations {
    closed_world().read_only(true).destructive(false)
}

/// Annotations of a tool that works on memory alone, and may be repeated without further effect.
fn closed_world() -> ToolAnnotations {
    ToolAnnotations::new().idempotent(true).open_world(false)
}

/// A tool without its types.
struct ToolEntry {
    name: &'static str,
    describe: fn(&ServeSettings) -> Option<Tool>,
    call: fn(&ToolContext<'_>, JsonObject) -> Result<Value, RequestError>,
}

impl ToolEntry {
    const fn of<T: McpTool>() -> Self {
        Self {
            name: T::NAME,
            describe: describe::<T>,
            call: call::<T>,
        }
    }
}

/// Every tool, in the order in which clients list them.
const TOOLS: [ToolEntry; 6] = [
    ToolEntry::of::<search::SearchTool>(),
    ToolEntry::of::<get::GetTool>(),
    ToolEntry::of::<context::ContextTool>(),
    ToolEntry::of::<remember::RememberTool>(),
    ToolEntry::of::<pin::PinTool>(),
    ToolEntry::of::<stats::StatsTool>(),
];

/// The offered tools with their schemas, which are generated once per process.
pub(super) type ToolList = Arc<Vec<Tool>>;

/// Returns the tools that the settings allow, always in the same order.
pub(super) fn list_tools(settings: &ServeSettings) -> ToolList {
    let offered = TOOLS.iter().filter_map(|tool| (tool.describe)(settings));
    Arc::new(offered.collect())
}

/// Calls a tool and returns its answer as JSON. The caller has checked that the tool is offered.
pub(super) fn call_tool(
    context: &ToolContext<'_>,
    name: &str,
    arguments: JsonObject,
) -> Result<Value, RequestError> {
    let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| {
        RequestError::not_found(
            format!("unknown tool {name:?}"),
            "tools/list returns the tools",
        )
    })?;
    (tool.call)(context, arguments)
}

fn describe<T: McpTool>(settings: &ServeSettings) -> Option<Tool> {
    let mut annotations = T::annotations(settings)?;
    annotations.title = Some(T::TITLE.to_owned());
    let tool = Tool::new(T::NAME, T::DESCRIPTION, arguments_schema::<T::Args>())
        .with_title(T::TITLE)
        .with_raw_output_schema(answer_schema::<T::Answer>())
        .with_annotations(annotations);
    Some(tool)
}

fn call<T: McpTool>(
    context: &ToolContext<'_>,
    arguments: JsonObject,
) -> Result<Value, RequestError> {
    let args = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        RequestError::invalid(
            format!("invalid arguments: {error}"),
            "see the tool's inputSchema",
        )
    })?;
    let answer = T::run(context, args)?;
    serde_json::to_value(answer)
        .map_err(|error| RequestError::invalid(error.to_string(), "this is a bug in Throughline"))
}

/// Converts a count for JSON: some clients reject schemas of unsigned integers.
fn json_integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
