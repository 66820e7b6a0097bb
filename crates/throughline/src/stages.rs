//! What follows a sweep, stage by stage. Each pulls its own pending work from the store and may be run at
//! any time; `ingest` runs them all, `watch` when something came and every few minutes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use distill::renew::SummaryReport;
use distill::{facts, model_facts};
use jiff::Timestamp;
use store::Store;

use crate::commands::App;
use crate::commands::retain::RetainOutcome;
use crate::commands::serve::stage_settings;
use crate::output::table::count;
use crate::output::text::sanitize;

/// What the stages have in common.
#[derive(Debug)]
pub(crate) struct StageRunner<'a> {
    pub(crate) app: &'a App<'a>,
    pub(crate) stop: &'a Arc<AtomicBool>,
    store: &'a Store,
    settings: serve::stages::StageSettings,
}

/// What all of them did.
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

    /// Writes the summaries that are due. They are a comfort: trouble with them is no trouble with the rest.
    pub(crate) fn update_summaries(&self, now: Timestamp) -> SummaryReport {
        let renewed =
            serve::stages::update_due_summaries(self.store, &self.settings, self.stop, now);
        renewed.unwrap_or_else(|error| {
            say!("warning: no summaries: {error:#}");
            SummaryReport::default()
        })
    }

    /// Runs them all. Facts and summaries are taken from records that retention may let go of; the model's
    /// facts come last, because nothing waits for them.
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
                say!("warning: no facts by the model: {error}");
                None
            }),
        })
    }
}

impl StageResults {
    /// Returns what is worth telling people, a line each.
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
            refused.map(|why| format!("The model was not asked any more: {}.", sanitize(why))),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// Says which summaries were written.
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
