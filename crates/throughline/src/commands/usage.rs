//! `throughline usage`

use std::io::Write;

use memory::{Cost, Flavor, Prices, Session, SessionId};
use serve::requests::usage::{UsageGroup, UsageGrouping, group_usage, row_cost};
use store::{Store, UsageFilter, UsageRow};

use crate::commands::sessions::{format_tokens, session_id};
use crate::commands::{App, model_calls, parse_flavor, parse_limit};
use crate::output::table::{TableColumn, count, format_columns, format_number};
use crate::output::text::{one_line, sanitize};
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
    #[arg(short = 'n', long, default_value = "30", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the usage as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GroupBy {
    Day,
    Model,
    Session,
    Workspace,
    Agent,
}

impl From<GroupBy> for UsageGrouping {
    fn from(by: GroupBy) -> Self {
        match by {
            GroupBy::Day => Self::Day,
            GroupBy::Model => Self::Model,
            GroupBy::Session => Self::Session,
            GroupBy::Workspace => Self::Workspace,
            GroupBy::Agent => Self::Agent,
        }
    }
}

impl GroupBy {
    pub(crate) const ALL: &[Self] = &[
        Self::Day,
        Self::Model,
        Self::Workspace,
        Self::Agent,
        Self::Session,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Session => "session",
            Self::Workspace => "workspace",
            Self::Agent => "agent",
        }
    }
}

/// The label of usage whose name is not in the log.
const UNKNOWN_LABEL: &str = "unknown";

pub(crate) fn run(app: &App<'_>, args: &UsageArgs) -> anyhow::Result<Exit> {
    if args.own {
        let since = app.parse_time_arg(args.since.as_deref())?;
        return model_calls::run(app, since, args.limit, args.json);
    }
    let store = app.open_existing()?;
    app.check_workspace_part(&store, args.workspace.as_deref())?;
    let rows = store.usage(&UsageFilter {
        flavor: args.agent,
        workspace: args.workspace.clone(),
        session: None,
        since: app.parse_time_arg(args.since.as_deref())?,
        until: app.parse_time_arg(args.until.as_deref())?,
    })?;
    let prices = app.config.prices();
    let groups = group_usage(&rows, args.by.into(), &app.environment.zone, &prices);
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
            "by": UsageGrouping::from(args.by),
            "groups": rows_json,
            "groups_left_out": groups.len() - shown.len(),
            "total": group_json(None, &total),
            "prices_as_of": prices.as_of,
        }))?;
    } else {
        print_groups(app, &store, args.by, shown, &total)?;
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
        // The known part says nothing about the whole.
        Some(usd) if usd < 0.005 && cost.unpriced > 0 => "?".to_owned(),
        Some(usd) if usd > 0.0 && usd < 0.005 => "<$0.01".to_owned(),
        Some(usd) => format!("{sign}${usd:.2}"),
    }
}

fn uses_list_price(row: &UsageRow, prices: &Prices) -> bool {
    let model = row.model.as_deref();
    row.cost_usd.is_none() && model.is_some_and(|model| prices.price_of(model).is_some())
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
    app: &App<'_>,
    store: &Store,
    by: GroupBy,
    groups: &[(Option<String>, UsageGroup)],
    total: &UsageGroup,
) -> anyhow::Result<()> {
    if total.requests == 0 {
        say!("No token usage is recorded.");
        return Ok(());
    }
    let first = match by {
        GroupBy::Day => TableColumn::left("DAY"),
        GroupBy::Model => TableColumn::left("MODEL").shrinks_to(26),
        GroupBy::Session => TableColumn::left("SESSION"),
        GroupBy::Workspace => TableColumn::left("WORKSPACE").shrinks_to(26),
        GroupBy::Agent => TableColumn::left("AGENT"),
    };
    let mut columns = vec![
        first,
        TableColumn::right("IN"),
        TableColumn::right("OUT"),
        TableColumn::right("CACHE READ").dropped_at(1),
        TableColumn::right("CACHE WRITE").dropped_at(2),
        TableColumn::right("REASONING").dropped_at(3),
        TableColumn::right("REQUESTS").dropped_at(4),
        TableColumn::right("COST"),
    ];
    let has_titles = by == GroupBy::Session;
    if has_titles {
        columns.push(TableColumn::left("TITLE").shrinks_to(24));
    }
    let mut rows = Vec::new();
    for (name, group) in groups {
        let mut row = group_row(&group_label(store, name.as_deref(), by), group);
        if has_titles {
            row.push(one_line(group.title.as_deref().unwrap_or("-")));
        }
        rows.push(row);
    }
    rows.push(group_row("total", total));
    let table = format_columns(&columns, &rows, app.columns());
    Ok(write!(app.output(), "{table}")?)
}

pub(crate) fn group_label(store: &Store, name: Option<&str>, by: GroupBy) -> String {
    match name {
        None => UNKNOWN_LABEL.to_owned(),
        Some(name) if by == GroupBy::Session => session_id(store, &SessionId::new(name)),
        // Workspaces may have the same last component, so the full name is shown if it fits.
        Some(name) => sanitize(name),
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
        format_number(group.requests),
        format_cost(&group.cost),
    ]
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use memory::{Price, SessionId, Usage};

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
        let shown: Vec<_> = group_usage(rows, by.into(), zone, &prices())
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
                "2026-03-02 2 <$0.01", "2026-03-01 1 <$0.01", "unknown 4 <$0.01",
            ],
        );
        check(
            &rows,
            GroupBy::Day,
            &TimeZone::UTC,
            &["2026-03-01 3 <$0.01", "unknown 4 <$0.01"],
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
