//! Routes for what a timeline nests: subagents at the calls that started them, what compactions
//! took out of the conversation, and what each turn used.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use memory::{Prices, RecordKind, Session, Usage};
use serde::Serialize;
use store::{ResponseUsage, SessionOutline, Store};
use utoipa::ToSchema;

use super::HttpState;
use super::extract::PathId;
use super::problem::Problem;
use super::views::SessionView;
use crate::requests::find::find_session;
use crate::requests::{AccessScope, RequestError};

/// The most prompts and files of one compaction that are compared with its summary.
const COMPARED_MAX: usize = 100;
/// The text of a prompt is shortened to this size.
const PROMPT_BYTES_MAX: usize = 200;
/// A prompt is in the summary if the summary has this share of its words.
const KEPT_SHARE: f64 = 0.6;
/// Shorter words say little about what a prompt was about.
const WORD_LETTERS_MIN: usize = 4;
/// A subagent's prompt is compared up to this size, because a log may shorten the call.
const SAME_PROMPT_BYTES: usize = 120;

/// A prompt or file that a compaction took out of the conversation
#[derive(Debug, Serialize, ToSchema)]
struct CompactedItem {
    /// The position of its record
    n: usize,
    text: String,
    /// Whether the summary still speaks of it
    kept: bool,
}

/// What a compaction took out of the conversation
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionCompaction)]
pub(super) struct CompactionView {
    /// The position of the summary
    n: usize,
    /// The position of the first record that it replaced
    from: usize,
    records: usize,
    /// The size of the replaced texts and of the summary
    bytes: u64,
    summary_bytes: u64,
    prompts: Vec<CompactedItem>,
    files: Vec<CompactedItem>,
}

/// What the compactions of a session took out of the conversation, and what their summaries kept
#[utoipa::path(get, path = "/sessions/{id}/compactions", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it")),
    responses((status = 200, body = Vec<CompactionView>)))]
pub(super) async fn compactions(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<Vec<CompactionView>>, Problem> {
    let found = state.run_blocking(move |context| {
        let store = &context.store;
        let session = find_session(store, &AccessScope::unrestricted(), &id)?;
        let outline = store.outline(&session.id)?;
        let mut from = 0;
        let mut found = Vec::new();
        for (n, kind) in outline.kind.iter().enumerate() {
            if *kind == RecordKind::Summary {
                found.push(compaction(store, &session, &outline, from, n)?);
                from = n + 1;
            }
        }
        Ok(found)
    });
    Ok(Json(found.await?))
}

fn compaction(
    store: &Store,
    session: &Session,
    outline: &SessionOutline,
    from: usize,
    n: usize,
) -> Result<CompactionView, RequestError> {
    let summary = store.timeline(&session.id, n, 1)?.pop();
    let summary = summary.map(|record| record.content.to_lowercase());
    let summary = summary.unwrap_or_default();
    let words: BTreeSet<&str> = words_of(&summary).collect();
    let of_kind = |kind| (from..n).filter(move |at| outline.kind.get(*at) == Some(&kind));
    let mut prompts = Vec::new();
    for at in of_kind(RecordKind::Prompt).take(COMPARED_MAX) {
        let Some(record) = store.timeline(&session.id, at, 1)?.pop() else {
            continue;
        };
        let lower = record.content.to_lowercase();
        let own: BTreeSet<&str> = words_of(&lower).collect();
        let shared = own.iter().filter(|word| words.contains(*word)).count();
        let mut text = record.content;
        text.truncate(text.floor_char_boundary(PROMPT_BYTES_MAX));
        prompts.push(CompactedItem {
            n: at,
            text,
            kept: shared as f64 >= KEPT_SHARE * own.len() as f64,
        });
    }
    let mut files: Vec<CompactedItem> = Vec::new();
    for at in of_kind(RecordKind::Artifact).take(COMPARED_MAX) {
        let record = store.timeline(&session.id, at, 1)?.pop();
        let Some(path) = record.and_then(|record| record.path) else {
            continue;
        };
        if files.iter().any(|file| file.text == path) {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or(&path).to_lowercase();
        files.push(CompactedItem {
            n: at,
            kept: summary.contains(&name),
            text: path,
        });
    }
    let sizes = outline.bytes.get(from..n).unwrap_or_default();
    Ok(CompactionView {
        n,
        from,
        records: n - from,
        bytes: sizes.iter().sum(),
        summary_bytes: outline.bytes.get(n).copied().unwrap_or_default(),
        prompts,
        files,
    })
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.len() >= WORD_LETTERS_MIN)
}

/// A subagent at the call that started it
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NestedSession {
    /// The position of the call; none if it is not known
    n: Option<usize>,
    session: SessionView,
}

/// The subagents of a session, each at the call that started it
#[utoipa::path(get, path = "/sessions/{id}/subagents", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it")),
    responses((status = 200, body = Vec<NestedSession>)))]
pub(super) async fn subagents(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<Vec<NestedSession>>, Problem> {
    let found = state.run_blocking(move |context| {
        let store = &context.store;
        let session = find_session(store, &AccessScope::unrestricted(), &id)?;
        let children = store.subagents(&session.id)?;
        if children.is_empty() {
            return Ok(Vec::new());
        }
        let mut calls = starting_calls(store, &session)?;
        let mut nested = Vec::new();
        for child in children {
            let prompt = first_prompt(store, &child)?;
            let same = |call: &(usize, Option<i64>, String)| {
                !prompt.is_empty() && call.2.contains(&prompt)
            };
            let started = child.started.map(jiff::Timestamp::as_millisecond);
            let before = |call: &(usize, Option<i64>, String)| {
                call.1.zip(started).is_some_and(|(at, start)| at <= start)
            };
            let found = calls.iter().position(same);
            let found = found.or_else(|| calls.iter().rposition(before));
            nested.push(NestedSession {
                n: found.map(|at| calls.remove(at).0),
                session: child.into(),
            });
        }
        Ok(nested)
    });
    Ok(Json(found.await?))
}

/// Returns the calls that may start a subagent: position, time and text.
fn starting_calls(
    store: &Store,
    session: &Session,
) -> store::Result<Vec<(usize, Option<i64>, String)>> {
    let outline = store.outline(&session.id)?;
    let starts = |tool: &String| {
        let tool = tool.to_lowercase();
        ["task", "agent", "spawn", "delegate"]
            .iter()
            .any(|part| tool.contains(part))
    };
    let starting: Vec<bool> = outline.tools.iter().map(starts).collect();
    let mut calls = Vec::new();
    for (n, kind) in outline.kind.iter().enumerate() {
        let tool = outline.tool.get(n).copied().flatten();
        let is_start = tool.is_some_and(|tool| starting.get(tool) == Some(&true));
        if *kind == RecordKind::ToolUse && is_start {
            let record = store.timeline(&session.id, n, 1)?.pop();
            let text = record.map(|record| record.content).unwrap_or_default();
            calls.push((n, outline.at.get(n).copied().flatten(), text));
        }
    }
    Ok(calls)
}

fn first_prompt(store: &Store, session: &Session) -> store::Result<String> {
    let first = store.timeline(&session.id, 0, 5)?;
    let prompt = first
        .into_iter()
        .find(|record| record.kind == RecordKind::Prompt);
    let mut text = prompt.map(|record| record.content).unwrap_or_default();
    text.truncate(text.floor_char_boundary(SAME_PROMPT_BYTES));
    Ok(text)
}

/// What one turn used: a prompt and everything up to the next one
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionTurn {
    /// The position of the prompt
    n: usize,
    at: Option<i64>,
    requests: usize,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost_usd: Option<f64>,
    /// The size of the context in the last request of the turn
    context_tokens: u64,
}

/// What each turn of a session used
#[utoipa::path(get, path = "/sessions/{id}/turns", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it")),
    responses((status = 200, body = Vec<SessionTurn>)))]
pub(super) async fn turns(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<Vec<SessionTurn>>, Problem> {
    let stages = state.stages.clone();
    let turns = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let outline = context.store.outline(&session.id)?;
        let responses = context.store.session_responses(&session.id)?;
        let prompts: Vec<_> = (0..outline.kind.len())
            .filter(|n| outline.kind.get(*n) == Some(&RecordKind::Prompt))
            .map(|n| (n, outline.at.get(n).copied().flatten()))
            .collect();
        Ok(split_into_turns(&prompts, &responses, &stages.prices))
    });
    Ok(Json(turns.await?))
}

/// Adds each response to the last prompt before it.
fn split_into_turns(
    prompts: &[(usize, Option<i64>)],
    responses: &[ResponseUsage],
    prices: &Prices,
) -> Vec<SessionTurn> {
    let empty = |(n, at): &(usize, Option<i64>)| SessionTurn {
        n: *n,
        at: *at,
        requests: 0,
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        cost_usd: None,
        context_tokens: 0,
    };
    let mut turns: Vec<_> = prompts.iter().map(empty).collect();
    for response in responses {
        let at = response.at.map(jiff::Timestamp::as_millisecond);
        let began = |turn: &SessionTurn| turn.at.zip(at).is_some_and(|(began, at)| began <= at);
        let index = turns.iter().rposition(began).unwrap_or(0);
        let Some(turn) = turns.get_mut(index) else {
            break;
        };
        let Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..
        } = response.usage;
        let cost = match response.cost_usd {
            Some(usd) => Some(usd),
            None => prices.cost(response.model.as_deref(), &response.usage).usd,
        };
        turn.requests += 1;
        turn.input += input;
        turn.output += output;
        turn.cache_read += cache_read;
        turn.cache_write += cache_write;
        turn.cost_usd = match (turn.cost_usd, cost) {
            (None, cost) => cost,
            (known, None) => known,
            (Some(known), Some(cost)) => Some(known + cost),
        };
        turn.context_tokens = input + cache_read + cache_write;
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_belong_to_the_prompt_before_them() {
        let response = |at: i64, input: u64| ResponseUsage {
            at: jiff::Timestamp::from_millisecond(at).ok(),
            model: None,
            usage: Usage {
                input,
                ..Usage::default()
            },
            cost_usd: Some(1.0),
        };
        let prompts = [(0, Some(10)), (5, Some(20)), (9, None)];
        let responses = [
            response(5, 1),
            response(15, 2),
            response(20, 4),
            response(30, 8),
        ];
        let turns = split_into_turns(&prompts, &responses, &Prices::default());
        let figures: Vec<_> = turns
            .iter()
            .map(|turn| (turn.n, turn.requests, turn.input, turn.context_tokens))
            .collect();
        assert_eq!(figures, [(0, 2, 3, 2), (5, 2, 12, 8), (9, 0, 0, 0)]);
        assert_eq!(turns[1].cost_usd, Some(2.0));
        assert!(split_into_turns(&[], &responses, &Prices::default()).is_empty());
    }
}
