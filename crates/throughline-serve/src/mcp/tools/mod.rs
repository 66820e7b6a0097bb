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
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Store;

pub use self::get::read_timeline;
pub use self::stats::latest_sessions;
use super::schema::{answer_schema, arguments_schema};
use crate::requests::{AccessScope, RequestError};
use crate::{McpPermission, ServeSettings};

/// What a tool call is answered from.
#[derive(Debug)]
pub struct ToolContext<'a> {
    pub store: &'a Store,
    pub settings: &'a ServeSettings,
    pub scope: &'a AccessScope,
    pub now: Timestamp,
}

impl<'a> ToolContext<'a> {
    fn workspace(&self) -> Result<&'a memory::Workspace, RequestError> {
        self.scope.workspace().ok_or_else(|| {
            RequestError::invalid(
                "the client's folder is unknown",
                "name it in the header Throughline-Folder, or use `throughline mcp` over standard streams",
            )
        })
    }
}

/// How a tool presents itself.
struct McpToolSpec {
    name: &'static str,
    title: &'static str,
    description: &'static str,
}

/// The offered tools with their schemas, which are generated once per process.
pub type ToolList = Arc<Vec<Tool>>;

/// Returns the tools that the settings allow, always in the same order.
pub fn list_tools(settings: &ServeSettings) -> Vec<Tool> {
    let may = |write: McpPermission| settings.mcp.write.contains(&write);
    let inside = || ToolAnnotations::new().idempotent(true).open_world(false);
    let reads = || inside().read_only(true).destructive(false);
    let writes = || inside().read_only(false);
    let mut tools = vec![
        describe_tool::<search::SearchToolArgs, search::SearchToolAnswer>(&search::SPEC, reads()),
        describe_tool::<get::GetToolArgs, get::GetToolAnswer>(&get::SPEC, reads()),
        describe_tool::<context::ContextToolArgs, context::ContextToolAnswer>(
            &context::SPEC,
            reads().idempotent(false),
        ),
    ];
    if may(McpPermission::Remember) {
        let annotations = writes().destructive(false);
        tools.push(describe_tool::<
            remember::RememberToolArgs,
            remember::RememberToolAnswer,
        >(&remember::SPEC, annotations));
    }
    if may(McpPermission::Pin) || may(McpPermission::Forget) {
        let annotations = writes().destructive(may(McpPermission::Forget));
        tools.push(describe_tool::<pin::PinToolArgs, pin::PinToolAnswer>(
            &pin::SPEC,
            annotations,
        ));
    }
    tools
        .push(describe_tool::<stats::StatsToolArgs, stats::StatsToolAnswer>(&stats::SPEC, reads()));
    tools
}

fn describe_tool<A: JsonSchema, O: JsonSchema>(
    form: &McpToolSpec,
    annotations: ToolAnnotations,
) -> Tool {
    let mut annotations = annotations;
    annotations.title = Some(form.title.to_owned());
    Tool::new(form.name, form.description, arguments_schema::<A>())
        .with_title(form.title)
        .with_raw_output_schema(answer_schema::<O>())
        .with_annotations(annotations)
}

/// Does what a tool is called for, and returns its answer as JSON. The caller has looked whether the tool is
/// offered.
pub fn call_tool(
    call: &ToolContext<'_>,
    name: &str,
    arguments: JsonObject,
) -> Result<serde_json::Value, RequestError> {
    match name {
        "memory_search" => run_with_arguments(arguments, |args| search::run(call, &args)),
        "memory_get" => run_with_arguments(arguments, |args| get::run(call, &args)),
        "memory_context" => run_with_arguments(arguments, |args| context::run(call, args)),
        "memory_remember" => run_with_arguments(arguments, |args| remember::run(call, args)),
        "memory_pin" => run_with_arguments(arguments, |args| pin::run(call, &args)),
        "memory_stats" => run_with_arguments(arguments, |stats::StatsToolArgs {}| stats::run(call)),
        _ => Err(RequestError::not_found(
            format!("unknown tool {name:?}"),
            "tools/list returns the tools",
        )),
    }
}

fn run_with_arguments<A: for<'de> Deserialize<'de>, O: Serialize>(
    arguments: JsonObject,
    run: impl FnOnce(A) -> Result<O, RequestError>,
) -> Result<serde_json::Value, RequestError> {
    let arguments = serde_json::Value::Object(arguments);
    let arguments = serde_json::from_value(arguments).map_err(|error| {
        RequestError::invalid(
            format!("invalid arguments: {error}"),
            "see the tool's inputSchema",
        )
    })?;
    let answer = run(arguments)?;
    serde_json::to_value(answer)
        .map_err(|error| RequestError::invalid(error.to_string(), "this is a bug in Throughline"))
}

fn json_integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
