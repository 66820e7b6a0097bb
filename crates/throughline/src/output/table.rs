//! Tables, and the formatting of their cells.

/// Formats rows as text. Each column is as wide as its widest cell.
pub(crate) fn format_table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<_> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Truncates a text to `chars_max` characters, of which the last is then an ellipsis.
pub(crate) fn truncate(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{head}…")
}

/// Formats a number of bytes with a unit.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: &[(&str, u64)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Formats a count with its noun: "1 record", "2 records", "2 summaries".
pub(crate) fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("1 {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
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
    fn sizes_and_cuts() {
        assert_eq!(format_bytes(999), "999 bytes");
        assert_eq!(format_bytes(1_250_000), "1.2 MB");
        assert_eq!(truncate("añb", 3), "añb");
        assert_eq!(truncate("añbc", 3), "añ…");
        assert_eq!(count(1_usize, "record"), "1 record");
        assert_eq!(count(2_u64, "record"), "2 records");
        assert_eq!(count(2_u64, "summary"), "2 summaries");
    }
}
