//! The fields of hook payloads, for all agents and in both spellings.

use serde::Deserialize;

use crate::json::Lenient;

type Text = Lenient<String>;

/// The fields of a payload that some dialect uses. All others, such as a tool's output, are
/// ignored.
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

    pub(crate) prompt: Text,
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
        first(&[&self.tool_use_id, &self.tool_use_id_camel])
    }

    /// Says whether the path of the session's log has a folder with this name.
    pub(crate) fn is_transcript_under(&self, folder: &str) -> bool {
        self.transcript(false)
            .is_some_and(|path| path.split(['/', '\\']).any(|part| part == folder))
    }

    /// Moves the prompt out of the payload.
    pub(crate) fn take_prompt(&mut self) -> String {
        self.prompt.0.take().unwrap_or_default()
    }
}

fn first<'a>(fields: &[&'a Text]) -> Option<&'a str> {
    fields.iter().find_map(|field| field.text())
}
