//! The lines of the Kimi CLI that came before Kimi Code: `{timestamp, message: {type, payload}}`.

use memory::{Origin, Role};

use super::log::{At, Log, part_block};
use super::wire;
use crate::Parsed;

impl Log {
    pub(super) fn legacy(&mut self, at: At, message: &wire::Legacy<'_>, out: &mut Parsed) {
        let payload: wire::Payload<'_> = wire::lenient(message.payload);
        match message.kind.as_str() {
            "TurnBegin" | "SteerInput" => {
                self.prompt(at, Origin::Human, wire::text(payload.user_input), out);
            }
            "ContentPart" => {
                let part: wire::Part<'_> = wire::lenient(message.payload);
                if let Some(block) = part_block(&part, out) {
                    let text = part.text.some().unwrap_or(part.think.as_str());
                    let id = self.state.chain.link(&[part.kind.as_str(), text]);
                    self.answer(at, id, None, block, out);
                }
            }
            "ToolCall" => {
                let (call, function) = (payload.id.as_str(), &payload.function);
                let id = self.state.chain.link(&["call", call]);
                let input = function.arguments.as_str().to_owned();
                let block = self.call(call, function.name.as_str(), input);
                self.answer(at, id, None, block, out);
            }
            "ToolResult" => {
                let call = payload.tool_call_id.as_str();
                let id = self.state.chain.link(&["result", call]);
                self.result(at, id, call, &wire::lenient(payload.return_value), out);
            }
            "StatusUpdate" => self.bill(at, None, payload.token_usage, out),
            "CompactionBegin" | "CompactionEnd" => {
                if message.kind.as_str() == "CompactionEnd" {
                    let id = self.state.chain.link(&["compaction"]);
                    let block = memory::Block::Boundary(memory::Boundary::default());
                    self.say(at, id, (Role::System, Origin::Harness), block, out);
                }
            }
            "TurnEnd"
            | "StepBegin"
            | "StepInterrupted"
            | "StepRetry"
            | "ApprovalRequest"
            | "ApprovalResponse"
            | "ApprovalRequestResolved"
            | "ToolCallRequest"
            | "MCPLoadingBegin"
            | "MCPLoadingEnd"
            | "HookTriggered"
            | "HookResolved"
            | "SubagentEvent"
            | "ToolCallPart" => {}
            other => out.unknown(&format!("message/{other}")),
        }
    }
}
