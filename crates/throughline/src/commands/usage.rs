//! `throughline usage`

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{Write, stdout};

use jiff::tz::TimeZone;
use memory::{Cost, Flavor, Prices, Session, Usage};
use serde::Serialize;
use store::{Store, UsageFilter, UsageRow};

use crate::commands::sessions::{format_tokens, short_session_id};
use crate::commands::{App, model_calls, parse_flavor};
use crate::output::table::{count, format_table, truncate};
use crate::output::text::sanitize;
use crate::output::{self, Exit};

/// Show token usage and cost
///
/// The cost is taken from the logs; if a log states none, it is computed from the price list in the
/// configuration. `?` marks an unknown cost, `≥` a cost that is known in part.
#[derive(Debug, clap::Args)]
pub(crate) struct UsageArgs {
    /// Group by day, model, session, workspace or agent
    #[arg(long, value_enum, default_value_t = GroupBy::Day, value_name = "WHAT")]
    by: GroupBy,

    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only from this time on, such as 2026-01-05, yesterday, 12h or 2w
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// List the requests that Throughline itself sent to the configured model
    #[arg(long, conflicts_with_all = ["by", "agent", "workspace", "until"])]
    own: bool,

    /// Show at most this many rows; the total includes all of them
    #[arg(short = 'n', long, default_value_t = 30, value_name = "NUMBER")]
    limit: usize,

    /// Print the usage as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum GroupBy {
    Day,
    Model,
    Session,
    Workspace,
    Agent,
}

/// The usage of one row of the table.
#[derive(Clone, Debug, Default, PartialEq)]
struct UsageGroup {
    title: Option<String>,
    usage: Usage,
    requests: u64,
    cost: Cost,
}

/// The label of usage whose name is not in the log.
const UNKNOWN_LABEL: &str = "unknown";

pub(crate) fn run(app: &App<'_>, args: &UsageArgs) -> anyhow::Result<Exit> {
    if args.own {
        let since = app.parse_time_arg(args.since.as_deref())?;
        return model_calls::run(app, since, args.limit, args.json);
    }
    let rows = app.open_existing()?.usage(&UsageFilter {
        flavor: args.agent,
        workspace: args.workspace.clone(),
        session: None,
        since: app.parse_time_arg(args.since.as_deref())?,
        until: app.parse_time_arg(args.until.as_deref())?,
    })?;
    let prices = app.config.prices();
    let groups = group_usage(&rows, args.by, &app.environment.zone, &prices);
    let mut total = UsageGroup::default();
    for (_, group) in &groups {
        total.add(group);
    }
    let shown = &groups[..groups.len().min(args.limit)];
    if args.json {
        let rows_json: Vec<_> = shown
            .iter()
            .map(|(name, group)| group_json(name.as_deref(), group))
            .collect();
        output::print_json(&serde_json::json!({
            "by": args.by,
            "groups": rows_json,
            "groups_left_out": groups.len() - shown.len(),
            "total": group_json(None, &total),
            "prices_as_of": prices.as_of,
        }))?;
    } else {
        print_groups(args.by, shown, &total)?;
        if groups.len() > shown.len() {
            let more = count(groups.len() - shown.len(), "more row");
            say!("{more} in the total; use -n {} to show all.", groups.len());
        }
        if rows.iter().any(|row| uses_list_price(row, &prices)) {
            let as_of = sanitize(&prices.as_of);
            say!("Costs that the logs do not state are based on the list prices of {as_of}.");
        }
    }
    Ok(Exit::of_query(groups.is_empty()))
}

/// Returns the cost of a session without its subagents.
pub(crate) fn session_cost(
    app: &App<'_>,
    store: &Store,
    session: &Session,
) -> anyhow::Result<Cost> {
    let rows = store.usage(&UsageFilter {
        session: Some(session.id.clone()),
        ..UsageFilter::default()
    })?;
    let prices = app.config.prices();
    let mut cost = Cost::default();
    for row in &rows {
        cost += row_cost(row, &prices);
    }
    Ok(cost)
}

/// Formats a cost.
pub(crate) fn format_cost(cost: &Cost) -> String {
    let sign = if cost.unpriced > 0 { "≥" } else { "" };
    match cost.usd {
        None if cost.unpriced > 0 => "?".to_owned(),
        None => "-".to_owned(),
        Some(usd) if usd > 0.0 && usd < 0.01 => format!("{sign}${usd:.4}"),
        Some(usd) => format!("{sign}${usd:.2}"),
    }
}

fn row_cost(row: &UsageRow, prices: &Prices) -> Cost {
    match row.cost_usd {
        Some(usd) => Cost::stated(usd),
        None => prices.cost(row.model.as_deref(), &row.usage),
    }
}

fn uses_list_price(row: &UsageRow, prices: &Prices) -> bool {
    let model = row.model.as_deref();
    row.cost_usd.is_none() && model.is_some_and(|model| prices.price_of(model).is_some())
}

/// Groups the rows. Days are sorted with the latest first, other groups by their tokens.
fn group_usage(
    rows: &[UsageRow],
    by: GroupBy,
    zone: &TimeZone,
    prices: &Prices,
) -> Vec<(Option<String>, UsageGroup)> {
    let mut groups: BTreeMap<Option<String>, UsageGroup> = BTreeMap::new();
    for row in rows {
        groups
            .entry(group_name(row, by, zone))
            .or_default()
            .add(&UsageGroup {
                title: row.title.clone(),
                usage: row.usage,
                requests: row.requests,
                cost: row_cost(row, prices),
            });
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    if by == GroupBy::Day {
        groups.reverse();
    } else {
        groups.sort_by_key(|(_, group)| Reverse(group.usage.total()));
    }
    groups
}

fn group_name(row: &UsageRow, by: GroupBy, zone: &TimeZone) -> Option<String> {
    match by {
        GroupBy::Day => row
            .quarter
            .map(|at| at.to_zoned(zone.clone()).date().to_string()),
        GroupBy::Model => row.model.clone(),
        GroupBy::Session => Some(row.session.to_string()),
        GroupBy::Workspace => row.workspace.clone(),
        GroupBy::Agent => Some(row.agent.clone()),
    }
}

impl UsageGroup {
    fn add(&mut self, other: &Self) {
        self.title = self.title.take().or_else(|| other.title.clone());
        self.usage += other.usage;
        self.requests += other.requests;
        self.cost += other.cost;
    }
}

fn group_json(name: Option<&str>, group: &UsageGroup) -> serde_json::Value {
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

fn print_groups(
    by: GroupBy,
    groups: &[(Option<String>, UsageGroup)],
    total: &UsageGroup,
) -> anyhow::Result<()> {
    if total.requests == 0 {
        say!("No usage.");
        return Ok(());
    }
    let first = match by {
        GroupBy::Day => "DAY",
        GroupBy::Model => "MODEL",
        GroupBy::Session => "SESSION",
        GroupBy::Workspace => "WORKSPACE",
        GroupBy::Agent => "AGENT",
    };
    let head = [
        first, "IN", "OUT", "CACHE READ", "CACHE WRITE", "REASONING", "REQUESTS", "COST",
    ];
    let has_titles = by == GroupBy::Session;
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    if has_titles {
        rows[0].push("TITLE".to_owned());
    }
    for (name, group) in groups {
        let mut row = group_row(&group_label(name.as_deref(), by), group);
        if has_titles {
            let title = group.title.as_deref().unwrap_or("-");
            row.push(truncate(&sanitize(title.lines().next().unwrap_or("-")), 40));
        }
        rows.push(row);
    }
    rows.push(group_row("total", total));
    write!(stdout().lock(), "{}", format_table(&rows))?;
    Ok(())
}

fn group_label(name: Option<&str>, by: GroupBy) -> String {
    let Some(name) = name else {
        return UNKNOWN_LABEL.to_owned();
    };
    match by {
        GroupBy::Session => {
            let native = name.split_once(':').map_or(name, |(_, native)| native);
            short_session_id(&sanitize(native))
        }
        // Workspaces may have the same last component, so the full name is shown if it fits.
        _ => truncate(&sanitize(name), 40),
    }
}

fn group_row(label: &str, group: &UsageGroup) -> Vec<String> {
    let usage = group.usage;
    vec![
        label.to_owned(),
        format_tokens(usage.input),
        format_tokens(usage.output),
        format_tokens(usage.cache_read),
        format_tokens(usage.cache_write),
        format_tokens(usage.reasoning),
        group.requests.to_string(),
        format_cost(&group.cost),
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
    fn check(rows: &[UsageRow], by: GroupBy, zone: &TimeZone, expected: &[&str]) {
        let shown: Vec<_> = group_usage(rows, by, zone, &prices())
            .iter()
            .map(|(name, group)| {
                let name = name.as_deref().unwrap_or(UNKNOWN_LABEL);
                format!(
                    "{name} {} {}",
                    group.usage.total(),
                    format_cost(&group.cost)
                )
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn days_are_in_the_local_time_zone() {
        let rows = [
            used("2026-03-01T18:15:00Z", Some("known"), 1, None),
            used("2026-03-01T18:30:00Z", Some("known"), 2, None),
            used("never", Some("known"), 4, None),
        ];
        let india = TimeZone::fixed(jiff::tz::Offset::from_seconds(19_800).unwrap());
        check(
            &rows,
            GroupBy::Day,
            &india,
            &[
                "2026-03-02 2 $0.0000", "2026-03-01 1 $0.0000", "unknown 4 $0.0000",
            ],
        );
        check(
            &rows,
            GroupBy::Day,
            &TimeZone::UTC,
            &["2026-03-01 3 $0.0000", "unknown 4 $0.0000"],
        );
    }

    #[test]
    fn unknown_costs_are_marked() {
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
            GroupBy::Model,
            &TimeZone::UTC,
            &["known 2000000 $3.50", "other 7 ?", "unknown 3 ?"],
        );
        check(
            &rows,
            GroupBy::Agent,
            &TimeZone::UTC,
            &["claude 2000010 ≥$3.50"],
        );
        check(&[], GroupBy::Agent, &TimeZone::UTC, &[]);
    }
}
