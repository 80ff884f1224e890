//! The processes that `top` shows: the answer of the node, and the moment that is asked about.

use std::time::Duration;

use node_api as api;
use units::Moment;

use super::inquiry::Question;

/// Rows that the node is asked for: more than a terminal has lines.
pub const ROWS_MAX: usize = 200;

/// Programs of one moment. They come later than the view opens.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessPane {
    pub sort: api::ProcessOrder,
    /// The minute that is shown; now if absent.
    pub at: Option<Moment>,
    pub table: Option<api::ProcessTable>,
    /// The reason why there is no newer table.
    pub problem: Option<String>,
}

impl ProcessPane {
    pub fn new(sort: api::ProcessOrder, at: Option<Moment>) -> Self {
        Self { sort, at, table: None, problem: None }
    }

    /// Returns the question whose answer the view shows.
    pub fn question(&self) -> Question {
        Question::Processes { sort: self.sort, at: self.at }
    }

    /// Takes the answer to a question, unless another one was asked since.
    pub fn answer(&mut self, at: Option<Moment>, answer: Result<api::ProcessTable, String>) {
        if at != self.at {
            return;
        }
        match answer {
            Ok(table) => (self.table, self.problem) = (Some(table), None),
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// Moves to the kept minute before. Says whether there is one.
    pub fn go_back(&mut self) -> bool {
        let previous = self.table.as_ref().and_then(|table| table.previous);
        self.at = previous.map(Moment::At).or(self.at);
        previous.is_some()
    }

    /// Moves to the kept minute after, and from the last one to now.
    pub fn go_forward(&mut self) -> bool {
        let was_past = self.at.is_some();
        self.at = self.table.as_ref().and_then(|table| table.next).filter(|_| was_past).map(Moment::At);
        was_past
    }

    /// Moves to now. Says whether another moment was shown.
    pub fn go_to_now(&mut self) -> bool {
        self.at.take().is_some()
    }

    /// Returns the first rows, and the sum of all others with their number.
    pub fn cut(table: &api::ProcessTable, n_rows: usize) -> (&[api::ProcessRow], u64, api::ProcessFigures) {
        let (shown, rest) = table.rows.split_at(n_rows.min(table.rows.len()));
        let others = rest.iter().fold(table.others, |sum, row| sum.plus(row.figures));
        (shown, table.n_others + rest.len() as u64, others)
    }
}

/// Whether rates are known of nearly all processes.
pub fn is_measured(table: &api::ProcessTable) -> bool {
    table.n_measured.is_none_or(|n_measured| 10 * n_measured >= 9 * table.n_processes)
}

/// The time between two looks of `--once` for rates.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);
