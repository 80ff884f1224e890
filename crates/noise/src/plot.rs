//! Results as pictures.

use mpi_run::{MalformedRecord, Outcome};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size, beside};
use text::figure::span_ns;

use super::record::{Core, DetourSeen, Envelope, NodeLate, Row, SpectrumSeen, kind};
use super::table::peak_words;

/// Size of a chart, without the names beside it.
const CHART: Size = Size { width: 960.0, height: 420.0 };
/// Paces that have their words in a spectrum.
const N_PEAKS_NAMED: usize = 3;
/// Bars of detour lengths to a tenfold.
const BARS_PER_DECADE: f64 = 12.0;

/// Quanta over time, lengths of detours, spectra, and late iterations of hosts: each that the result has, with a name
/// for its file.
///
/// # Errors
/// A record that is not what its kind says.
pub(crate) fn pictures(outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
    let mut pictures = Vec::new();
    for (idx, envelope) in outcome.all::<Envelope>(kind::ENVELOPE)?.iter().enumerate() {
        pictures.push((format!("time-{idx}"), alone(over_time(envelope))));
    }
    let detours: Vec<DetourSeen> = outcome.all(kind::DETOUR)?;
    let cores: Vec<Core> = outcome.all(kind::CORE)?;
    let mut cpus: Vec<u32> = cores.iter().map(|core| core.cpu).collect();
    cpus.dedup();
    for cpu in cpus {
        let lengths: Vec<f64> =
            detours.iter().filter(|detour| detour.cpu == cpu).map(|detour| detour.length_ns / 1e3).collect();
        if !lengths.is_empty() {
            pictures.push((format!("detours-core-{cpu}"), alone(lengths_of_detours(cpu, &lengths))));
        }
    }
    for spectrum in outcome.all::<SpectrumSeen>(kind::SPECTRUM)? {
        let name = format!("spectrum-core-{}-{}", spectrum.cpu, spectrum.method.name().replace(' ', "-"));
        pictures.push((name, alone(powers(&spectrum))));
    }
    let nodes: Vec<NodeLate> = outcome.all(kind::NODE)?;
    let mut works: Vec<&str> = nodes.iter().map(|node| node.work.as_str()).collect();
    works.dedup();
    for work in works {
        let of_work: Vec<&NodeLate> = nodes.iter().filter(|node| node.work == work).collect();
        pictures.push((format!("late-{work}"), late_by_host(work, &of_work)));
    }
    Ok(pictures)
}

fn alone(chart: Chart) -> Picture {
    Panel { chart, legend: Vec::new() }.picture(CHART)
}

/// A bar from the shortest to the longest in each stretch.
fn over_time(envelope: &Envelope) -> Chart {
    let in_us = |ns: f64| ns / 1e3;
    // On a logarithmic axis nothing has no place, so it is put at a nanosecond.
    let points = |pick: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        envelope.points.iter().map(|point| (point.0, in_us(pick(point)).max(1e-3))).collect()
    };
    let (low, high) = (points(|point| point.1), points(|point| point.2));
    let bars = low.iter().zip(&high).map(|(low, high)| Mark::Line(vec![*low, *high]));
    Chart {
        title: format!("{}: {}", envelope.name, envelope.what),
        caption: format!("from the shortest to the longest in each of {} stretches of time", envelope.points.len()),
        x: Axis::over("seconds", Scale::Linear, low.iter().map(|point| point.0)),
        y: Axis::over("microseconds", Scale::Logarithmic, low.iter().chain(&high).map(|point| point.1)),
        marks: bars.chain([Mark::Dots(high.clone())]).collect(),
    }
}

/// Draws the number of detours of each length, both on logarithmic axes.
fn lengths_of_detours(cpu: u32, lengths_us: &[f64]) -> Chart {
    let bar = |length: f64| (length.log10() * BARS_PER_DECADE).floor();
    let mut counts: std::collections::BTreeMap<i64, u32> = std::collections::BTreeMap::new();
    for &length in lengths_us.iter().filter(|length| **length > 0.0) {
        *counts.entry(bar(length) as i64).or_default() += 1;
    }
    let edge = |bar: i64| 10.0_f64.powf(bar as f64 / BARS_PER_DECADE);
    // A bar is its outline: up, across, and down again.
    let outline = |(&bar, &count): (&i64, &u32)| {
        let (left, right, height) = (edge(bar), edge(bar + 1), f64::from(count));
        Mark::Line(vec![(left, 0.5), (left, height), (right, height), (right, 0.5)])
    };
    let edges = counts.keys().flat_map(|&bar| [edge(bar), edge(bar + 1)]);
    Chart {
        title: format!("core {cpu}: lengths of detours"),
        caption: format!("{} detours, {} bars to a tenfold", lengths_us.len(), BARS_PER_DECADE),
        x: Axis::over("microseconds", Scale::Logarithmic, edges.collect::<Vec<_>>()),
        y: Axis::over("detours", Scale::Logarithmic, counts.values().map(|count| f64::from(*count)).chain([0.6])),
        marks: counts.iter().map(outline).collect(),
    }
}

fn powers(spectrum: &SpectrumSeen) -> Chart {
    let points = spectrum.points.clone();
    let highest = |frequency: f64, within: f64| {
        let near = points.iter().filter(|point| (point.0 - frequency).abs() <= within.max(0.005 * frequency));
        near.map(|point| point.1).fold(0.0, f64::max)
    };
    let named = spectrum.peaks.iter().take(N_PEAKS_NAMED);
    let named = named.map(|peak| {
        let words = format!("{:.1} Hz, every {}", peak.frequency_hz, span_ns(peak.period_ns));
        Mark::Named((peak.frequency_hz, highest(peak.frequency_hz, peak.within_hz)), words)
    });
    Chart {
        title: format!("core {}, {}: spectrum of the time lost", spectrum.cpu, spectrum.method.name()),
        caption: spectrum
            .peaks
            .first()
            .map_or("no pace stands out".to_owned(), |peak| format!("highest: {}", peak_words(peak))),
        x: Axis::over("hertz", Scale::Logarithmic, points.iter().map(|point| point.0)),
        y: Axis::over(
            "power in squared nanoseconds lost per step",
            Scale::Logarithmic,
            points.iter().map(|point| point.1),
        ),
        marks: [Mark::Line(points.clone())].into_iter().chain(named).collect(),
    }
}

/// A track for each threshold, over the hosts; one chart for computation and one for communication.
fn late_by_host(work: &str, nodes: &[&NodeLate]) -> Picture {
    let mut hosts: Vec<&str> = Vec::new();
    let mut thresholds: Vec<f64> = Vec::new();
    for node in nodes {
        if !hosts.contains(&node.host.as_str()) {
            hosts.push(&node.host);
        }
        if !thresholds.contains(&node.threshold_ns) {
            thresholds.push(node.threshold_ns);
        }
    }
    let chart = |row| hosts_chart(work, row, nodes, &hosts, &thresholds);
    let name = |(threshold, colour): (&f64, Colour)| (format!("later by {}", span_ns(*threshold)), colour);
    let legend = thresholds.iter().zip(Colour::APART.into_iter().cycle()).map(name).collect();
    // One legend is enough for both.
    let panels = [
        Panel { chart: chart(Row::Computation), legend },
        Panel { chart: chart(Row::Communication), legend: Vec::new() },
    ];
    beside(&panels, 1, CHART)
}

fn hosts_chart(work: &str, row: Row, nodes: &[&NodeLate], hosts: &[&str], thresholds: &[f64]) -> Chart {
    let count = |host: &str, threshold: f64| {
        let found = nodes.iter().find(|node| node.row == row && node.host == host && node.threshold_ns == threshold);
        found.map_or(0.0, |node| node.n_late as f64)
    };
    let track = |&threshold: &f64| -> Vec<(f64, f64)> {
        hosts.iter().enumerate().map(|(idx, host)| ((idx + 1) as f64, count(host, threshold))).collect()
    };
    let tracks: Vec<Vec<(f64, f64)>> = thresholds.iter().map(track).collect();
    let names: Vec<String> =
        hosts.iter().enumerate().take(6).map(|(idx, host)| format!("{} {host}", idx + 1)).collect();
    let more = if hosts.len() > names.len() { ", …" } else { "" };
    let counts: Vec<f64> = tracks.iter().flatten().map(|point| point.1).chain([0.0]).collect();
    Chart {
        title: format!("work {work}: iterations with late {} on each host", row.name()),
        caption: format!("hosts: {}{more}", names.join(", ")),
        x: Axis::over("host", Scale::Linear, [0.5, hosts.len() as f64 + 0.5]),
        y: Axis::over("iterations", Scale::Linear, counts),
        marks: tracks
            .into_iter()
            .zip(Colour::APART.iter().cycle())
            .map(|(track, colour)| Mark::Track(track, *colour))
            .collect(),
    }
}
