//! The terminal: with the transports, the one place that writes to standard output.

use std::io::Write;

/// Writes text and a line end to standard output. A reader that has gone away (`| head`) is no fault.
pub fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = output.write_all(b"\n");
    }
    let _ = output.flush();
}

/// Writes text and a line end to standard error, for a person.
pub fn complain(text: &str) {
    let mut output = std::io::stderr().lock();
    let _ = output.write_all(text.trim_end().as_bytes());
    let _ = output.write_all(b"\n");
}

/// Lines in columns. The last column is cut to the terminal's width, as far as that is known.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok()).unwrap_or(110);
    let mut text = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (cell, column) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', (column + 2).saturating_sub(cell.chars().count())));
        }
        let line = line.trim_end();
        if line.chars().count() <= width {
            text.push_str(line);
        } else {
            text.extend(line.chars().take(width.saturating_sub(1)));
            text.push('…');
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "one".into()], vec!["bcd".into(), "two".into()]];
        assert_eq!(columns(&rows), "  a    one\n  bcd  two\n");
    }
}
