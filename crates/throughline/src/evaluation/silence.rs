//! What prompts get without asking, measured through the same function that hooks call.

use jiff::Timestamp;
use memory::Item;
use recall::{Answer, Candidates, Config, Fate, Occasion, World, offered};
use store::Store;

use crate::evaluation::corpus::{self, Library};

/// What people type without asking memory for anything, a line each.
const EVERYDAY: &str = include_str!("everyday.txt");

pub fn everyday() -> impl Iterator<Item = &'static str> {
    EVERYDAY.lines().filter(|line| !line.is_empty())
}

/// What came of a prompt.
#[derive(Clone, Debug, Default)]
pub struct Reaction {
    /// Something is injected by default.
    pub injects: bool,
    /// How sure the search is of the best record that may be shown; 0 where none may.
    pub confidence: f64,
    /// What the confidence was made of.
    pub gate: recall::gate::Features,
    /// Names of the records that are shown, or would be if the gate were open.
    pub shown: Vec<String>,
}

/// Sends a prompt as somebody would who works in the workspace of a namespace.
pub fn react(
    library: &Library,
    ns: &str,
    prompt: &str,
    now: Timestamp,
) -> anyhow::Result<Reaction> {
    let occasion = Occasion {
        prompt: prompt.to_owned(),
        workspace: Some(corpus::key(ns)),
        ..Occasion::default()
    };
    let mut found = None;
    let usual = attempt(library, &occasion, &Config::default(), now, &mut found)?;
    if usual.injects || found.is_none() {
        return Ok(usual);
    }
    let open = Config {
        gate: 0.0,
        ..Config::default()
    };
    Ok(Reaction {
        injects: false,
        ..attempt(library, &occasion, &open, now, &mut found)?
    })
}

/// Sends a prompt once. What was found the time before is not looked for again.
fn attempt(
    library: &Library,
    occasion: &Occasion,
    config: &Config,
    now: Timestamp,
    known: &mut Option<Candidates>,
) -> anyhow::Result<Reaction> {
    let world = World {
        now,
        word: "measure",
        changed_since: &|_, _| false,
    };
    let mut reaction = Reaction::default();
    let find = |store: &Store, asked: &Occasion, now: Timestamp| {
        let found = match known.take() {
            Some(found) => found,
            None => offered::find(store, asked, now)?,
        };
        reaction.gate = found.gate;
        *known = Some(found.clone());
        Ok(found)
    };
    let recalled = recall::recall(&library.store, occasion, config, &world, find)?;
    reaction.injects = matches!(recalled.answer, Answer::Inject(_));
    for considered in &recalled.considered {
        if considered.fate == Fate::Injected
            && let Item::Record(id) = considered.item
        {
            reaction.confidence = reaction.confidence.max(considered.score);
            reaction.shown.extend(library.name(id).map(str::to_owned));
        }
    }
    Ok(reaction)
}
