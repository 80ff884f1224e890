//! Results as text for people.

use std::fmt::Write;

use mpi_run::{Header, MalformedRecord, Outcome};
use text::figure::{percent, span_ns};
use text::{Align, Table};

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
pub(crate) fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let mut text = heading(outcome);
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
    Ok(text)
}

fn line(text: &mut String, words: &str) {
    text.push_str(words);
    text.push('\n');
}

fn heading(outcome: &Outcome) -> String {
    let header = &outcome.header;
    let hosts: std::collections::BTreeSet<&str> = header.ranks.iter().map(|place| place.host.as_str()).collect();
    let n_ranks = header.ranks.len();
    let host = || hosts.iter().next().unwrap_or(&"a host without a name");
    let mut text = match (header.mpi.as_str(), n_ranks) {
        ("none", 1) => format!("noise on {}, without MPI\n", host()),
        ("none", _) => format!("noise on {n_ranks} threads of a process on {}, without MPI\n", host()),
        (mpi, _) => format!("noise on {n_ranks} ranks of {} hosts, {mpi}\n", hosts.len()),
    };
    for warning in outcome.warnings() {
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
            span_ns(clock_ns)
        )
    } else {
        String::new()
    };
    format!(
        "an allreduce takes {} in the mean and {} at the median of {n_calls} calls{doubt}",
        span_ns(mean_ns),
        span_ns(median_ns)
    )
}

/// Table 14, and what it does not say.
fn part_table(text: &mut String, part: &Part, outcome: &Outcome) -> Result<(), MalformedRecord> {
    let late: Vec<Late> = outcome.all::<Late>(kind::LATE)?.into_iter().filter(|late| late.work == part.work).collect();
    let work = if part.work == "allreduce" {
        format!("as long as an allreduce ({})", span_ns(part.work_ns as f64))
    } else {
        format!("of {}", part.work)
    };
    let n_iterations = part.n_iterations;
    let meeting = if part.is_apart { " without an allreduce" } else { "" };
    line(
        text,
        &format!(
            "\nwork {work}: {n_iterations} iterations{meeting} in {}; iterations with at least one rank later than its median by",
            span_ns(part.run_ns as f64)
        ),
    );
    let of_row = |row: Row| late.iter().filter(move |late| late.row == row);
    let thresholds = of_row(Row::Iteration).map(|late| format!("> {}", span_ns(late.threshold_ns)));
    let columns: Vec<String> = ["", "mean", "stdev"].map(str::to_owned).into_iter().chain(thresholds).collect();
    let mut table = Table::of_figures(&columns);
    for row in Row::ALL {
        let Some(first) = of_row(row).next() else { continue };
        let times = [row.name().to_owned(), span_ns(first.mean_ns), span_ns(first.deviation_ns)];
        table.row(times.into_iter().chain(of_row(row).map(|late| late.n_late.to_string())));
    }
    let lost = of_row(Row::Iteration).map(|late| late.lost_ns.map_or(String::new(), span_ns));
    table.row(["time lost", "", ""].map(str::to_owned).into_iter().chain(lost));
    text.push_str(&table.to_string());
    if let Some(late) = late.iter().find(|late| late.row == Row::Iteration && late.is_allreduce) {
        let (share, threshold) = (percent(late.late_ratio), span_ns(late.threshold_ns));
        let (lost, ratio) =
            (late.lost_ns.map_or(String::new(), span_ns), late.lost_ratio.map_or(String::new(), percent));
        let whole = span_ns(part.run_ns as f64);
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
                span_ns(part.run_ns as f64),
                span_ns(part.target_ns as f64)
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
    if hosts.is_empty() {
        return Ok(());
    }
    hosts.sort_by_key(|host| std::cmp::Reverse(of(host.0, Row::Computation).iter().sum::<u64>()));
    let waiting = if part.is_apart { "" } else { "; late communication is waiting for whoever was late" };
    line(text, &format!("late iterations by host: late computation is noise there{waiting}"));
    let thresholds = || nodes.iter().filter(|node| node.row == Row::Computation && node.host == hosts[0].0);
    let names = thresholds().map(|node| format!("> {}", span_ns(node.threshold_ns)));
    let columns: Vec<(String, Align)> = [("host", Align::Left), ("ranks", Align::Right), ("late", Align::Left)]
        .map(|(name, align)| (name.to_owned(), align))
        .into_iter()
        .chain(names.map(|name| (name, Align::Right)))
        .collect();
    let mut table = Table::new(&columns);
    for (host, n_ranks) in hosts.iter().take(N_HOSTS_MAX) {
        for row in part.rows().filter(|row| *row != Row::Iteration) {
            let place = if row == Row::Computation {
                [(*host).to_owned(), n_ranks.to_string()]
            } else {
                [String::new(), String::new()]
            };
            let counts = of(host, row).into_iter().map(|n_late| n_late.to_string());
            table.row(place.into_iter().chain([row.name().to_owned()]).chain(counts));
        }
    }
    text.push_str(&table.to_string());
    if hosts.len() > N_HOSTS_MAX {
        line(text, &format!("and {} hosts with fewer", hosts.len() - N_HOSTS_MAX));
    }
    Ok(())
}

/// Medians, which lateness is told from.
fn ranks_table(text: &mut String, ranks: &[RankTimes]) {
    let mut table = Table::of_figures(&["medians", "computation", "communication", "iteration", "longest"]);
    for rank in ranks.iter().take(N_HOSTS_MAX) {
        let [computation, communication, iteration] = rank.medians_ns.map(span_ns);
        let longest = span_ns(rank.iteration.max_ns);
        table.row([format!("rank {}", rank.rank), computation, communication, iteration, longest]);
    }
    text.push_str(&table.to_string());
    if ranks.len() > N_HOSTS_MAX {
        line(text, &format!("and {} ranks more", ranks.len() - N_HOSTS_MAX));
    }
}

fn cores_table(text: &mut String, cores: &[Core], outcome: &Outcome) -> Result<(), MalformedRecord> {
    let names = ["", "quanta", "number", "told from", "detours", "per s", "lost", "median", "99 %", "longest", "slow"];
    let align = |idx| if idx < 2 { Align::Left } else { Align::Right };
    let columns: Vec<_> = names.iter().enumerate().map(|(idx, name)| (name, align(idx))).collect();
    let mut table = Table::new(&columns);
    for core in cores.iter().filter(|core| core.not_measurable.is_none()) {
        table.row([
            format!("core {}", core.cpu),
            core.method.name().to_owned(),
            core.n_quanta.to_string(),
            span_ns(core.limit_ns),
            core.n_detours.to_string(),
            format!("{:.1}", core.detours_per_sec),
            percent(core.lost_ratio),
            span_ns(core.lengths.median_ns),
            span_ns(core.lengths.p99_ns),
            span_ns(core.lengths.max_ns),
            percent(core.slow_ratio),
        ]);
    }
    text.push_str(&format!("\n{table}"));
    for core in cores {
        core_line(text, core);
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

/// Writes what the table leaves out of a core: the reason for missing figures, or the length of its quanta.
fn core_line(text: &mut String, core: &Core) {
    let place = format!("core {}, {}", core.cpu, core.method.name());
    if let Some(why) = &core.not_measurable {
        line(text, &format!("{place}: not measurable: {why}"));
    } else if core.method == Method::FixedWork {
        let blind = core.blind_ns as f64 / (core.blind_ns as f64 + core.observed_ns as f64).max(1.0);
        let [quantum, centre, spread] = [core.quantum_ns, core.centre_ns, core.spread_ns].map(span_ns);
        line(
            text,
            &format!(
                "{place}: a quantum of {quantum} takes {centre} +- {spread} undisturbed; {} of the time went into reading counters and is left out",
                percent(blind)
            ),
        );
    }
}

fn causes_table(text: &mut String, causes: &[CauseShare]) {
    if causes.is_empty() {
        return;
    }
    let mut table = Table::new(&[
        ("", Align::Left),
        ("taken by", Align::Left),
        ("detours", Align::Right),
        ("time", Align::Right),
        ("commonest evidence", Align::Left),
    ]);
    for share in causes {
        let evidence: Vec<String> = share.evidence.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        table.row([
            format!("core {}", share.cpu),
            cause_name(share.cause).to_owned(),
            share.n_detours.to_string(),
            span_ns(share.lost_ns),
            evidence.join(", "),
        ]);
    }
    text.push_str(&format!("\n{table}"));
}

/// Returns the name that people use.
fn cause_name(cause: Cause) -> &'static str {
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
pub(crate) fn peak_words(peak: &Peak) -> String {
    let multiples = match peak.n_harmonics {
        0 => String::new(),
        1 => ", with one multiple".to_owned(),
        n => format!(", with {n} multiples"),
    };
    let Peak { frequency_hz, within_hz, period_ns, over_floor, .. } = *peak;
    format!(
        "time is lost at {frequency_hz:.2} +- {within_hz:.2} Hz, every {}, {over_floor:.0} times the floor{multiples}",
        span_ns(period_ns)
    )
}

fn trains_table(text: &mut String, trains: &[TrainSeen]) {
    if trains.is_empty() {
        return;
    }
    let columns = ["detours at even distances", "every", "95 %", "length", "95 %", "pulses", "seen"];
    let mut table = Table::of_figures(&columns);
    for TrainSeen { place, train } in trains {
        let (period, length) = (&train.period, &train.length);
        table.row([
            place.clone(),
            span_ns(period.value_ns),
            // More digits than a span has: a period is known to a millionth.
            format!("{:.6} to {:.6} ms", period.interval.lower / 1e6, period.interval.upper / 1e6),
            span_ns(length.value_ns),
            format!("{} to {}", span_ns(length.interval.lower), span_ns(length.interval.upper)),
            train.n_pulses.to_string(),
            percent(train.coverage_ratio),
        ]);
    }
    text.push_str(&format!("\n{table}"));
}

fn injected_line(injected: &InjectedNoise) -> String {
    let InjectedNoise { place, length_ns, period_ns, injected: made, recovered } = injected;
    let found = recovered.map_or("not found".to_owned(), |recovered| {
        let (period, length) = (100.0 * recovered.period_error_ratio, 100.0 * recovered.length_error_ratio);
        format!("found, its period {period:+.3} % and its length {length:+.1} % off")
    });
    let mut words = format!(
        "{place}: noise of {} every {} was made ({} pulses of {} in the mean, {} deadlines missed) and {found}",
        span_ns(*length_ns as f64),
        span_ns(*period_ns as f64),
        made.n_pulses,
        span_ns(made.mean_length_ns),
        made.n_missed
    );
    for (what, why) in [("real-time priority", &made.not_real_time), ("a core of its own", &made.not_bound)] {
        if let Some(why) = why {
            let _ = write!(words, "; it had not {what} ({why})");
        }
    }
    words
}
