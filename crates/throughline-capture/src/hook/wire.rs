//! The fields of hook payloads, for all agents and in both spellings.

use serde::Deserialize;
use serde_json::Value;

use super::turn::HookToolCall;
use crate::json::Lenient;

type Text = Lenient<String>;

/// The fields of a payload that some dialect uses. All others are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookPayload {
    pub(crate) agent: Text,
    pub(crate) event: Text,
    pub(crate) hook_event_name: Text,
    #[serde(rename = "hookEventName")]
    pub(crate) hook_event_name_camel: Text,
    #[serde(rename = "hookName")]
    pub(crate) hook_name: Text,
    #[serde(rename = "type")]
    pub(crate) kind: Text,

    pub(crate) session_id: Text,
    #[serde(rename = "sessionId")]
    pub(crate) session_id_camel: Text,
    #[serde(rename = "thread-id")]
    pub(crate) thread_id: Text,
    pub(crate) conversation_id: Text,

    pub(crate) transcript_path: Text,
    #[serde(rename = "transcriptPath")]
    pub(crate) transcript_path_camel: Text,
    pub(crate) agent_transcript_path: Text,

    pub(crate) cwd: Text,
    pub(crate) workspace_roots: Lenient<Vec<String>>,

    prompt: Lenient<PromptField>,
    pub(crate) client_type: Text,
    pub(crate) source: Text,
    pub(crate) trigger: Text,
    pub(crate) timestamp: Text,

    pub(crate) prompt_id: Text,
    #[serde(rename = "promptId")]
    pub(crate) prompt_id_camel: Text,
    pub(crate) turn_id: Text,
    #[serde(rename = "turn-id")]
    pub(crate) turn_id_kebab: Text,
    pub(crate) generation_id: Text,

    pub(crate) tool_use_id: Text,
    #[serde(rename = "toolUseId")]
    pub(crate) tool_use_id_camel: Text,
    pub(crate) tool_call_id: Text,

    tool_name: Text,
    #[serde(rename = "toolName")]
    tool_name_camel: Text,
    tool_input: Lenient<Value>,
    #[serde(rename = "toolInput")]
    tool_input_camel: Lenient<Value>,
    #[serde(rename = "toolArgs")]
    tool_args: Lenient<Value>,
    tool_response: Lenient<Value>,
    tool_output: Lenient<Value>,
    #[serde(rename = "toolResult")]
    tool_result: Lenient<Value>,
    error: Lenient<Value>,
    last_assistant_message: Text,
    #[serde(rename = "lastAssistantMessage")]
    last_assistant_message_camel: Text,

    pub(crate) agent_id: Text,
    #[serde(rename = "subagentId")]
    pub(crate) subagent_id: Text,
}

impl HookPayload {
    pub(crate) fn event_name(&self) -> Option<&str> {
        first(&[&self.hook_event_name, &self.event, &self.hook_name])
            .or_else(|| self.thread_id.text().and(self.kind.text()))
    }

    pub(crate) fn session(&self) -> Option<&str> {
        first(&[
            &self.session_id, &self.session_id_camel, &self.thread_id, &self.conversation_id,
        ])
    }

    pub(crate) fn transcript(&self, of_subagent: bool) -> Option<&str> {
        let own = self.agent_transcript_path.text().filter(|_| of_subagent);
        own.or_else(|| first(&[&self.transcript_path, &self.transcript_path_camel]))
    }

    pub(crate) fn cwd(&self) -> Option<&str> {
        let roots = || self.workspace_roots.0.as_ref()?.first();
        self.cwd.text().or_else(|| roots().map(String::as_str))
    }

    pub(crate) fn subagent(&self) -> Option<&str> {
        first(&[&self.agent_id, &self.subagent_id])
    }

    pub(crate) fn prompt_id(&self) -> Option<&str> {
        first(&[
            &self.prompt_id, &self.prompt_id_camel, &self.turn_id, &self.turn_id_kebab,
            &self.generation_id,
        ])
    }

    pub(crate) fn call_id(&self) -> Option<&str> {
        first(&[
            &self.tool_use_id, &self.tool_use_id_camel, &self.tool_call_id,
        ])
    }

    /// Says whether the path of the session's log has a folder with this name.
    pub(crate) fn is_transcript_under(&self, folder: &str) -> bool {
        self.transcript(false)
            .is_some_and(|path| path.split(['/', '\\']).any(|part| part == folder))
    }

    /// Returns the call that the payload reports, with its result.
    pub(crate) fn tool_call(&mut self) -> Option<HookToolCall> {
        let tool = first(&[&self.tool_name, &self.tool_name_camel])?.to_owned();
        let inputs = [
            &mut self.tool_input, &mut self.tool_input_camel, &mut self.tool_args,
        ];
        let input = take_first(inputs).unwrap_or_default();
        let results = [
            &mut self.tool_response, &mut self.tool_output, &mut self.tool_result,
        ];
        let result = take_first(results);
        let error = self.error.0.take().filter(|error| !error.is_null());
        Some(HookToolCall {
            id: self.call_id().map(str::to_owned),
            tool,
            input: plain_text(input),
            is_error: error.is_some(),
            result: plain_text(error.or(result).unwrap_or_default()),
        })
    }

    /// Returns the model's last message.
    pub(crate) fn last_message(&self) -> Option<&str> {
        first(&[
            &self.last_assistant_message,
            &self.last_assistant_message_camel,
        ])
    }

    /// Moves the prompt out of the payload.
    pub(crate) fn take_prompt(&mut self) -> String {
        match self.prompt.0.take() {
            Some(PromptField::Text(text)) => text,
            Some(PromptField::Parts(parts)) => {
                let texts = parts.into_iter().filter_map(|part| part.text);
                texts.collect::<Vec<_>>().join("\n")
            }
            None => String::new(),
        }
    }
}

/// A prompt, which Kimi Code sends in parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PromptField {
    Text(String),
    Parts(Vec<PromptPart>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptPart {
    text: Option<String>,
}

fn first<'a>(fields: &[&'a Text]) -> Option<&'a str> {
    fields.iter().find_map(|field| field.text())
}

fn take_first(fields: [&mut Lenient<Value>; 3]) -> Option<Value> {
    let mut values = fields.into_iter().filter_map(|field| field.0.take());
    values.find(|value| !value.is_null())
}

/// Returns a text as it is, and anything else as JSON.
fn plain_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
