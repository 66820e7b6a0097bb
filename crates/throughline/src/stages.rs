//! Runs the stages that follow a sweep: facts, summaries, digests and retention. Each stage takes
//! its pending work from the store, so it may run at any time. `ingest` runs all of them once,
//! `watch` when new records arrive and every few minutes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use capture::Sources;
use distill::summary::SummaryReport;
use distill::{facts, model_facts};
use jiff::Timestamp;
use serve::stages::StageContext;
use store::Store;

use crate::commands::App;
use crate::commands::retain::RetainOutcome;
use crate::commands::serve::stage_settings;
use crate::output::table::count;
use crate::output::text::sanitize;

/// Runs the stages on a store.
#[derive(Debug)]
pub(crate) struct StageRunner<'a> {
    pub(crate) app: &'a App<'a>,
    pub(crate) stop: &'a Arc<AtomicBool>,
    store: &'a Store,
    settings: serve::stages::StageSettings,
}

/// The results of all stages.
#[derive(Debug)]
pub(crate) struct StageResults {
    pub(crate) facts: Option<facts::FactReport>,
    pub(crate) summaries: SummaryReport,
    pub(crate) retention: RetainOutcome,
    pub(crate) model_facts: Option<model_facts::stage::ModelFactReport>,
}

impl<'a> StageRunner<'a> {
    pub(crate) fn new(
        app: &'a App<'a>,
        store: &'a Store,
        stop: &'a Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            app,
            store,
            stop,
            settings: stage_settings(app)?,
        })
    }

    /// Returns what [`serve::stages::run`] needs.
    pub(crate) fn context<'s>(&'s self, sources: &'s Sources, now: Timestamp) -> StageContext<'s> {
        StageContext {
            store: self.store,
            settings: &self.settings,
            sources,
            stop: self.stop,
            now,
        }
    }

    /// Updates the running summaries that are due. A failure is only reported, because nothing
    /// depends on summaries.
    pub(crate) fn update_summaries(&self, now: Timestamp) -> SummaryReport {
        let renewed =
            serve::stages::update_due_summaries(self.store, &self.settings, self.stop, now);
        renewed.unwrap_or_else(|error| {
            say!("warning: cannot update summaries: {error:#}");
            SummaryReport::default()
        })
    }

    /// Runs all stages. Facts and summaries come before retention, which may remove their records.
    /// The model's facts come last, because a model is slow and nothing depends on them.
    pub(crate) fn run_all(&self, now: Timestamp) -> anyhow::Result<StageResults> {
        let (store, settings, stop) = (self.store, &self.settings, self.stop);
        let facts = serve::stages::extract_facts(store, settings, stop, now)?;
        let renewed = self.update_summaries(now);
        let (digested, retained) = serve::stages::digest_and_evict(store, settings, stop, now)?;
        let told = serve::stages::extract_facts_with_model(store, settings, stop, now);
        Ok(StageResults {
            facts,
            summaries: renewed,
            retention: RetainOutcome { digested, retained },
            model_facts: told.unwrap_or_else(|error| {
                say!("warning: cannot extract facts with the model: {error}");
                None
            }),
        })
    }
}

impl StageResults {
    /// Returns the messages for people.
    pub(crate) fn report_lines(&self) -> Vec<String> {
        let (facts, told) = (self.facts.as_ref(), self.model_facts.as_ref());
        let found = facts.and_then(|facts| found_text(facts.facts, facts.sessions));
        let by_model = told.and_then(|told| found_text(told.facts, told.sessions));
        let refused = self.summaries.refused.as_ref();
        let refused = refused.or(told.and_then(|told| told.refused.as_ref()));
        let lines = [
            found.map(|found| format!("Found {found}.")),
            summaries_text(&self.summaries).map(|written| format!("Wrote {written}.")),
            by_model.map(|found| format!("The model found {found}.")),
            refused.map(|why| format!("Stopped asking the model: {}.", sanitize(why))),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// Returns how many summaries were updated, or `None` if none were.
pub(crate) fn summaries_text(renewed: &SummaryReport) -> Option<String> {
    let written = match renewed.written.len() {
        0 => return None,
        1 => "1 summary".to_owned(),
        many => format!("{many} summaries"),
    };
    let by = match renewed.by_model {
        0 => String::new(),
        many => format!(", {many} by the model"),
    };
    Some(format!("{written} of live sessions{by}"))
}

fn found_text(facts: usize, sessions: usize) -> Option<String> {
    (facts > 0).then(|| {
        let (facts, sessions) = (count(facts, "fact"), count(sessions, "session"));
        format!("{facts} in {sessions}")
    })
}
