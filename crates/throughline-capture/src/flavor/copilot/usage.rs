//! Reads token counts. Since about 1.0.100 every response has a usage record. Before, messages
//! report only their output, and the end of a session reports totals over all of it.

use memory::{Usage, UsageEntry};

use super::session::{CopilotPosition, CopilotReaderState};
use super::wire::{AssistantMessage, Event, Shutdown, Tokens, UsageRecord};
use crate::ParseOutput;

impl CopilotReaderState {
    pub(crate) fn read_usage_record(&mut self, event: &Event<'_>, out: &mut ParseOutput) {
        let record: UsageRecord = event.data();
        let Some(tokens) = record.usage else { return };
        self.counted = true;
        let key = tokens.api_call_id.as_deref().or(event.id.as_deref());
        let key = key.unwrap_or_default().to_owned();
        self.emit_usage(event, key, tokens.model.clone(), usage(&tokens), out);
    }

    pub(crate) fn emit_message_usage(
        &mut self,
        event: &Event<'_>,
        message: &AssistantMessage,
        out: &mut ParseOutput,
    ) {
        if self.counted || message.output_tokens == 0 {
            return;
        }
        let model = message.model.clone().or_else(|| self.model.clone());
        let output = self
            .outputs
            .entry(model.clone().unwrap_or_default())
            .or_default();
        *output = output.saturating_add(message.output_tokens);
        let key = message.api_call_id.as_deref().or(event.id.as_deref());
        let key = key.unwrap_or_default().to_owned();
        let output = Usage {
            output: message.output_tokens,
            ..Usage::default()
        };
        self.emit_usage(event, key, model, output, out);
    }

    /// Emits the totals at the end of a session. They continue when a session is resumed, so the
    /// last ones count.
    pub(crate) fn emit_session_totals(&mut self, event: &Event<'_>, out: &mut ParseOutput) {
        if self.counted {
            return;
        }
        let shutdown: Shutdown = event.data();
        let metrics = shutdown.model_metrics;
        // A message may name no model, or another than the one that is billed.
        let sum = |model: &String| metrics.get(model).map_or(0, |sum| sum.usage.output_tokens);
        let excess = |(model, output): (&String, &u64)| output.saturating_sub(sum(model));
        let mut elsewhere: u64 = self.outputs.iter().map(excess).fold(0, u64::saturating_add);
        for (model, metrics) in &metrics {
            let mut usage = usage(&metrics.usage);
            let reported = self.outputs.get(model).copied().unwrap_or_default();
            let unreported = usage.output.saturating_sub(reported);
            usage.output = unreported.saturating_sub(elsewhere);
            elsewhere -= unreported - usage.output;
            if usage.total() > 0 {
                let key = format!("{}/{model}", self.session_id(None));
                self.emit_usage(event, key, Some(model.clone()), usage, out);
            }
        }
    }

    /// Emits the tokens of a compaction, which the totals leave out.
    pub(crate) fn emit_compaction_usage(
        &self,
        position: &CopilotPosition,
        tokens: &Tokens,
        out: &mut ParseOutput,
    ) {
        out.push(UsageEntry {
            session: self.session_id(None),
            key: position
                .id
                .clone()
                .unwrap_or_else(|| format!("{}/{}", self.session_id(None), position.line)),
            at: position.at,
            model: tokens.model.clone().or_else(|| self.model.clone()),
            usage: usage(tokens),
            cost_usd: None,
        });
    }

    fn emit_usage(
        &self,
        event: &Event<'_>,
        key: String,
        model: Option<String>,
        usage: Usage,
        out: &mut ParseOutput,
    ) {
        out.push(UsageEntry {
            session: self.session_id(None),
            key,
            at: event.timestamp.0,
            model,
            usage,
            // Copilot's `cost` counts premium requests, not money.
            cost_usd: None,
        });
    }
}

fn usage(tokens: &Tokens) -> Usage {
    let cached = tokens
        .cache_read_tokens
        .saturating_add(tokens.cache_write_tokens);
    Usage {
        input: tokens.input_tokens.saturating_sub(cached),
        output: tokens.output_tokens,
        cache_read: tokens.cache_read_tokens,
        cache_write: tokens.cache_write_tokens,
        reasoning: tokens.reasoning_tokens,
    }
}
