//! Columns that line up.

/// Returns rows as text, each column as wide as its widest cell.
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

/// Returns at most `chars_max` characters of a text, with a sign where it was cut.
pub(crate) fn truncate(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{head}…")
}

/// Returns a number of bytes as people write it.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: &[(&str, u64)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Returns a count with its noun: "1 record", "2 records".
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
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
        assert_eq!(count(1, "record"), "1 record");
    }
}
