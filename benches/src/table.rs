//! Tables that can be pasted into a document.

/// Prints one row of a Markdown table.
pub fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) {
    let cells: Vec<_> = cells.into_iter().map(|cell| cell.as_ref().to_owned()).collect();
    println!("| {} |", cells.join(" | "));
}

/// Prints the head of a Markdown table.
pub fn head(cells: &[&str]) {
    row(cells);
    row(cells.iter().map(|_| "---"));
}

/// Returns nanoseconds in the unit that reads best.
#[must_use]
pub fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    if value < 10.0 && unit != "ns" {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Returns `median (min)`.
#[must_use]
pub fn both(median: f64, min: f64) -> String {
    format!("{} ({})", time(median), time(min))
}
