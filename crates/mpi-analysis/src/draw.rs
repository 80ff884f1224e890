//! Pictures: where paths spend their time, how departures queue up, who was last, and when ranks compute.

mod last_arrival;
mod pathmap;
mod serialization;
mod timeline;

use picture::{Colour, Size};

pub use last_arrival::last_arrival_tree;
pub use pathmap::{Track, Waits, compared_pathmap, pathmap, track};
pub use serialization::serialization;
pub use timeline::timeline;

/// Size of a chart, without the names beside it.
const CHART: Size = Size { width: 760.0, height: 460.0 };

/// The colour of one of several.
fn apart(idx: usize) -> Colour {
    Colour::APART[idx % Colour::APART.len()]
}

/// A unit in which times up to `longest_ns` are short numbers, and how many nanoseconds it has.
fn unit(longest_ns: f64) -> (f64, &'static str) {
    match longest_ns.abs() {
        longest if longest < 2e4 => (1.0, "ns"),
        longest if longest < 2e7 => (1e3, "us"),
        longest if longest < 2e10 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}
