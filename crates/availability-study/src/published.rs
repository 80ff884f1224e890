//! The figures that Wolski, Spring and Hayes published for six hosts of theirs (technical report CS98-602, Tables 1 to
//! 6).

use crate::table::{Cell, Row, Source};

/// Their sensors, in the order of the figures.
pub(crate) const SENSORS: [&str; 3] =
    ["cpu.availability.loadavg", "cpu.availability.vmstat", "cpu.availability.hybrid"];

/// A host and its figures.
pub(crate) type Published = [(&'static str, [f64; 3]); 6];

/// Table 1, in percent.
pub(crate) const MEASUREMENT: Published = [
    ("thing2", [9.0, 11.2, 11.1]),
    ("thing1", [6.4, 7.5, 6.1]),
    ("conundrum", [34.1, 32.7, 4.4]),
    ("beowulf", [6.3, 6.5, 7.5]),
    ("gremlin", [4.0, 3.2, 4.1]),
    ("kongo", [12.8, 12.9, 41.3]),
];

/// Table 2, in percent.
pub(crate) const TRUE_FORECASTING: Published = [
    ("thing2", [8.9, 8.6, 10.3]),
    ("thing1", [6.4, 7.0, 5.3]),
    ("conundrum", [34.0, 32.6, 4.3]),
    ("beowulf", [6.2, 6.8, 6.9]),
    ("gremlin", [4.0, 2.6, 3.0]),
    ("kongo", [12.8, 12.8, 41.0]),
];

/// Table 3, in percent.
pub(crate) const ONE_STEP: Published = [
    ("thing2", [1.2, 4.9, 1.8]),
    ("thing1", [1.7, 3.1, 2.8]),
    ("conundrum", [0.4, 0.2, 0.2]),
    ("beowulf", [1.8, 3.1, 3.5]),
    ("gremlin", [1.0, 2.1, 2.0]),
    ("kongo", [0.1, 0.1, 0.1]),
];

/// Table 4, variance of the original series.
pub(crate) const VARIANCE: Published = [
    ("thing2", [0.0348, 0.0431, 0.0321]),
    ("thing1", [0.0081, 0.0103, 0.0147]),
    ("conundrum", [0.0002, 0.0003, 0.0006]),
    ("beowulf", [0.0058, 0.0063, 0.0151]),
    ("gremlin", [0.0038, 0.0034, 0.0032]),
    ("kongo", [0.0001, 0.0001, 0.0004]),
];

/// Table 4, variance of the averages over 5 minutes.
pub(crate) const VARIANCE_OF_AVERAGES: Published = [
    ("thing2", [0.0338, 0.0351, 0.0315]),
    ("thing1", [0.0062, 0.0048, 0.0090]),
    ("conundrum", [0.0001, 0.0000, 0.0009]),
    ("beowulf", [0.0039, 0.0019, 0.0057]),
    ("gremlin", [0.0023, 0.0011, 0.0001]),
    ("kongo", [0.0001, 0.0001, 0.0008]),
];

/// Table 4, estimated Hurst exponents, by the load average.
pub(crate) const HURST: [(&str, f64); 6] =
    [("thing2", 0.70), ("thing1", 0.70), ("conundrum", 0.79), ("beowulf", 0.82), ("gremlin", 0.71), ("kongo", 0.69)];

/// Table 5, in percent.
pub(crate) const ONE_STEP_OF_AVERAGES: Published = [
    ("thing2", [2.4, 1.7, 1.3]),
    ("thing1", [4.9, 3.5, 3.9]),
    ("conundrum", [0.7, 0.2, 0.3]),
    ("beowulf", [3.4, 2.3, 4.5]),
    ("gremlin", [2.6, 1.2, 1.3]),
    ("kongo", [0.2, 0.1, 0.2]),
];

/// Table 6, in percent.
pub(crate) const TRUE_FORECASTING_OF_AVERAGES: Published = [
    ("thing2", [6.6, 5.3, 6.5]),
    ("thing1", [5.6, 5.2, 6.7]),
    ("conundrum", [3.0, 7.4, 10.1]),
    ("beowulf", [6.0, 11.4, 11.1]),
    ("gremlin", [4.3, 2.9, 8.3]),
    ("kongo", [2.1, 1.9, 28.5]),
];

/// Their rows under ours: `more` heads after the host's name, and a cell for each of the table's sensors.
pub(crate) fn rows(published: &Published, more: &[&str], sensors: &[String]) -> Vec<Row> {
    let row = |(host, figures): &(&str, [f64; 3])| {
        let cell = |sensor: &String| {
            let place = SENSORS.iter().position(|own| own == sensor);
            place.map_or(Cell::Blank, |idx| Cell::Percent { share: figures[idx] / 100.0, n: None })
        };
        let heads = std::iter::once(*host).chain(more.iter().copied()).map(str::to_owned);
        Row { source: Source::Published, heads: heads.collect(), cells: sensors.iter().map(cell).collect() }
    };
    published.iter().map(row).collect()
}
