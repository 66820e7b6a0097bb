//! Routes for what memory did and costs: injections and their verdicts, usage, and what is kept.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::{MemoryItem, RecordId, SessionId};
use serde::{Deserialize, Serialize};
use store::retention::{PlannedEviction, RetentionPolicy};
use store::{Injection, InjectionVerdict, ModelCall, Store, UsageFilter};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, PathId, QueryParams, parse_limit, parse_time};
use super::problem::Problem;
use crate::requests::find::find_session;
use crate::requests::usage::{UsageGroup, UsageGrouping, group_usage};
use crate::requests::{AccessScope, RequestError};

const LIST_MAX: usize = 1_000;
/// How many of Throughline's own requests are listed.
const OWN_CALLS_MAX: usize = 200;
/// How many sessions that would be removed next are listed.
const NEXT_MAX: usize = 20;
/// The text of a given item is shortened to this size.
const ITEM_BYTES_MAX: usize = 300;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct InjectionsParams {
    /// Only this session
    session_id: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<u32>,
}

/// What a prompt was given
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Injection)]
pub(super) struct InjectionView {
    id: String,
    at: String,
    session_id: Option<String>,
    /// The prompt that was given this; none if it is not stored
    prompt: Option<GivenPrompt>,
    workspace: Option<String>,
    tokens: u64,
    /// `good`, `bad`, or none
    verdict: Option<&'static str>,
    items: Vec<InjectedItemView>,
}

/// A prompt that was given something
#[derive(Debug, Serialize, ToSchema)]
struct GivenPrompt {
    /// Its record
    id: String,
    /// The beginning of its text
    text: String,
}

/// A fact or record that a prompt was given
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InjectedItem)]
struct InjectedItemView {
    /// `fact` or `record`
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    /// The beginning of its text; none if it is no longer stored
    text: Option<String>,
    tokens: u64,
    /// Whether the session used it; unknown until the session has ended
    used: Option<bool>,
}

/// List what prompts were given, latest first
#[utoipa::path(get, path = "/injections", tag = "injections", params(InjectionsParams),
    responses((status = 200, body = Vec<InjectionView>)))]
pub(super) async fn injections(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<InjectionsParams>,
) -> Result<Json<Vec<InjectionView>>, Problem> {
    let limit = parse_limit(params.limit, 50, LIST_MAX)?;
    let listed = state.run_blocking(move |context| {
        let store = &context.store;
        let session = params.session_id.filter(|id| !id.is_empty());
        let session = session.map(|id| find_session(store, &AccessScope::unrestricted(), &id));
        let session = session.transpose()?.map(|session| session.id);
        let injections = store.injections(session.as_ref(), limit)?;
        let mut prompts = PromptFinder::new(store);
        let views = injections.into_iter().map(|found| {
            let prompt = prompts.find(&found)?;
            injection_view(store, found, prompt)
        });
        Ok(views.collect::<store::Result<Vec<_>>>()?)
    });
    Ok(Json(listed.await?))
}

/// Finds the prompts that injections answered. The ledger keeps only a hash of each prompt, so it
/// is the prompt of the session that was sent at the same time.
struct PromptFinder<'a> {
    store: &'a Store,
    sessions: BTreeMap<SessionId, Vec<(RecordId, Timestamp)>>,
}

/// An agent writes a prompt to its log this long before or after it asks for memory, at most.
const PROMPT_MS_MAX: u64 = 60_000;

impl<'a> PromptFinder<'a> {
    const fn new(store: &'a Store) -> Self {
        Self {
            store,
            sessions: BTreeMap::new(),
        }
    }

    fn find(&mut self, injection: &Injection) -> store::Result<Option<GivenPrompt>> {
        let Some(session) = &injection.session else {
            return Ok(None);
        };
        if !self.sessions.contains_key(session) {
            let sent = self.store.prompt_times(session)?;
            self.sessions.insert(session.clone(), sent);
        }
        let at = injection.at.as_millisecond();
        let sent = self.sessions.get(session).into_iter().flatten();
        let distances = sent.map(|(id, sent)| (sent.as_millisecond().abs_diff(at), *id));
        let near = distances.filter(|(distance, _)| *distance <= PROMPT_MS_MAX);
        let Some((_, id)) = near.min_by_key(|(distance, _)| *distance) else {
            return Ok(None);
        };
        let record = self.store.read_record(id)?;
        Ok(record.map(|record| GivenPrompt {
            id: id.to_string(),
            text: shorten_item(record.content),
        }))
    }
}

fn shorten_item(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(ITEM_BYTES_MAX));
    text
}

fn injection_view(
    store: &Store,
    injection: Injection,
    prompt: Option<GivenPrompt>,
) -> store::Result<InjectionView> {
    let mut items = Vec::with_capacity(injection.items.len());
    for given in injection.items {
        let (kind, id, text) = match given.item {
            MemoryItem::Fact(id) => {
                let fact = store.facts_by_prefix(&id.to_string(), 1)?.pop();
                ("fact", id.to_string(), fact.map(|fact| fact.text))
            }
            MemoryItem::Record(id) => {
                let record = store.read_record(id)?;
                (
                    "record",
                    id.to_string(),
                    record.map(|record| record.content),
                )
            }
        };
        items.push(InjectedItemView {
            kind,
            id,
            text: text.map(shorten_item),
            tokens: given.tokens.0,
            used: given.used,
        });
    }
    Ok(InjectionView {
        id: injection.name,
        at: injection.at.to_string(),
        session_id: injection.session.map(|id| id.to_string()),
        prompt,
        workspace: injection.workspace,
        tokens: injection.tokens.0,
        verdict: injection.verdict.map(|verdict| match verdict {
            InjectionVerdict::Good => "good",
            InjectionVerdict::Bad => "bad",
        }),
        items,
    })
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum VerdictName {
    Good,
    Bad,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictBody {
    verdict: VerdictName,
}

/// Rate what a prompt was given
#[utoipa::path(post, path = "/injections/{id}/verdict", tag = "injections",
    params(("id" = String, Path, description = "The id of the injection")),
    request_body = VerdictBody, responses((status = 204, description = "The verdict is stored")))]
pub(super) async fn rate(
    State(state): State<HttpState>,
    PathId(id): PathId,
    JsonBody(body): JsonBody<VerdictBody>,
) -> Result<StatusCode, Problem> {
    let verdict = match body.verdict {
        VerdictName::Good => InjectionVerdict::Good,
        VerdictName::Bad => InjectionVerdict::Bad,
    };
    let rated = state.run_blocking(move |context| {
        let known = context.store.injections_by_prefix(&id, 2)?;
        let is_known = known.iter().any(|injection| injection.name == id);
        if !is_known {
            return Err(RequestError::not_found(
                format!("no injection has the id {id:?}"),
                "`GET /injections` lists the ids",
            ));
        }
        Ok(context.store.set_verdict(&id, verdict)?)
    });
    rated.await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageParams {
    /// `day` by default
    #[param(inline)]
    by: Option<UsageGrouping>,
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only from this time on: a date, or a time in RFC 3339
    since: Option<String>,
    /// Only before this time
    until: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 400)]
    limit: Option<u32>,
}

/// The usage of one day, model, session, workspace or agent
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageGroup)]
struct UsageGroupView {
    /// None for usage whose name is not in the log
    name: Option<String>,
    /// The title of a session
    title: Option<String>,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
    total: u64,
    requests: u64,
    cost_usd: Option<f64>,
    /// Tokens of models without a known price
    unpriced_tokens: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UsageAnswer {
    #[schema(inline)]
    by: UsageGrouping,
    groups: Vec<UsageGroupView>,
    /// Of all groups, also those beyond the limit
    total: UsageGroupView,
    /// The date of the price list
    prices_as_of: String,
}

/// Tokens and cost, grouped; days are in UTC
#[utoipa::path(get, path = "/usage", tag = "usage", params(UsageParams),
    responses((status = 200, body = UsageAnswer)))]
pub(super) async fn usage(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<UsageParams>,
) -> Result<Json<UsageAnswer>, Problem> {
    let limit = parse_limit(params.limit, 400, LIST_MAX)?;
    let by = params.by.unwrap_or_default();
    let stages = state.stages.clone();
    let answer = state.run_blocking(move |context| {
        let rows = context.store.usage(&UsageFilter {
            workspace: params.workspace.filter(|part| !part.is_empty()),
            since: parse_time(params.since.as_deref())?,
            until: parse_time(params.until.as_deref())?,
            ..UsageFilter::default()
        })?;
        let groups = group_usage(&rows, by, &TimeZone::UTC, &stages.prices);
        let mut total = UsageGroup::default();
        for (_, group) in &groups {
            total.add(group);
        }
        total.title = None;
        let views = groups.into_iter().take(limit);
        Ok(UsageAnswer {
            by,
            groups: views.map(|(name, group)| group_view(name, group)).collect(),
            total: group_view(None, total),
            prices_as_of: stages.prices.as_of.clone(),
        })
    });
    Ok(Json(answer.await?))
}

fn group_view(name: Option<String>, group: UsageGroup) -> UsageGroupView {
    let usage = group.usage;
    UsageGroupView {
        name,
        title: group.title,
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        reasoning: usage.reasoning,
        total: usage.total(),
        requests: group.requests,
        cost_usd: group.cost.usd,
        unpriced_tokens: group.cost.unpriced,
    }
}

/// A request that Throughline itself sent to the configured model
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelCall)]
struct ModelCallView {
    at: String,
    /// What the model was asked for
    purpose: String,
    session_id: Option<String>,
    model: String,
    input: u64,
    output: u64,
    cost_usd: Option<f64>,
    outcome: String,
}

/// What Throughline itself spent
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OwnUsage {
    calls: Vec<ModelCallView>,
    /// Since midnight in UTC
    today_tokens: u64,
    today_usd: f64,
    /// Whether a model is configured; without one nothing is sent
    has_model: bool,
}

/// The requests that Throughline itself sent to the configured model, latest first
#[utoipa::path(get, path = "/usage/own", tag = "usage",
    responses((status = 200, body = OwnUsage)))]
pub(super) async fn own_usage(State(state): State<HttpState>) -> Result<Json<OwnUsage>, Problem> {
    let has_model = state.stages.model_provider.is_some();
    let usage = state.run_blocking(move |context| {
        let now = context.now().to_zoned(TimeZone::UTC);
        let midnight = now.start_of_day().map(|day| day.timestamp());
        let today = context
            .store
            .spending_since(midnight.unwrap_or(context.now()))?;
        let calls = context.store.model_calls(None, OWN_CALLS_MAX)?;
        Ok(OwnUsage {
            calls: calls.into_iter().map(model_call_view).collect(),
            today_tokens: today.tokens,
            today_usd: today.usd,
            has_model,
        })
    });
    Ok(Json(usage.await?))
}

fn model_call_view(call: ModelCall) -> ModelCallView {
    ModelCallView {
        at: call.at.to_string(),
        purpose: call.purpose,
        session_id: call.session.map(|session| session.to_string()),
        model: call.model,
        input: call.usage.input + call.usage.cache_read + call.usage.cache_write,
        output: call.usage.output,
        cost_usd: call.usd,
        outcome: call.outcome,
    }
}

/// What is kept and for how long
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Keeping {
    /// Records, their texts, their index and the logs
    raw_bytes: u64,
    /// Sessions, digests, facts and usage
    distilled_bytes: u64,
    raw_soft_cap_bytes: u64,
    raw_hard_cap_bytes: u64,
    /// Ids of the sessions whose text would be removed next
    next: Vec<String>,
    /// The same sessions with their titles, at most 20. Below the limit: those that
    /// would be the first if the store grew
    next_sessions: Vec<EvictedNext>,
    /// Days after which digested text may be removed, once the store is above its limit
    raw_max_age_days: Option<i64>,
    /// Whether texts that may contain a secret are given to the prompts of all workspaces
    sensitive: bool,
    agents: Vec<AgentLogs>,
    /// Whether memory is injected into prompts
    injection: bool,
    /// Workspaces without injection
    injection_off_in: Vec<String>,
    /// What is sent from this machine
    leaves_the_machine: Vec<String>,
}

/// A session whose text would be removed next
#[derive(Debug, Serialize, ToSchema)]
struct EvictedNext {
    id: String,
    title: Option<String>,
    ended: Option<String>,
    /// The estimated size of its text
    bytes: u64,
}

/// The logs of an agent on this machine
#[derive(Debug, Serialize, ToSchema)]
struct AgentLogs {
    agent: &'static str,
    logs: usize,
    size_bytes: u64,
    /// None if the agent does not delete its logs
    deletes_after_days: Option<u32>,
    /// When it deletes its oldest log
    next_deletion: Option<String>,
}

/// The size of the store, its limits, and when agents delete their logs
#[utoipa::path(get, path = "/retention", tag = "daemon",
    responses((status = 200, body = Keeping)))]
pub(super) async fn retention(State(state): State<HttpState>) -> Result<Json<Keeping>, Problem> {
    let (stages, sources) = (state.stages.clone(), state.sources.clone());
    let answer = state.run_blocking(move |context| {
        let now = context.now();
        let policy = &stages.policy;
        let planned = context.store.plan_eviction(policy, stages.idle_after, now);
        let (usage, plan) = planned?;
        let mut first = plan.sessions.clone();
        if first.is_empty() {
            // The same plan for a limit that the store has reached.
            let reached = RetentionPolicy {
                raw_soft_cap_bytes: usage.raw_bytes - usage.raw_bytes / 10,
                ..policy.clone()
            };
            let planned = context
                .store
                .plan_eviction(&reached, stages.idle_after, now)?;
            first = planned.1.sessions;
        }
        first.truncate(NEXT_MAX);
        let injection = &context.settings.injection;
        let model = stages.model_provider.as_ref();
        Ok(Keeping {
            raw_bytes: usage.raw_bytes,
            distilled_bytes: usage.distilled_bytes,
            raw_soft_cap_bytes: policy.raw_soft_cap_bytes,
            raw_hard_cap_bytes: policy.raw_hard_cap_bytes,
            next: plan
                .sessions
                .iter()
                .map(|going| going.session.to_string())
                .collect(),
            next_sessions: evicted_next(&context.store, &first)?,
            raw_max_age_days: policy.raw_max_age.map(|age| age.as_hours() / 24),
            sensitive: injection.recall.include_sensitive,
            agents: agent_logs(&sources),
            injection: injection.enabled && !injection.disabled_by_environment,
            injection_off_in: injection.disabled_workspaces.clone(),
            leaves_the_machine: model
                .map(|_| "redacted parts of sessions, sent to the configured model".to_owned())
                .into_iter()
                .collect(),
        })
    });
    Ok(Json(answer.await?))
}

fn evicted_next(store: &Store, planned: &[PlannedEviction]) -> store::Result<Vec<EvictedNext>> {
    let view = |eviction: &PlannedEviction| {
        let session = store
            .sessions_by_prefix(eviction.session.as_str(), 1)?
            .pop();
        Ok(EvictedNext {
            id: eviction.session.to_string(),
            title: session.and_then(|session| session.name_or_title().map(str::to_owned)),
            ended: Some(eviction.last.to_string()),
            bytes: eviction.bytes,
        })
    };
    planned.iter().map(view).collect()
}

fn agent_logs(sources: &capture::Sources) -> Vec<AgentLogs> {
    let logs_of = |adapter: &&'static capture::adapter::Adapter| {
        let found = capture::discover(&[*adapter], &sources.roots);
        let files = found.sources.iter();
        let files: Vec<_> = files.filter_map(|log| log.path.metadata().ok()).collect();
        let days = adapter.flavor().deletes_after_days();
        let oldest = files.iter().filter_map(|file| file.modified().ok()).min();
        let oldest = oldest.and_then(|time| Timestamp::try_from(time).ok());
        let deletion = oldest.zip(days).and_then(|(oldest, days)| {
            oldest
                .checked_add(SignedDuration::from_hours(24 * i64::from(days)))
                .ok()
        });
        AgentLogs {
            agent: adapter.flavor().name(),
            logs: files.len(),
            size_bytes: files.iter().map(std::fs::Metadata::len).sum(),
            deletes_after_days: days,
            next_deletion: deletion.map(|at| at.to_string()),
        }
    };
    sources.adapters.iter().map(logs_of).collect()
}
