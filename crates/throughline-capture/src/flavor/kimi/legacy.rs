//! Reads the lines of the Kimi CLI that preceded Kimi Code: `{timestamp, message: {type,
//! payload}}`.

use memory::{Origin, Role};

use super::log::{KimiLogReader, KimiPosition, part_block};
use super::wire;
use crate::ParseOutput;
use crate::json;

impl KimiLogReader {
    pub(super) fn read_legacy(
        &mut self,
        at: KimiPosition,
        message: &wire::Legacy<'_>,
        out: &mut ParseOutput,
    ) {
        let payload: wire::Payload<'_> = json::parse_or_default(message.payload);
        match message.kind.as_str() {
            "TurnBegin" | "SteerInput" => {
                self.emit_prompt(at, Origin::Human, wire::text(payload.user_input), out);
            }
            "ContentPart" => {
                let part: wire::Part<'_> = json::parse_or_default(message.payload);
                if let Some(block) = part_block(&part, out) {
                    let text = part.text.get().unwrap_or(part.think.as_str());
                    let id = self.state.chain.link(&[part.kind.as_str(), text]);
                    self.emit_answer(at, id, None, block, out);
                }
            }
            "ToolCall" => {
                let (call, function) = (payload.id.as_str(), &payload.function);
                let id = self.state.chain.link(&["call", call]);
                let input = function.arguments.as_str().to_owned();
                let block = self.new_call(call, function.name.as_str(), input);
                self.emit_answer(at, id, None, block, out);
            }
            "ToolResult" => {
                let call = payload.tool_call_id.as_str();
                let id = self.state.chain.link(&["result", call]);
                self.emit_result(
                    at,
                    id,
                    call,
                    &json::parse_or_default(payload.return_value),
                    out,
                );
            }
            "StatusUpdate" => self.emit_usage(at, None, payload.token_usage, out),
            "CompactionBegin" | "CompactionEnd" => {
                if message.kind.as_str() == "CompactionEnd" {
                    let id = self.state.chain.link(&["compaction"]);
                    let block = memory::Block::Boundary(memory::Boundary::default());
                    self.emit_block(at, id, (Role::System, Origin::Harness), block, out);
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
            other => out.count_unknown(&format!("message/{other}")),
        }
    }
}
