//! What follows a sweep, stage by stage. Each pulls its own pending work from the store and may be run at
//! any time; `ingest` runs them all, `watch` when something came and every few minutes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use distill::renew::Renewed;
use distill::{facts, model_facts};
use jiff::Timestamp;
use store::Store;

use crate::commands::App;
use crate::commands::retain::Kept;
use crate::commands::serve::stages;
use crate::output::say;
use crate::output::table::count;
use crate::output::text::safe;

/// What the stages have in common.
#[derive(Debug)]
pub struct Stages<'a> {
    pub app: &'a App<'a>,
    pub stop: &'a Arc<AtomicBool>,
    store: &'a Store,
    settings: serve::stages::Stages,
}

/// What all of them did.
#[derive(Debug)]
pub struct Done {
    pub facts: Option<facts::Report>,
    pub renewed: Renewed,
    pub kept: Kept,
    pub told: Option<model_facts::stage::Report>,
}

impl<'a> Stages<'a> {
    pub fn new(
        app: &'a App<'a>,
        store: &'a Store,
        stop: &'a Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            app,
            store,
            stop,
            settings: stages(app)?,
        })
    }

    /// Writes the summaries that are due. They are a comfort: trouble with them is no trouble with the rest.
    pub fn renew(&self, now: Timestamp) -> Renewed {
        let renewed = serve::stages::renew(self.store, &self.settings, self.stop, now);
        renewed.unwrap_or_else(|error| {
            say(&format!("warning: no summaries: {error:#}"));
            Renewed::default()
        })
    }

    /// Runs them all. Facts and summaries are taken from records that retention may let go of; the model's
    /// facts come last, because nothing waits for them.
    pub fn all(&self, now: Timestamp) -> anyhow::Result<Done> {
        let (store, settings, stop) = (self.store, &self.settings, self.stop);
        let facts = serve::stages::look_back(store, settings, stop, now)?;
        let renewed = self.renew(now);
        let (digested, retained) = serve::stages::digest_and_evict(store, settings, stop, now)?;
        let told = serve::stages::ask_for_facts(store, settings, stop, now);
        Ok(Done {
            facts,
            renewed,
            kept: Kept { digested, retained },
            told: told.unwrap_or_else(|error| {
                say(&format!("warning: no facts by the model: {error}"));
                None
            }),
        })
    }
}

impl Done {
    /// Returns what is worth telling people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let (facts, told) = (self.facts.as_ref(), self.told.as_ref());
        let found = facts.and_then(|facts| found(facts.facts, facts.sessions));
        let by_model = told.and_then(|told| self::found(told.facts, told.sessions));
        let refused = self.renewed.refused.as_ref();
        let refused = refused.or(told.and_then(|told| told.refused.as_ref()));
        let lines = [
            found.map(|found| format!("Found {found}.")),
            summaries(&self.renewed).map(|written| format!("Wrote {written}.")),
            by_model.map(|found| format!("The model found {found}.")),
            refused.map(|why| format!("The model was not asked any more: {}.", safe(why))),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// Says which summaries were written.
pub fn summaries(renewed: &Renewed) -> Option<String> {
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

fn found(facts: usize, sessions: usize) -> Option<String> {
    (facts > 0).then(|| {
        let (facts, sessions) = (count(facts, "fact"), count(sessions, "session"));
        format!("{facts} in {sessions}")
    })
}
