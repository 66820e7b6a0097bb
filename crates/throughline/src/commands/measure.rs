//! `throughline measure`

use std::io::Write;

use learn::measure::{Baseline, EffectState, Measurement, measure_placed};
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

pub(crate) fn format_measurement(one: &Measurement) -> String {
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
