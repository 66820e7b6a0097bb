//! What follows a sweep, stage by stage. Each pulls its own pending work from the store and may be run at
//! any time; `ingest` runs them all, `watch` when something came and every few minutes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use distill::model::Asker;
use distill::renew::{How, Renewed, renew_pending};
use distill::{facts, model_facts};
use jiff::Timestamp;
use store::Store;

use crate::commands::App;
use crate::commands::retain::{self, Kept};
use crate::model;
use crate::output::say;
use crate::output::table::count;
use crate::output::text::safe;
use crate::stoppable::Stoppable;

/// What the stages have in common.
#[derive(Debug)]
pub struct Stages<'a> {
    pub app: &'a App<'a>,
    pub store: &'a Store,
    pub stop: &'a Arc<AtomicBool>,
    /// The configured model, made when it is first needed: its key may lie in a keychain.
    model: OnceLock<Option<Stoppable>>,
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
    pub fn new(app: &'a App<'a>, store: &'a Store, stop: &'a Arc<AtomicBool>) -> Self {
        Self {
            app,
            store,
            stop,
            model: OnceLock::new(),
        }
    }

    /// Writes the summaries that are due. They are a comfort: trouble with them is no trouble with the rest.
    pub fn renew(&self, now: Timestamp) -> Renewed {
        if self.store.is_encrypted() {
            // The files would tell in plain text what the store keeps sealed; an encryption that was
            // interrupted may have left some.
            if let Err(error) = self.store.remove_summaries() {
                say(&format!(
                    "warning: summaries in plain text are left: {error}"
                ));
            }
            return Renewed::default();
        }
        if !self.app.config.summary.enabled || self.stopped() {
            return Renewed::default();
        }
        let renewed = model::settings(self.app).and_then(|settings| {
            let renew =
                |how: How<'_>| renew_pending(self.store, &settings, how, &|| self.stopped(), now);
            let renewed = self.asking("summary", |asker| renew(How::Model(asker)));
            Ok(match renewed {
                Some(renewed) => renewed?,
                None => renew(How::Embedded)?,
            })
        });
        renewed.unwrap_or_else(|error| {
            say(&format!("warning: no summaries: {error:#}"));
            Renewed::default()
        })
    }

    /// Runs them all. Facts and summaries are taken from records that retention may let go of; the model's
    /// facts come last, because nothing waits for them.
    pub fn all(&self, now: Timestamp) -> anyhow::Result<Done> {
        Ok(Done {
            facts: self.facts(now)?,
            renewed: self.renew(now),
            kept: retain::distill_and_evict(self.app, self.store, self.stop, now)?,
            told: self.ask_for_facts(now),
        })
    }

    /// Looks at the sessions that have ended: whether what was injected into them was used, and the facts
    /// they are sure to hold.
    fn facts(&self, now: Timestamp) -> anyhow::Result<Option<facts::Report>> {
        if self.stopped() {
            return Ok(None);
        }
        recall::used::look_at_pending(self.store, now)?;
        if !self.app.config.facts.extract {
            return Ok(None);
        }
        let found = facts::facts_pending(self.store, now, &|| self.stopped())?;
        Ok(Some(found))
    }

    /// Asks the model for facts, where there is one.
    fn ask_for_facts(&self, now: Timestamp) -> Option<model_facts::stage::Report> {
        let wanted = &self.app.config.facts;
        if !wanted.extract || !wanted.by_model || self.stopped() {
            return None;
        }
        let asked = self.asking("facts", |asker| {
            model_facts::stage::facts_pending(self.store, asker, now, &|| self.stopped())
        })?;
        asked
            .map_err(|error| say(&format!("warning: no facts by the model: {error}")))
            .ok()
    }

    /// Runs with an asker of the configured model; `None` where there is none, or it cannot be had.
    fn asking<T>(&self, purpose: &'static str, run: impl FnOnce(&Asker<'_>) -> T) -> Option<T> {
        let model = self.model.get_or_init(|| self.model()).as_ref()?;
        let asked = model::with_asker(self.app, self.store, model, purpose, None, |asker| {
            let sleep = |time| Stoppable::sleep(self.stop, time);
            let mut asker = *asker;
            asker.clock.sleep = &sleep;
            run(&asker)
        });
        asked
            .map_err(|error| say(&format!("warning: no model is asked: {error:#}")))
            .ok()
    }

    fn model(&self) -> Option<Stoppable> {
        if !model::is_usable(self.app) {
            return None;
        }
        let model = model::model(self.app);
        let model = model.map_err(|error| say(&format!("warning: no model is asked: {error:#}")));
        Some(Stoppable {
            model: model.ok()?,
            stop: Arc::clone(self.stop),
        })
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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
