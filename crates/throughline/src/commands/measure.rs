//! `throughline measure`

use std::collections::BTreeMap;
use std::io::Write;

use jiff::Timestamp;
use learn::curate::load_catalog;
use learn::detect::sound_groups;
use learn::distribute::{PlacedPattern, load_registry, observe, registry_path, save_registry};
use learn::measure::{Baseline, EffectState, MeasuredPattern, Measurement, measure};
use memory::Flavor;
use serde_json::json;
use store::{Review, Store};

use crate::commands::App;
use crate::learning::catalog_dir;
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint};

/// Show whether distributed patterns help
///
/// Compares the share of affected sessions before and after a pattern became active, with its
/// uncertainty. A pattern that harms or does nothing is flagged for withdrawal.
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArgs {
    /// Only the pattern with this id, or a prefix of it
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Print the measurements as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &MeasureArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let measured = measure_all(app, &store, args.id.as_deref())?;
    if args.json {
        output::print_json(&json!({ "patterns": measured }))?;
        return Ok(Exit::of_query(measured.is_empty()));
    }
    if measured.is_empty() {
        if let Some(id) = &args.id {
            return Err(error_with_hint(
                format!("no distributed pattern has the id {id:?}"),
                "`throughline measure` lists the distributed patterns",
            ));
        }
        say!(
            "No pattern is distributed. `throughline curate` and `throughline distribute` do that."
        );
        return Ok(Exit::NothingFound);
    }
    let mut out = app.output();
    for one in &measured {
        write!(out, "{}", format_measurement(one))?;
    }
    Ok(Exit::Done)
}

/// Measures the distributed patterns, after looking at their files.
fn measure_all(app: &App<'_>, store: &Store, id: Option<&str>) -> anyhow::Result<Vec<Measurement>> {
    let sessions = store.session_signals(None)?;
    let groups = sound_groups(&sessions);
    let path = registry_path(store);
    let mut registry = load_registry(&path)?;
    observe(&mut registry, &groups, app.environment.now);
    save_registry(&path, &registry)?;
    let mut placements: BTreeMap<(&str, &str), Vec<&PlacedPattern>> = BTreeMap::new();
    for placed in &registry.patterns {
        if id.is_none_or(|id| placed.pattern.starts_with(id)) {
            let key = (placed.pattern.as_str(), placed.workspace.as_str());
            placements.entry(key).or_default().push(placed);
        }
    }
    let reviews = store.reviews()?;
    let mut measured = Vec::new();
    for ((pattern, workspace), placed) in placements {
        let Some(first) = placed.first() else {
            continue;
        };
        let catalog = load_catalog(&catalog_dir(app, &first.root))?;
        let Some(entry) = catalog.iter().find(|entry| entry.id == pattern) else {
            continue;
        };
        let active = active_since(&placed);
        let pattern = MeasuredPattern {
            id: pattern,
            kind: entry.kind,
            name: &entry.signal,
            workspace: Some(workspace),
            decided: decided_at(&reviews, pattern),
            active: &active,
            block_tokens: placed.iter().map(|placed| placed.tokens).max().unwrap_or(0),
        };
        let ended = placed.iter().filter_map(|placed| placed.ended).max();
        measured.push(measure(&pattern, &groups, ended));
    }
    Ok(measured)
}

fn active_since(placed: &[&PlacedPattern]) -> Vec<(Flavor, Timestamp)> {
    let mut active: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (flavor, since) in placed.iter().flat_map(|placed| &placed.active) {
        let known = active.entry(flavor).or_insert(*since);
        *known = (*known).min(*since);
    }
    let known = |(name, since)| Some((Flavor::from_name(name)?, since));
    active.into_iter().filter_map(known).collect()
}

fn decided_at(reviews: &[Review], pattern: &str) -> Option<Timestamp> {
    let approved = |review: &&Review| review.pattern == pattern && review.decision == "approve";
    reviews.iter().find(approved).and_then(|review| review.at)
}

fn format_measurement(one: &Measurement) -> String {
    let effect = &one.effect;
    let rate =
        |count: learn::measure::AffectedCount| format!("{} of {}", count.affected, count.sessions);
    let mut page = format!(
        "{} {}: {}\n  affected sessions: {} before, {} after; ratio {:.2} [{:.2}, {:.2}]\n",
        one.id,
        sanitize(&one.name),
        effect.state.name(),
        rate(effect.before),
        rate(effect.after),
        effect.ratio,
        effect.ratio_low,
        effect.ratio_high,
    );
    page += &match (effect.state, effect.sessions_needed) {
        (EffectState::TooEarly | EffectState::Open, Some(more)) if more > 0 => {
            format!(
                "  a halving would show after about {} more\n",
                count(more, "session")
            )
        }
        (EffectState::TooEarly | EffectState::Open, None) => {
            "  no number of sessions would show a halving: the baseline is too small\n".to_owned()
        }
        _ => String::new(),
    };
    if one.baseline == Baseline::History {
        page += "  the baseline is from before the decision, so only a strong effect counts\n";
    }
    for change in &one.also_changed {
        page += &format!("  also changed: {}\n", sanitize(change));
    }
    page += &format!(
        "  costs {} per session, {} so far\n",
        count(one.tokens_per_session, "token"),
        one.tokens_spent
    );
    for of in &one.flavors {
        page += &format!(
            "  {}: {} before, {} after\n",
            of.flavor,
            rate(of.before),
            rate(of.after)
        );
    }
    if one.withdraw {
        page += &format!("  withdraw it: throughline curate --withdraw {}\n", one.id);
    }
    page
}
