//! Results as text for people.

use std::fmt::Write;

use mpi_run::{Header, MalformedRecord, Outcome};

use super::cause::Cause;
use super::plan::Method;
use super::record::{
    Allreduce, CauseShare, Core, InjectedNoise, Late, NodeLate, Note, Part, RankTimes, Row, SpectrumSeen, TrainSeen,
    kind,
};
use super::spectrum::Peak;

/// A drift of the calibration beyond this is told.
const DRIFT_TOLD: f64 = 0.01;
/// Waiting for a core beyond this share of the time is told.
const WAITING_TOLD: f64 = 0.02;
/// Hosts of a table of late iterations; of more, those with most.
const N_HOSTS_MAX: usize = 32;
/// Paces of a core that are told.
const N_PEAKS_TOLD: usize = 5;

/// All that a result says.
///
/// # Errors
/// A record that is not what its kind says.
pub fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let mut text = heading(&outcome.header);
    let (parts, cores): (Vec<Part>, Vec<Core>) = (outcome.all(kind::PART)?, outcome.all(kind::CORE)?);
    if let Some(allreduce) = outcome.all::<Allreduce>(kind::ALLREDUCE)?.first() {
        line(&mut text, &allreduce_line(allreduce, &outcome.header));
    }
    for part in &parts {
        part_table(&mut text, part, outcome)?;
    }
    if !cores.is_empty() {
        cores_table(&mut text, &cores, outcome)?;
    }
    if parts.is_empty() && cores.is_empty() {
        line(&mut text, "nothing was measured before the run ended");
    }
    trains_table(&mut text, &outcome.all(kind::TRAIN)?);
    for injected in outcome.all::<InjectedNoise>(kind::INJECTED)? {
        line(&mut text, &injected_line(&injected));
    }
    for note in outcome.all::<Note>(kind::NOTE)? {
        line(&mut text, &format!("note: {}", note.text));
    }
    if outcome.is_truncated {
        line(&mut text, "note: the result breaks off in its last line");
    }
    Ok(text)
}

/// A length of time with three digits and the unit that suits.
#[must_use]
pub fn span(ns: f64) -> String {
    let size = ns.abs();
    match size {
        _ if !size.is_finite() => "not known".to_owned(),
        _ if size < 999.5 => format!("{ns:.0} ns"),
        _ if size < 999.5e3 => digits(ns / 1e3, "us"),
        _ if size < 999.5e6 => digits(ns / 1e6, "ms"),
        _ => digits(ns / 1e9, "s"),
    }
}

fn digits(value: f64, unit: &str) -> String {
    let n_decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.n_decimals$} {unit}")
}

fn percent(ratio: f64) -> String {
    match 100.0 * ratio {
        share if share != 0.0 && share.abs() < 0.01 => format!("{share:.4} %"),
        share => format!("{share:.2} %"),
    }
}

fn line(text: &mut String, words: &str) {
    text.push_str(words);
    text.push('\n');
}

fn heading(header: &Header) -> String {
    let hosts: std::collections::BTreeSet<&str> = header.ranks.iter().map(|place| place.host.as_str()).collect();
    let mut text = if header.ranks.len() > 1 || header.mpi != "none" {
        format!("noise on {} ranks of {} hosts, {}\n", header.ranks.len(), hosts.len(), header.mpi)
    } else {
        format!("noise on {}, without MPI\n", hosts.into_iter().next().unwrap_or("a host without a name"))
    };
    for warning in header.warnings() {
        line(&mut text, &format!("warning: {warning}"));
    }
    text
}

fn allreduce_line(allreduce: &Allreduce, header: &Header) -> String {
    let Allreduce { mean_ns, median_ns, n_calls } = *allreduce;
    let clock_ns =
        header.ranks.iter().map(|place| place.clock.cost_ns.max(place.clock.resolution_ns as f64)).fold(0.0, f64::max);
    let doubt = if mean_ns < 10.0 * clock_ns {
        format!(
            "; a step of the clock or a look at it is {}, so that lateness by so little may be the clock's",
            span(clock_ns)
        )
    } else {
        String::new()
    };
    format!(
        "an allreduce takes {} in the mean and {} at the median of {n_calls} calls{doubt}",
        span(mean_ns),
        span(median_ns)
    )
}

/// Table 14, and what it does not say.
fn part_table(text: &mut String, part: &Part, outcome: &Outcome) -> Result<(), MalformedRecord> {
    let late: Vec<Late> = outcome.all::<Late>(kind::LATE)?.into_iter().filter(|late| late.work == part.work).collect();
    let work = if part.work == "allreduce" {
        format!("as long as an allreduce ({})", span(part.work_ns as f64))
    } else {
        format!("of {}", part.work)
    };
    let n_iterations = part.n_iterations;
    line(
        text,
        &format!(
            "\nwork {work}: {n_iterations} iterations in {}; iterations with at least one rank later than its median by",
            span(part.run_ns as f64)
        ),
    );
    let mut head = format!("{:<14}{:>10}{:>10}", "", "mean", "stdev");
    for column in late.iter().filter(|late| late.row == Row::Iteration) {
        let _ = write!(head, "{:>12}", format!("> {}", span(column.threshold_ns)));
    }
    line(text, &head);
    for row in Row::ALL {
        let mut columns = late.iter().filter(|late| late.row == row).peekable();
        let Some(first) = columns.peek() else { continue };
        let mut cells = format!("{:<14}{:>10}{:>10}", row.name(), span(first.mean_ns), span(first.deviation_ns));
        columns.for_each(|column| cells.push_str(&format!("{:>12}", column.n_late)));
        line(text, &cells);
    }
    let mut lost = format!("{:<14}{:>10}{:>10}", "time lost", "", "");
    late.iter()
        .filter(|late| late.row == Row::Iteration)
        .for_each(|late| lost.push_str(&format!("{:>12}", late.lost_ns.map_or(String::new(), span))));
    line(text, &lost);
    if let Some(late) = late.iter().find(|late| late.row == Row::Iteration && late.is_allreduce) {
        let (share, threshold) = (percent(late.late_ratio), span(late.threshold_ns));
        let (lost, ratio) = (late.lost_ns.map_or(String::new(), span), late.lost_ratio.map_or(String::new(), percent));
        let whole = span(part.run_ns as f64);
        line(
            text,
            &format!(
                "in {share} of the iterations a rank is later than the mean allreduce of {threshold}; these lose {lost} of {whole}, {ratio}"
            ),
        );
    }
    let ranks: Vec<RankTimes> =
        outcome.all::<RankTimes>(kind::RANK)?.into_iter().filter(|rank| rank.work == part.work).collect();
    doubts(text, part, &ranks);
    nodes_table(text, part, outcome)?;
    ranks_table(text, &ranks);
    Ok(())
}

fn doubts(text: &mut String, part: &Part, ranks: &[RankTimes]) {
    if part.drift_ratio.abs() > DRIFT_TOLD {
        let percent = 100.0 * part.drift_ratio;
        line(
            text,
            &format!(
                "warning: calibrated again between blocks, the length of the work had moved by up to {percent:+.1} %: the core's speed changed, or the core is shared"
            ),
        );
    }
    let mut waiting: Vec<(f64, &RankTimes)> =
        ranks.iter().filter_map(|rank| Some((rank.waited_ratio?, rank))).collect();
    waiting.retain(|(ratio, _)| *ratio > WAITING_TOLD);
    waiting.sort_by(|a, b| b.0.total_cmp(&a.0));
    if let Some((ratio, rank)) = waiting.first() {
        let others = if waiting.len() > 1 { format!(" (and {} ranks less)", waiting.len() - 1) } else { String::new() };
        line(
            text,
            &format!(
                "warning: rank {} was ready and had no core for {} of the time{others}: other programs, ranks or noise have it; lateness is then theirs, and medians may be too",
                rank.rank,
                percent(*ratio)
            ),
        );
    }
    if part.is_cut {
        line(
            text,
            &format!(
                "note: it ended after {} of {}, since no more iterations are kept",
                span(part.run_ns as f64),
                span(part.target_ns as f64)
            ),
        );
    }
    if part.n_saturated > 0 {
        line(text, &format!("note: {} times of more than 4.29 s count as that long", part.n_saturated));
    }
}

/// Late iterations of each host.
fn nodes_table(text: &mut String, part: &Part, outcome: &Outcome) -> Result<(), MalformedRecord> {
    let nodes: Vec<NodeLate> =
        outcome.all::<NodeLate>(kind::NODE)?.into_iter().filter(|node| node.work == part.work).collect();
    let of = |host: &str, row: Row| {
        nodes
            .iter()
            .filter(move |node| node.host == host && node.row == row)
            .map(|node| node.n_late)
            .collect::<Vec<_>>()
    };
    let mut hosts: Vec<(&str, u32)> = Vec::new();
    for node in &nodes {
        if !hosts.iter().any(|host| host.0 == node.host) {
            hosts.push((&node.host, node.n_ranks));
        }
    }
    hosts.sort_by_key(|host| std::cmp::Reverse(of(host.0, Row::Computation).iter().sum::<u64>()));
    line(
        text,
        "late iterations by host: late computation is noise there; late communication is waiting for whoever was late",
    );
    for (host, n_ranks) in hosts.iter().take(N_HOSTS_MAX) {
        for row in [Row::Computation, Row::Communication] {
            let name = if row == Row::Computation { format!("{host} ({n_ranks} ranks)") } else { String::new() };
            let mut cells = format!("{name:<20}{:<14}", row.name());
            of(host, row).iter().for_each(|n_late| cells.push_str(&format!("{n_late:>12}")));
            line(text, &cells);
        }
    }
    if hosts.len() > N_HOSTS_MAX {
        line(text, &format!("and {} hosts with fewer", hosts.len() - N_HOSTS_MAX));
    }
    Ok(())
}

/// Medians, which lateness is told from.
fn ranks_table(text: &mut String, ranks: &[RankTimes]) {
    let columns = ["computation", "communication", "iteration", "longest"].map(|name| format!("{name:>16}")).concat();
    line(text, &format!("{:<10}{columns}", "medians"));
    for rank in ranks.iter().take(N_HOSTS_MAX) {
        let [computation, communication, iteration] = rank.medians_ns.map(span);
        let cells =
            [computation, communication, iteration, span(rank.iteration.max_ns)].map(|cell| format!("{cell:>16}"));
        line(text, &format!("{:<10}{}", format!("rank {}", rank.rank), cells.concat()));
    }
    if ranks.len() > N_HOSTS_MAX {
        line(text, &format!("and {} ranks more", ranks.len() - N_HOSTS_MAX));
    }
}

fn cores_table(text: &mut String, cores: &[Core], outcome: &Outcome) -> Result<(), MalformedRecord> {
    line(
        text,
        &format!(
            "\n{:<8}{:<12}{:>10}{:>10}{:>10}{:>10}{:>9}{:>10}{:>10}{:>10}{:>10}",
            "", "quanta", "number", "told from", "detours", "per s", "lost", "median", "99 %", "longest", "slow"
        ),
    );
    for core in cores {
        if let Some(why) = &core.not_measurable {
            line(text, &format!("core {:<3}{:<12}not measurable: {why}", core.cpu, core.method.name()));
            continue;
        }
        let (method, quantum) = (core.method.name(), span(core.quantum_ns));
        line(
            text,
            &format!(
                "core {:<3}{:<12}{:>10}{:>10}{:>10}{:>10.1}{:>9}{:>10}{:>10}{:>10}{:>10}",
                core.cpu,
                method,
                core.n_quanta,
                span(core.limit_ns),
                core.n_detours,
                core.detours_per_sec,
                percent(core.lost_ratio),
                span(core.lengths.median_ns),
                span(core.lengths.p99_ns),
                span(core.lengths.max_ns),
                percent(core.slow_ratio),
            ),
        );
        if core.method == Method::FixedWork {
            let blind = core.blind_ns as f64 / (core.blind_ns as f64 + core.observed_ns as f64).max(1.0);
            let (centre, spread) = (span(core.centre_ns), span(core.spread_ns));
            line(
                text,
                &format!(
                    "        a quantum of {quantum} takes {centre} +- {spread} undisturbed; {} of the time went into reading counters and is left out",
                    percent(blind)
                ),
            );
        }
    }
    if cores.iter().any(|core| core.slow_ratio > 0.0) {
        line(
            text,
            "slow: quanta in stretches where all of them took more than 2 % longer than in the middle one, by frequency, a sibling thread or the cache; not counted as lost",
        );
    }
    causes_table(text, &outcome.all(kind::CAUSE)?);
    for spectrum in outcome.all::<SpectrumSeen>(kind::SPECTRUM)? {
        peaks_lines(text, &spectrum);
    }
    Ok(())
}

fn causes_table(text: &mut String, causes: &[CauseShare]) {
    if causes.is_empty() {
        return;
    }
    line(text, &format!("\n{:<8}{:<18}{:>10}{:>12}  {}", "", "taken by", "detours", "time", "commonest evidence"));
    for share in causes {
        let evidence: Vec<String> = share.evidence.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        let (name, lost) = (cause_name(share.cause), span(share.lost_ns));
        let cells =
            format!("core {:<3}{name:<18}{:>10}{lost:>12}  {}", share.cpu, share.n_detours, evidence.join(", "));
        line(text, cells.trim_end());
    }
}

/// As people call it.
#[must_use]
pub fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Switch => "another thread",
        Cause::Steal => "the hypervisor",
        Cause::Interrupt => "interrupts",
        Cause::SoftInterrupt => "soft interrupts",
        Cause::Unattributed => "unattributed",
        Cause::Unread => "not looked at",
    }
}

fn peaks_lines(text: &mut String, spectrum: &SpectrumSeen) {
    let place = format!("core {}, {}", spectrum.cpu, spectrum.method.name());
    if spectrum.peaks.is_empty() {
        line(text, &format!("{place}: no pace stands out of the spectrum"));
    }
    for peak in spectrum.peaks.iter().take(N_PEAKS_TOLD) {
        line(text, &format!("{place}: {}", peak_words(peak)));
    }
}

/// Frequency, period and how sure both are.
#[must_use]
pub fn peak_words(peak: &Peak) -> String {
    let multiples = match peak.n_harmonics {
        0 => String::new(),
        1 => ", with one multiple".to_owned(),
        n => format!(", with {n} multiples"),
    };
    let Peak { frequency_hz, within_hz, period_ns, over_floor, .. } = *peak;
    format!(
        "time is lost at {frequency_hz:.2} +- {within_hz:.2} Hz, every {}, {over_floor:.0} times the floor{multiples}",
        span(period_ns)
    )
}

fn trains_table(text: &mut String, trains: &[TrainSeen]) {
    if trains.is_empty() {
        return;
    }
    line(
        text,
        &format!(
            "\n{:<24}{:>12}{:>26}{:>12}{:>22}{:>9}{:>7}",
            "detours at even distances", "every", "95 %", "length", "95 %", "pulses", "seen"
        ),
    );
    for TrainSeen { place, train } in trains {
        let (period, length) = (&train.period, &train.length);
        let within = format!("{:.6} to {:.6} ms", period.interval.lower / 1e6, period.interval.upper / 1e6);
        let lengths = format!("{} to {}", span(length.interval.lower), span(length.interval.upper));
        line(
            text,
            &format!(
                "{place:<24}{:>12}{within:>27}{:>12}{lengths:>22}{:>9}{:>6.0} %",
                span(period.value_ns),
                span(length.value_ns),
                train.n_pulses,
                100.0 * train.coverage_ratio
            ),
        );
    }
}

fn injected_line(injected: &InjectedNoise) -> String {
    let InjectedNoise { place, length_ns, period_ns, injected: made, recovered } = injected;
    let found = recovered.map_or("not found".to_owned(), |recovered| {
        let (period, length) = (100.0 * recovered.period_error_ratio, 100.0 * recovered.length_error_ratio);
        format!("found, its period {period:+.3} % and its length {length:+.1} % off")
    });
    let mut words = format!(
        "{place}: noise of {} every {} was made ({} pulses of {} in the mean, {} deadlines missed) and {found}",
        span(*length_ns as f64),
        span(*period_ns as f64),
        made.n_pulses,
        span(made.mean_length_ns),
        made.n_missed
    );
    for (what, why) in [("real-time priority", &made.not_real_time), ("a core of its own", &made.not_bound)] {
        if let Some(why) = why {
            let _ = write!(words, "; it had not {what} ({why})");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_three_digits_and_a_unit() {
        let written =
            [0.0, 999.0, 1_350.0, 12_345.0, 123_456.0, 999_600.0, 2.46e6, 7.4e9, 1.106e12, f64::NAN].map(span);
        assert_eq!(
            written,
            ["0 ns", "999 ns", "1.35 us", "12.3 us", "123 us", "1.00 ms", "2.46 ms", "7.40 s", "1106 s", "not known"]
        );
    }

    #[test]
    fn small_shares_are_not_rounded_to_nothing() {
        assert_eq!([0.0, 0.000_012, 0.0067, 0.25].map(percent), ["0.00 %", "0.0012 %", "0.67 %", "25.00 %"]);
    }
}
