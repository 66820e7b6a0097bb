//! Tables, and the formatting of their cells.

use super::wrap::{display_width, truncate};

/// The columns between two cells.
const GAP: usize = 2;

/// A cell that can be truncated keeps at least this width.
const CELL_COLUMNS_MIN: usize = 6;

/// A column of a table, and what happens to it when the terminal is too narrow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableColumn {
    title: &'static str,
    is_right_aligned: bool,
    /// Columns with a higher rank are dropped earlier; rank 0 is always shown.
    drop_rank: u8,
    /// The width down to which cells are truncated; `None` keeps them whole.
    width_min: Option<usize>,
    /// Cells that are wider than this take their room from the cells after them, so that one long
    /// id does not make the whole column wide.
    overflows_at: Option<usize>,
}

impl TableColumn {
    pub(crate) const fn left(title: &'static str) -> Self {
        Self {
            title,
            is_right_aligned: false,
            drop_rank: 0,
            width_min: None,
            overflows_at: None,
        }
    }

    /// A column of figures.
    pub(crate) const fn right(title: &'static str) -> Self {
        Self {
            is_right_aligned: true,
            ..Self::left(title)
        }
    }

    pub(crate) const fn dropped_at(self, drop_rank: u8) -> Self {
        Self { drop_rank, ..self }
    }

    pub(crate) const fn shrinks_to(self, width_min: usize) -> Self {
        Self {
            width_min: Some(width_min),
            ..self
        }
    }

    pub(crate) const fn overflows_at(self, width: usize) -> Self {
        Self {
            overflows_at: Some(width),
            ..self
        }
    }
}

/// Formats rows below the titles of their columns. With `columns_max`, the width of the terminal,
/// columns are dropped and cells are truncated until every row fits.
pub(crate) fn format_columns(
    columns: &[TableColumn],
    rows: &[Vec<String>],
    columns_max: Option<usize>,
) -> String {
    let titles = columns.iter().map(|column| column.title.to_owned());
    let all: Vec<Vec<String>> = std::iter::once(titles.collect())
        .chain(rows.iter().cloned())
        .collect();
    let mut natural = natural_widths(&all);
    for (index, column) in columns.iter().enumerate() {
        if let Some(limit) = column.overflows_at.filter(|_| columns_max.is_some()) {
            let cells = all.iter().map(|row| display_width(&row[index]));
            let usual = cells.filter(|width| *width <= limit);
            natural[index] = usual.max().unwrap_or(limit);
        }
    }
    let widths = fit_widths(columns, &natural, columns_max);
    let mut out = String::new();
    for row in &all {
        let mut line = String::new();
        let mut excess = 0;
        for ((column, cell), width) in columns.iter().zip(row).zip(&widths) {
            let Some(width) = *width else { continue };
            let width = match (column.overflows_at, column.width_min) {
                (Some(_), _) => {
                    let own = display_width(cell).max(width);
                    excess += own - width;
                    own
                }
                (None, Some(_)) => width - excess.min(width.saturating_sub(CELL_COLUMNS_MIN)),
                (None, None) => width,
            };
            let cell = truncate(cell, width);
            let padding = " ".repeat(width - display_width(&cell));
            let (before, after) = match column.is_right_aligned {
                true => (padding.as_str(), ""),
                false => ("", padding.as_str()),
            };
            line += &format!("{before}{cell}{after}{:GAP$}", "");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Returns the width of each column, or `None` for those that are dropped.
fn fit_widths(
    columns: &[TableColumn],
    natural: &[usize],
    columns_max: Option<usize>,
) -> Vec<Option<usize>> {
    let mut widths: Vec<_> = natural.iter().copied().map(Some).collect();
    let Some(columns_max) = columns_max else {
        return widths;
    };
    let total = |widths: &[Option<usize>]| {
        let shown = widths.iter().flatten();
        (shown.clone().sum::<usize>() + GAP * shown.count()).saturating_sub(GAP)
    };
    let narrowest = |widths: &[Option<usize>]| -> Vec<Option<usize>> {
        let shrink = |(width, column): (&Option<usize>, &TableColumn)| {
            width.map(|width| column.width_min.map_or(width, |min| width.min(min)))
        };
        widths.iter().zip(columns).map(shrink).collect()
    };
    while total(&narrowest(&widths)) > columns_max {
        let shown = (0..columns.len()).filter(|index| widths[*index].is_some());
        let Some(index) = shown
            .filter(|index| columns[*index].drop_rank > 0)
            .max_by_key(|index| columns[*index].drop_rank)
        else {
            break;
        };
        widths[index] = None;
    }
    // The last columns hold the longest texts, so they are truncated first. Where nothing more can
    // be dropped, they become narrower than they should be.
    for floor in [usize::MAX, CELL_COLUMNS_MIN] {
        for index in (0..columns.len()).rev() {
            let excess = total(&widths).saturating_sub(columns_max);
            if let (Some(width), Some(min)) = (widths[index], columns[index].width_min) {
                let min = min.min(floor);
                widths[index] = Some(width.min(min.max(width.saturating_sub(excess))));
            }
        }
    }
    widths
}

fn natural_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| display_width(cell)).max().unwrap_or(0)
    };
    (0..columns).map(width).collect()
}

/// Formats rows as text. Each column is as wide as its widest cell.
pub(crate) fn format_table(rows: &[Vec<String>]) -> String {
    let widths = natural_widths(rows);
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - display_width(cell) + GAP));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Formats a number of bytes with a unit.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: &[(&str, u64)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Formats a number with a comma between its thousands.
pub(crate) fn format_number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun: "1 record", "2 records", "2 summaries", "25,256 days".
pub(crate) fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let stem = noun
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    let shown = format_number(number);
    match stem {
        _ if number == 1 => format!("1 {noun}"),
        Some(stem) => format!("{shown} {stem}ies"),
        None => format!("{shown} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [["a", "long", "x"], ["bbb", "é", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(format_table(&rows), "a    long  x\nbbb  é\n");
    }

    #[test]
    fn counts_have_the_plural_of_their_noun() {
        let counted = ["record", "summary", "day"].map(|noun| count(2, noun));
        assert_eq!(counted, ["2 records", "2 summaries", "2 days"]);
        assert_eq!(count(1, "day"), "1 day");
        assert_eq!(count(25_256, "record"), "25,256 records");
        assert_eq!(format_number(999), "999");
        assert_eq!(format_number(1_000_000), "1,000,000");
    }

    #[track_caller]
    fn check(columns_max: Option<usize>, expected: &str) {
        let columns = [
            TableColumn::left("ID"),
            TableColumn::right("CALLS").dropped_at(1),
            TableColumn::left("TITLE").shrinks_to(9),
        ];
        let rows = [["a", "7", "日本語 is wide"], ["bcd", "12", "x"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(format_columns(&columns, &rows, columns_max), expected);
    }

    #[test]
    fn tables_fit_the_terminal() {
        check(
            None,
            "ID   CALLS  TITLE\na        7  日本語 is wide\nbcd     12  x\n",
        );
        check(
            Some(21),
            "ID   CALLS  TITLE\na        7  日本語 i…\nbcd     12  x\n",
        );
        check(Some(14), "ID   TITLE\na    日本語 i…\nbcd  x\n");
        // Only what can be truncated gives way, as long as anything of it can be read.
        check(Some(4), "ID   TITLE\na    日本…\nbcd  x\n");
    }

    #[test]
    fn a_long_id_takes_its_room_from_the_title() {
        let columns = [
            TableColumn::left("ID").overflows_at(4),
            TableColumn::left("TITLE").shrinks_to(9),
        ];
        let rows = [["a1", "a title of words"], ["b234567", "a title of words"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(
            format_columns(&columns, &rows, Some(18)),
            "ID  TITLE\na1  a title of wo…\nb234567  a title …\n"
        );
    }

    #[test]
    fn sizes_are_counted() {
        assert_eq!(format_bytes(999), "999 bytes");
        assert_eq!(format_bytes(1_250_000), "1.2 MB");
        assert_eq!(count(1_usize, "record"), "1 record");
        assert_eq!(count(2_u64, "record"), "2 records");
        assert_eq!(count(2_u64, "summary"), "2 summaries");
    }
}
