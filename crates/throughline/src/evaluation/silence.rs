//! What prompts get without asking, measured through the same function that hooks call.

use jiff::Timestamp;
use memory::Item;
use recall::{Answer, Budget, Config, Fate, Occasion, World, offered};

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
    /// Names of the records that would be shown if the gate were open.
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
    let world = World {
        now,
        word: "measure",
        changed_since: &|_, _| false,
    };
    let open = Config {
        budget: Budget::default(),
        gate: 0.0,
        ..Config::default()
    };
    let mut gate = [0.0; recall::gate::COUNT];
    let recalled = recall::recall(&library.store, &occasion, &open, &world, |store, asked, now| {
        let found = offered::find(store, asked, now)?;
        gate = found.gate;
        Ok(found)
    })?;
    let mut reaction = Reaction {
        gate,
        ..Reaction::default()
    };
    for considered in &recalled.considered {
        if considered.fate == Fate::Injected
            && let Item::Record(id) = considered.item
        {
            reaction.confidence = reaction.confidence.max(considered.score);
            reaction.shown.extend(library.name(id).map(str::to_owned));
        }
    }
    let usual = recall::recall(&library.store, &occasion, &Config::default(), &world, offered::find)?;
    reaction.injects = matches!(usual.answer, Answer::Inject(_));
    Ok(reaction)
}
