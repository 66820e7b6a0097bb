//! The tools, a file each: arguments and answer, when to use it, and what it does.

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

pub use self::get::timeline;
pub use self::stats::latest;
use super::schema::{answer_of, arguments_of};
use crate::requests::{Reach, Refused};
use crate::{Settings, Write};

/// What a tool works with.
#[derive(Debug)]
pub struct Call<'a> {
    pub store: &'a Store,
    pub settings: &'a Settings,
    pub reach: &'a Reach,
    pub now: Timestamp,
}

impl<'a> Call<'a> {
    fn workspace(&self) -> Result<&'a memory::Workspace, Refused> {
        self.reach.here().ok_or_else(|| {
            Refused::invalid(
                "the folder of the session is not known",
                "name it in the header Throughline-Folder, or use `throughline mcp` over standard streams",
            )
        })
    }
}

/// How a tool presents itself.
struct Form {
    name: &'static str,
    title: &'static str,
    description: &'static str,
}

/// Keeps the schemas at hand: they never change while we run.
pub type Tools = Arc<Vec<Tool>>;

/// Returns the tools an agent may use, always in the same order.
pub fn list(settings: &Settings) -> Vec<Tool> {
    let may = |write: Write| settings.mcp.write.contains(&write);
    let inside = || ToolAnnotations::new().idempotent(true).open_world(false);
    let reads = || inside().read_only(true).destructive(false);
    let writes = || inside().read_only(false);
    let mut tools = vec![
        tool::<search::Args, search::Answer>(&search::FORM, reads()),
        tool::<get::Args, get::Answer>(&get::FORM, reads()),
        tool::<context::Args, context::Answer>(&context::FORM, reads().idempotent(false)),
    ];
    if may(Write::Remember) {
        let annotations = writes().destructive(false);
        tools.push(tool::<remember::Args, remember::Answer>(
            &remember::FORM,
            annotations,
        ));
    }
    if may(Write::Pin) || may(Write::Forget) {
        let annotations = writes().destructive(may(Write::Forget));
        tools.push(tool::<pin::Args, pin::Answer>(&pin::FORM, annotations));
    }
    tools.push(tool::<stats::Args, stats::Answer>(&stats::FORM, reads()));
    tools
}

fn tool<A: JsonSchema, O: JsonSchema>(form: &Form, annotations: ToolAnnotations) -> Tool {
    let mut annotations = annotations;
    annotations.title = Some(form.title.to_owned());
    Tool::new(form.name, form.description, arguments_of::<A>())
        .with_title(form.title)
        .with_raw_output_schema(answer_of::<O>())
        .with_annotations(annotations)
}

/// Does what a tool is called for, and returns its answer as JSON. The caller has looked whether the tool is
/// offered.
pub fn call(
    call: &Call<'_>,
    name: &str,
    arguments: JsonObject,
) -> Result<serde_json::Value, Refused> {
    match name {
        "memory_search" => read_and_run(arguments, |args| search::run(call, &args)),
        "memory_get" => read_and_run(arguments, |args| get::run(call, &args)),
        "memory_context" => read_and_run(arguments, |args| context::run(call, args)),
        "memory_remember" => read_and_run(arguments, |args| remember::run(call, args)),
        "memory_pin" => read_and_run(arguments, |args| pin::run(call, &args)),
        "memory_stats" => read_and_run(arguments, |stats::Args {}| stats::run(call)),
        _ => Err(Refused::not_found(
            format!("there is no tool {name:?}"),
            "tools/list names them",
        )),
    }
}

fn read_and_run<A: for<'de> Deserialize<'de>, O: Serialize>(
    arguments: JsonObject,
    run: impl FnOnce(A) -> Result<O, Refused>,
) -> Result<serde_json::Value, Refused> {
    let arguments = serde_json::Value::Object(arguments);
    let arguments = serde_json::from_value(arguments).map_err(|error| {
        Refused::invalid(
            format!("the arguments are not right: {error}"),
            "see the tool's inputSchema",
        )
    })?;
    let answer = run(arguments)?;
    serde_json::to_value(answer)
        .map_err(|error| Refused::invalid(error.to_string(), "this is a mistake of ours"))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
