//! `throughline usage`

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{Write, stdout};

use jiff::tz::TimeZone;
use memory::{Cost, Flavor, Prices, Session, Usage};
use serde::Serialize;
use store::{Store, UsageFilter, UsageRow};

use crate::commands::sessions::{cut_id, tokens};
use crate::commands::{App, own, parse_flavor};
use crate::output::table::{count, cut, table};
use crate::output::text::safe;
use crate::output::{self, Outcome, say};

/// Count the tokens that the agents used, and what they cost
///
/// The cost is what the log states; where it states none, the tokens are priced by the list in the
/// configuration. `?` stands for a cost that is not known, `≥` for one of which a part is not.
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    /// What to count by
    #[arg(long, value_enum, default_value_t = By::Day, value_name = "WHAT")]
    by: By,

    /// Only this agent's sessions
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only workspaces with this in their address or folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only from this time on: 2026-01-05, or 90m, 12h, 3d, 2w ago
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// What Throughline itself asked of models, call by call
    #[arg(long, conflicts_with_all = ["by", "agent", "workspace", "until"])]
    own: bool,

    /// How many lines to show; the total counts them all
    #[arg(short = 'n', long, default_value_t = 30, value_name = "NUMBER")]
    limit: usize,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum By {
    Day,
    Model,
    Session,
    Workspace,
    Agent,
}

/// What was used under one name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    title: Option<String>,
    usage: Usage,
    requests: u64,
    cost: Cost,
}

/// What stands for a name that no log told.
const UNKNOWN: &str = "unknown";

pub fn run(app: &App<'_>, args: &UsageArgs) -> anyhow::Result<Outcome> {
    if args.own {
        let since = app.moment(args.since.as_deref())?;
        return own::run(app, since, args.limit, args.json);
    }
    let rows = app.open_existing()?.usage(&UsageFilter {
        flavor: args.agent,
        workspace: args.workspace.clone(),
        session: None,
        since: app.moment(args.since.as_deref())?,
        until: app.moment(args.until.as_deref())?,
    })?;
    let prices = app.config.prices();
    let groups = grouped(&rows, args.by, &app.environment.zone, &prices);
    let mut total = Group::default();
    for (_, group) in &groups {
        total.add(group);
    }
    let shown = &groups[..groups.len().min(args.limit)];
    if args.json {
        output::json(&serde_json::json!({
            "by": args.by,
            "groups": shown.iter().map(|(name, group)| json(name.as_deref(), group)).collect::<Vec<_>>(),
            "groups_left_out": groups.len() - shown.len(),
            "total": json(None, &total),
            "prices_as_of": prices.as_of,
        }))?;
    } else {
        print(args.by, shown, &total)?;
        if groups.len() > shown.len() {
            let left = count(groups.len() - shown.len(), "more line");
            say(&format!("{left} in the total; -n shows them."));
        }
        if rows.iter().any(|row| is_by_list(row, &prices)) {
            let as_of = safe(&prices.as_of);
            say(&format!(
                "Costs that no log states are by the list prices of {as_of}."
            ));
        }
    }
    Ok(if groups.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Returns what a session cost, without its subagents.
pub fn cost_of(app: &App<'_>, store: &Store, session: &Session) -> anyhow::Result<Cost> {
    let rows = store.usage(&UsageFilter {
        session: Some(session.id.clone()),
        ..UsageFilter::default()
    })?;
    let prices = app.config.prices();
    let mut cost = Cost::default();
    for row in &rows {
        cost += priced(row, &prices);
    }
    Ok(cost)
}

/// Returns a cost as people read it.
pub fn dollars(cost: &Cost) -> String {
    let sign = if cost.unpriced > 0 { "≥" } else { "" };
    match cost.usd {
        None if cost.unpriced > 0 => "?".to_owned(),
        None => "-".to_owned(),
        Some(usd) if usd > 0.0 && usd < 0.01 => format!("{sign}${usd:.4}"),
        Some(usd) => format!("{sign}${usd:.2}"),
    }
}

fn priced(row: &UsageRow, prices: &Prices) -> Cost {
    match row.cost_usd {
        Some(usd) => Cost::stated(usd),
        None => prices.cost(row.model.as_deref(), &row.usage),
    }
}

fn is_by_list(row: &UsageRow, prices: &Prices) -> bool {
    let model = row.model.as_deref();
    row.cost_usd.is_none() && model.is_some_and(|model| prices.of(model).is_some())
}

/// Adds the rows up under their names: days with the latest first, all else with the most tokens
/// first.
fn grouped(
    rows: &[UsageRow],
    by: By,
    zone: &TimeZone,
    prices: &Prices,
) -> Vec<(Option<String>, Group)> {
    let mut groups: BTreeMap<Option<String>, Group> = BTreeMap::new();
    for row in rows {
        groups.entry(name(row, by, zone)).or_default().add(&Group {
            title: row.title.clone(),
            usage: row.usage,
            requests: row.requests,
            cost: priced(row, prices),
        });
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    if by == By::Day {
        groups.reverse();
    } else {
        groups.sort_by_key(|(_, group)| Reverse(group.usage.total()));
    }
    groups
}

fn name(row: &UsageRow, by: By, zone: &TimeZone) -> Option<String> {
    match by {
        By::Day => row
            .quarter
            .map(|at| at.to_zoned(zone.clone()).date().to_string()),
        By::Model => row.model.clone(),
        By::Session => Some(row.session.to_string()),
        By::Workspace => row.workspace.clone(),
        By::Agent => Some(row.agent.clone()),
    }
}

impl Group {
    fn add(&mut self, other: &Self) {
        self.title = self.title.take().or_else(|| other.title.clone());
        self.usage += other.usage;
        self.requests += other.requests;
        self.cost += other.cost;
    }
}

fn json(name: Option<&str>, group: &Group) -> serde_json::Value {
    let usage = group.usage;
    serde_json::json!({
        "name": name,
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "reasoning": usage.reasoning,
        "total": usage.total(),
        "requests": group.requests,
        "cost_usd": group.cost.usd,
        "unpriced_tokens": group.cost.unpriced,
    })
}

fn print(by: By, groups: &[(Option<String>, Group)], total: &Group) -> anyhow::Result<()> {
    if total.requests == 0 {
        say("No usage.");
        return Ok(());
    }
    let first = match by {
        By::Day => "DAY",
        By::Model => "MODEL",
        By::Session => "SESSION",
        By::Workspace => "WORKSPACE",
        By::Agent => "AGENT",
    };
    let head = [
        first,
        "IN",
        "OUT",
        "CACHE READ",
        "CACHE WRITE",
        "REASONING",
        "REQUESTS",
        "COST",
    ];
    let titled = by == By::Session;
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    if titled {
        rows[0].push("TITLE".to_owned());
    }
    for (name, group) in groups {
        let mut row = row(&label(name.as_deref(), by), group);
        if titled {
            let title = group.title.as_deref().unwrap_or("-");
            row.push(cut(&safe(title.lines().next().unwrap_or("-")), 40));
        }
        rows.push(row);
    }
    rows.push(row("total", total));
    write!(stdout().lock(), "{}", table(&rows))?;
    Ok(())
}

fn label(name: Option<&str>, by: By) -> String {
    let Some(name) = name else {
        return UNKNOWN.to_owned();
    };
    match by {
        By::Session => {
            let native = name.split_once(':').map_or(name, |(_, native)| native);
            cut_id(&safe(native))
        }
        // Two workspaces may end alike, so they keep their whole name where it fits.
        _ => cut(&safe(name), 40),
    }
}

fn row(label: &str, group: &Group) -> Vec<String> {
    let usage = group.usage;
    vec![
        label.to_owned(),
        tokens(usage.input),
        tokens(usage.output),
        tokens(usage.cache_read),
        tokens(usage.cache_write),
        tokens(usage.reasoning),
        group.requests.to_string(),
        dollars(&group.cost),
    ]
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use memory::{Price, SessionId};

    use super::*;

    fn used(at: &str, model: Option<&str>, input: u64, cost_usd: Option<f64>) -> UsageRow {
        UsageRow {
            session: SessionId::of(Flavor::Claude, "s"),
            title: None,
            agent: "claude".into(),
            workspace: None,
            model: model.map(str::to_owned),
            quarter: at.parse::<Timestamp>().ok(),
            usage: Usage {
                input,
                ..Usage::default()
            },
            requests: 1,
            cost_usd,
        }
    }

    fn prices() -> Prices {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: None,
            cache_write: None,
        };
        Prices {
            as_of: "2026-11-01".into(),
            models: [("known".to_owned(), price)].into(),
        }
    }

    #[track_caller]
    fn check(rows: &[UsageRow], by: By, zone: &TimeZone, expected: &[&str]) {
        let shown: Vec<_> = grouped(rows, by, zone, &prices())
            .iter()
            .map(|(name, group)| {
                let name = name.as_deref().unwrap_or(UNKNOWN);
                format!("{name} {} {}", group.usage.total(), dollars(&group.cost))
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_day_is_the_readers_day() {
        let rows = [
            used("2026-03-01T18:15:00Z", Some("known"), 1, None),
            used("2026-03-01T18:30:00Z", Some("known"), 2, None),
            used("never", Some("known"), 4, None),
        ];
        let india = TimeZone::fixed(jiff::tz::Offset::from_seconds(19_800).unwrap());
        check(
            &rows,
            By::Day,
            &india,
            &[
                "2026-03-02 2 $0.0000",
                "2026-03-01 1 $0.0000",
                "unknown 4 $0.0000",
            ],
        );
        check(
            &rows,
            By::Day,
            &TimeZone::UTC,
            &["2026-03-01 3 $0.0000", "unknown 4 $0.0000"],
        );
    }

    #[test]
    fn what_is_not_known_shows() {
        let million = 1_000_000;
        let at = "2026-03-01T18:15:00Z";
        let rows = [
            used(at, Some("known"), million, None),
            used(at, Some("known"), million, Some(0.5)),
            used(at, Some("other"), 7, None),
            used(at, None, 3, None),
        ];
        check(
            &rows,
            By::Model,
            &TimeZone::UTC,
            &["known 2000000 $3.50", "other 7 ?", "unknown 3 ?"],
        );
        check(&rows, By::Agent, &TimeZone::UTC, &["claude 2000010 ≥$3.50"]);
        check(&[], By::Agent, &TimeZone::UTC, &[]);
    }
}
