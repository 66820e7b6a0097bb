//! Token usage and cost, grouped.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use memory::{Cost, Prices, Usage};
use serde::{Deserialize, Serialize};
use store::UsageRow;
use utoipa::ToSchema;

/// What usage is grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UsageGrouping {
    #[default]
    Day,
    Model,
    Session,
    Workspace,
    Agent,
}

/// The usage of one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageGroup {
    pub title: Option<String>,
    pub usage: Usage,
    pub requests: u64,
    pub cost: Cost,
}

impl UsageGroup {
    pub fn add(&mut self, other: &Self) {
        self.title = self.title.take().or_else(|| other.title.clone());
        self.usage += other.usage;
        self.requests += other.requests;
        self.cost += other.cost;
    }
}

/// Groups the rows by name; `None` is usage whose name is not in the log. Days are sorted with the
/// latest first, other groups by their tokens.
pub fn group_usage(
    rows: &[UsageRow],
    by: UsageGrouping,
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
    if by == UsageGrouping::Day {
        groups.reverse();
    } else {
        groups.sort_by_key(|(_, group)| Reverse(group.usage.total()));
    }
    groups
}

/// Returns the cost that the log states, or else the cost by the price list.
pub fn row_cost(row: &UsageRow, prices: &Prices) -> Cost {
    match row.cost_usd {
        Some(usd) => Cost::stated(usd),
        None => prices.cost(row.model.as_deref(), &row.usage),
    }
}

fn group_name(row: &UsageRow, by: UsageGrouping, zone: &TimeZone) -> Option<String> {
    match by {
        UsageGrouping::Day => row
            .quarter
            .map(|at| at.to_zoned(zone.clone()).date().to_string()),
        UsageGrouping::Model => row.model.clone(),
        UsageGrouping::Session => Some(row.session.to_string()),
        UsageGrouping::Workspace => row.workspace.clone(),
        UsageGrouping::Agent => Some(row.agent.clone()),
    }
}
