//! `throughline measure`

use std::io::Write;

use learn::measure::{AffectedCount, Baseline, EffectState, Measurement, measure_placed};
use serde_json::json;

use crate::commands::App;
use crate::learning;
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
    learning::update_digests(app, &store)?;
    let settings = app.config.learn_settings();
    let now = app.environment.now;
    let measured = measure_placed(&store, &settings, args.id.as_deref(), now)?;
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

/// Formats a measurement: what it says first, then the figures, then what to do.
pub(crate) fn format_measurement(one: &Measurement) -> String {
    let effect = &one.effect;
    let mut page = format!(
        "{} {}: {}\n  {}\n  affected sessions: {} before, {} after\n",
        one.id,
        sanitize(&one.name),
        effect.state.name(),
        verdict(one),
        rate(one.before),
        rate(one.after),
    );
    if one.after.sessions > 0 {
        page += &format!(
            "  ratio {:.2}, between {:.2} and {:.2} (95 %, drift included)\n",
            effect.ratio, effect.ratio_low, effect.ratio_high,
        );
    }
    page += &power_line(one);
    if let Some(control) = &one.control {
        page += &format!(
            "  without the pattern: {} before, {} after; ratio of ratios {:.2}\n",
            rate(control.before),
            rate(control.after),
            control.ratio_of_ratios,
        );
    }
    page += match one.baseline {
        Baseline::History => "  baseline: before the decision, so only a strong effect counts\n",
        Baseline::RunIn => "  baseline: after the decision; earlier sessions count half\n",
    };
    for change in &one.also_changed {
        page += &format!("  also changed: {}\n", sanitize(change));
    }
    if one.set_aside > 0 {
        let sessions = count(one.set_aside, "session");
        let reason = "with another model, agent version or version of the names";
        page += &format!("  set aside: {sessions} {reason}\n");
    }
    page += &format!(
        "  cost: {} per session, {} so far\n",
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

fn rate(count: AffectedCount) -> String {
    format!("{} of {}", count.affected, count.sessions)
}

/// Says in a sentence what the state means.
fn verdict(one: &Measurement) -> &'static str {
    let contradicted = one.control.is_some_and(|control| control.contradicts);
    match one.effect.state {
        EffectState::TooEarly if one.after.sessions == 0 => "no session has read it yet",
        EffectState::TooEarly => "too few sessions before or after to compare",
        EffectState::Helps => "fewer sessions are affected, beyond chance and drift",
        EffectState::NoEffect => "as many sessions are affected as before: not worth its tokens",
        EffectState::Harms => "more sessions are affected than before",
        EffectState::Open if contradicted => "changed alike where the pattern is not active",
        EffectState::Open => "the sessions so far do not decide it",
    }
}

/// Says how many more sessions it would take to see a halving.
fn power_line(one: &Measurement) -> String {
    if !matches!(one.effect.state, EffectState::TooEarly | EffectState::Open) {
        return String::new();
    }
    match (one.sessions_needed, one.sessions_needed_chance) {
        (Some(more @ 1..), Some(chance)) => format!(
            "  needs about {} to see a halving ({:.0} % chance)\n",
            count(more, "more session"),
            100.0 * chance,
        ),
        (Some(_), Some(chance)) => {
            let chance = 100.0 * chance;
            format!("  a halving would have shown by now ({chance:.0} % chance)\n")
        }
        _ => {
            let before = count(one.before.sessions, "session");
            format!("  {before} before are too few to see a halving, whatever follows\n")
        }
    }
}
