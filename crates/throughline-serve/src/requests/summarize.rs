//! Renews what is derived from one session: its summary and its facts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use distill::facts::extract_facts_of_session;
use distill::model_facts::stage::{ModelFactError, extract_model_facts};
use distill::summary::{self, SummaryAuthor, SummaryError, SummarySettings};
use memory::{Fact, Session, SessionId};
use serde_json::{Map, Value, json};
use store::{EventName, FactOutcome, Store, StoredSummary};

use super::find::find_session;
use super::{AccessScope, RequestError};
use crate::ServeContext;
use crate::models::{self, ModelRequest};

/// The renewed summary and facts of a session.
#[derive(Debug)]
pub struct SummarizeResult {
    pub session: SessionId,
    pub summary: StoredSummary,
    /// The facts that the session states, old and new.
    pub facts: Vec<Fact>,
    /// Why the model was not used, if one is configured.
    pub model_note: Option<String>,
}

/// Writes the summary of a session and extracts its facts, with the model if one is configured and
/// available, else without. `stop` ends the wait for the model.
pub fn summarize_session(
    context: &ServeContext,
    scope: &AccessScope,
    session: &str,
    stop: &Arc<AtomicBool>,
) -> Result<SummarizeResult, RequestError> {
    let store = &*context.store;
    let settings = context.settings.summary.as_ref();
    let Some(settings) = settings.filter(|_| !store.is_encrypted()) else {
        return Err(RequestError::not_allowed(
            "summaries are switched off",
            "set `enabled` under [summary]; an encrypted store writes no summary files",
        ));
    };
    let session = find_session(store, scope, session)?;
    let mut model_note = write_summary(context, settings, &session.id, stop)?;
    let (facts, note) = extract_facts(context, &session, stop)?;
    model_note = model_note.or(note);
    let Some(summary) = store.summary(&session.id)? else {
        return Err(RequestError::not_found(
            format!("the session {} has no summary", session.id),
            "it has nothing to summarize yet",
        ));
    };
    Ok(SummarizeResult {
        session: session.id,
        summary,
        facts,
        model_note,
    })
}

/// Writes the summary, and returns why the model did not if it was asked. A summary that is up to
/// date stays as it is.
fn write_summary(
    context: &ServeContext,
    settings: &SummarySettings,
    session: &SessionId,
    stop: &Arc<AtomicBool>,
) -> Result<Option<String>, RequestError> {
    let store = &*context.store;
    let by_model = with_model(context, "summary", session, stop, |model| {
        let author = SummaryAuthor::Model(model);
        summary::write_summary(store, session, settings, author, context.now())
    });
    let note = match by_model {
        Some(Ok(Ok(_) | Err(SummaryError::NoNewRecords))) => return Ok(None),
        Some(Ok(Err(SummaryError::Store(error)))) => return Err(error.into()),
        Some(Ok(Err(declined))) => Some(declined.to_string()),
        Some(Err(why)) => Some(why),
        None => None,
    };
    let now = context.now();
    match summary::write_summary(store, session, settings, SummaryAuthor::Embedded, now) {
        Ok(_) | Err(SummaryError::NoNewRecords) => Ok(note),
        Err(SummaryError::Store(error)) => Err(error.into()),
        Err(declined) => Err(RequestError::invalid(
            declined.to_string(),
            "the previous summary is unchanged",
        )),
    }
}

/// Extracts and stores the facts that the embedded extractor is sure of, and those of the model.
fn extract_facts(
    context: &ServeContext,
    session: &Session,
    stop: &Arc<AtomicBool>,
) -> Result<(Vec<Fact>, Option<String>), RequestError> {
    let store = &*context.store;
    let mut merged = extract_facts_of_session(store, session, context.now())?;
    let embedded = merged.len();
    let by_model = context.settings.extract_facts_with_model.then(|| {
        with_model(context, "facts", &session.id, stop, |model| {
            extract_model_facts(store, model, &session.id, None)
        })
    });
    let note = match by_model.flatten() {
        Some(Ok(Ok(stated))) => {
            merged.extend(stated.merged);
            None
        }
        Some(Ok(Err(ModelFactError::Store(error)))) => return Err(error.into()),
        Some(Ok(Err(declined))) => Some(declined.to_string()),
        Some(Err(why)) => Some(why),
        None => None,
    };
    let figures = json!({
        "sessions": 1, "facts": count_new(&merged), "repeated": merged.len() - count_new(&merged),
        "by_model": merged.len() - embedded,
    });
    let figures = figures.as_object().cloned().unwrap_or_default();
    record_event(context, &session.id, figures);
    let mut facts: Vec<Fact> = Vec::new();
    for outcome in merged {
        let is_listed = facts.iter().any(|fact| fact.id == outcome.id);
        if !is_listed && let Some(fact) = store.fact(outcome.id)? {
            facts.push(fact);
        }
    }
    Ok((facts, note))
}

fn count_new(merged: &[FactOutcome]) -> usize {
    merged.iter().filter(|outcome| !outcome.repeated).count()
}

fn record_event(context: &ServeContext, session: &SessionId, figures: Map<String, Value>) {
    let name = EventName::FactsExtracted;
    let store: &Store = &context.store;
    if let Err(error) = store.record_event(context.now(), name, Some(session), figures) {
        tracing::warn!(%session, %error, "event not recorded");
    }
}

/// Runs `work` with the configured model. Returns `None` if none is configured, and the reason if
/// it is not available.
fn with_model<T>(
    context: &ServeContext,
    purpose: &'static str,
    session: &SessionId,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&distill::model::ModelSession<'_>) -> T,
) -> Option<Result<T, String>> {
    let provider = context.settings.model_provider.as_deref()?;
    let request = ModelRequest {
        store: &context.store,
        purpose,
        session: Some(session),
        stop,
    };
    Some(models::run_with_model(provider, &request, work))
}
