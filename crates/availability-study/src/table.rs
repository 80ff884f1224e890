//! A table as data: what stands in its cells, and of how many observations.

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its number in the paper, or the next.
    pub number: u32,
    /// The table's content in words.
    pub title: String,
    /// Names of the heads of its rows, such as scenario and model.
    pub heads: Vec<&'static str>,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Notes on how its cells were computed.
    pub notes: Vec<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Source of the row's figures.
    pub source: Source,
    /// One for each of the table's heads.
    pub heads: Vec<String>,
    /// One for each of its columns.
    pub cells: Vec<Cell>,
}

/// Source of a row's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// One scenario of this study.
    Scenario,
    /// All scenarios together.
    Total,
    /// The paper's.
    Published,
}

/// Content of one place in a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// A share of a core or of tests, shown in percent, of `n` observations; `None` for a figure of the paper, which
    /// does not say.
    Percent {
        /// 0 to 1.
        share: f64,
        /// Number of observations.
        n: Option<usize>,
    },
    /// Any other number.
    Number {
        /// The number.
        value: f64,
        /// Digits after the point that are worth showing.
        n_digits: usize,
        /// Number of observations.
        n: Option<usize>,
    },
    /// Too few observations.
    TooFew {
        /// So many it takes.
        need: usize,
        /// So many there are.
        have: usize,
    },
    /// It cannot be had of samples that do not vary.
    Constant {
        /// Number of samples.
        n: usize,
    },
    /// Nothing belongs here.
    Blank,
}

/// Errors that are averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MeanError {
    sum: f64,
    n: usize,
}

impl MeanError {
    pub(crate) fn add(&mut self, error: f64) {
        self.sum += error;
        self.n += 1;
    }

    pub(crate) fn join(self, other: MeanError) -> MeanError {
        MeanError { sum: self.sum + other.sum, n: self.n + other.n }
    }

    /// The mean, for which one observation is enough.
    pub(crate) fn cell(self) -> Cell {
        match self.n {
            0 => Cell::TooFew { need: 1, have: 0 },
            n => Cell::Percent { share: self.sum / n as f64, n: Some(n) },
        }
    }
}

impl Cell {
    /// Returns the cell as people read it.
    #[must_use]
    pub fn to_text(self) -> String {
        let of = |n: Option<usize>| n.map_or_else(String::new, |n| format!(" ({n})"));
        match self {
            Cell::Percent { share, n } => format!("{:.1} %{}", 100.0 * share, of(n)),
            Cell::Number { value, n_digits, n } => format!("{value:.n_digits$}{}", of(n)),
            Cell::TooFew { need, have } => format!("needs {need}, has {have}"),
            Cell::Constant { n } => format!("constant ({n})"),
            Cell::Blank => "-".to_owned(),
        }
    }
}
