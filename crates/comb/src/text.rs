//! Figures and tables as people read them.

use units::ByteCount;

use super::pairing::Pair;
use super::record::Spread;

/// Rows under headings, columns as wide as what is in them.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// Numbers to the right; the last column, which may hold words, to the left.
    pub fn text(&self) -> String {
        let n_columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..n_columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column + 1 == n_columns { cell.clone() } else { format!("{cell:>width$}") }
            });
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

/// Three digits and a unit: `812 ns`, `1.23 us`, `45.6 ms`, `3.00 s`; also of differences below 0.
pub fn time(span_ns: f64) -> String {
    let (value, unit) = match span_ns.abs() {
        ns if ns < 999.5 => (span_ns, "ns"),
        ns if ns < 999.5e3 => (span_ns / 1e3, "us"),
        ns if ns < 999.5e6 => (span_ns / 1e6, "ms"),
        _ => (span_ns / 1e9, "s"),
    };
    if unit == "ns" { format!("{value:.0} ns") } else { format!("{} {unit}", three_digits(value)) }
}

/// The median and where it lies.
pub fn spread(spread: &Spread) -> String {
    format!("{} [{}, {}]", time(spread.median_ns), time(spread.interval.lower), time(spread.interval.upper))
}

/// `1.25 GB/s`.
pub fn rate(bytes_per_sec: f64) -> String {
    let (value, unit) = match bytes_per_sec {
        rate if rate < 999.5e3 => (rate / 1e3, "kB/s"),
        rate if rate < 999.5e6 => (rate / 1e6, "MB/s"),
        rate => (rate / 1e9, "GB/s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// `12 %`.
pub fn percent(ratio: f64) -> String {
    format!("{:.0} %", 100.0 * ratio)
}

/// `1MiB`.
pub fn size(bytes: u64) -> String {
    ByteCount::new(bytes).to_string()
}

/// `ranks 0 and 1`.
pub fn pair(pair: Pair) -> String {
    format!("ranks {} and {}", pair.worker, pair.support)
}

fn three_digits(value: f64) -> String {
    let n_decimals = match value.abs() {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.n_decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_have_three_digits() {
        let times = [0.4, 999.4, 999.6, 12_345.0, 9_999.0, -1_500.0, 999_600.0, 2.5e9].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.00 us", "12.3 us", "10.0 us", "-1.50 us", "1.00 ms", "2.50 s"]);
        assert_eq!([0.0, 12_340.0, 1.5e9].map(rate), ["0.00 kB/s", "12.3 kB/s", "1.50 GB/s"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let mut table = Table::new(["size", "what"]);
        table.push(["1MiB", "a"].map(str::to_owned));
        table.push(["1048577B", "longer"].map(str::to_owned));
        assert_eq!(table.text(), "      size  what\n      1MiB  a\n  1048577B  longer\n");
    }
}
