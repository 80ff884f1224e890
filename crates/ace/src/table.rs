//! Text of a result of ACE, for people.

use std::collections::BTreeSet;
use std::fmt::Write;

use mpi_run::{AWAY_RATIO_MAX, Header, MalformedRecord, Outcome};
use text::figure::{percent, span_ns};
use text::{Table, printable};
use units::ByteCount;

use crate::record::{
    ANOMALY, APPLICATION, Anomaly, Basis, CLOCK, ClockResult, MODEL, Model, NEIGHBOUR, Part, Planned, RANK, RankResult,
    SWEEP, Seen, SweepResult,
};

/// A calibration that is further off does not keep compute phases within a hundredth.
const DRIFT_RATIO_MAX: f64 = 0.01;
/// Cycles that an anomaly names in the table; the result has more.
const N_NAMED: usize = 3;

/// The table of a run, or of a sweep.
///
/// # Errors
/// When the result is none of ACE's.
pub(crate) fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let mut text = String::new();
    let header = &outcome.header;
    push(&mut text, format_args!("ACE under {}, {} ranks, seed {}", header.mpi, header.ranks.len(), header.seed));
    for warning in outcome.warnings() {
        push(&mut text, format_args!("warning: {warning}"));
    }
    let sweep: Vec<SweepResult> = outcome.all(SWEEP)?;
    if sweep.is_empty() {
        run(&mut text, outcome)?;
    } else {
        self::sweep(&mut text, &sweep);
    }
    Ok(text)
}

fn run(text: &mut String, outcome: &Outcome) -> Result<(), MalformedRecord> {
    let plans: Vec<Planned> = outcome.all(APPLICATION)?;
    let models: Vec<Model> = outcome.all(MODEL)?;
    let ranks: Vec<RankResult> = outcome.all(RANK)?;
    let anomalies: Vec<Anomaly> = outcome.all(ANOMALY)?;
    let seen: Vec<Seen> = outcome.all(NEIGHBOUR)?;
    for plan in &plans {
        let name = &plan.application.name;
        text.push('\n');
        application(text, plan);
        models.iter().filter(|model| model.application == *name).for_each(|found| model(text, found));
        let own: Vec<&RankResult> = ranks.iter().filter(|rank| rank.application == *name).collect();
        if own.is_empty() {
            push(text, format_args!("  phase two did not end, so that there is no run time"));
            continue;
        }
        rank_rows(text, &own);
        let is_any_away = off_core(text, &own, &seen, &outcome.header);
        let own: Vec<&Anomaly> = anomalies.iter().filter(|anomaly| anomaly.application == *name).collect();
        if own.is_empty() && !is_any_away {
            push(text, format_args!("  no anomalous cycles or pairs"));
        }
        own.iter().for_each(|found| anomaly(text, found));
    }
    clocks(text, &outcome.all(CLOCK)?);
    Ok(())
}

fn application(text: &mut String, plan: &Planned) {
    let Planned { application, predicted, .. } = plan;
    let mode = if application.pattern.is_collective() { String::new() } else { format!(", {}", application.mode) };
    push(
        text,
        format_args!(
            "application {}: {}{mode}, {} a message, load {} %, {} ranks, {} cycles",
            application.name,
            application.pattern,
            application.size,
            application.load_percent,
            plan.world_ranks.len(),
            plan.n_cycles
        ),
    );
    let basis = match predicted.basis {
        Basis::Benchmark => "by the exchange itself",
        Basis::Model => "by the linear model of ping-pong",
    };
    push(
        text,
        format_args!(
            "  T_comm {} {basis} (exchange {}, linear model {} for {} messages in turn)",
            span_ns(predicted.communication_ns),
            span_ns(predicted.communication_by_benchmark_ns),
            span_ns(predicted.communication_by_model_ns),
            predicted.n_messages
        ),
    );
    push(
        text,
        format_args!(
            "  T_comp {}, T_cycle {}, barrier {}; predicted run {}",
            span_ns(predicted.compute_ns),
            span_ns(predicted.cycle_ns),
            span_ns(predicted.synchronization_ns),
            span_ns(predicted.run_ns)
        ),
    );
}

fn model(text: &mut String, found: &Model) {
    for segment in &found.model.segments {
        push(
            text,
            format_args!(
                "  {} from {}: alpha {} [{}, {}], beta {:.4} [{:.4}, {:.4}] ns/B",
                found.what,
                ByteCount::new(segment.from_bytes),
                span_ns(segment.alpha_ns),
                span_ns(segment.alpha.lower),
                span_ns(segment.alpha.upper),
                segment.beta_ns_per_byte,
                segment.beta.lower,
                segment.beta.upper
            ),
        );
    }
}

fn rank_rows(text: &mut String, ranks: &[&RankResult]) {
    let columns = [
        "rank", "run", "once", "error", "as we go", "error", "T_comp", "T_comm", "dev/mean", "x bench", "sync",
        "off core",
    ];
    let mut table = Table::of_figures(&columns).indented("  ");
    for rank in ranks {
        table.row([
            rank.rank.to_string(),
            span_ns(rank.run_ns),
            span_ns(rank.benchmarked_once.run_ns),
            error(rank.benchmarked_once.error_percent),
            span_ns(rank.forecast_as_we_go.run_ns),
            error(rank.forecast_as_we_go.error_percent),
            error(rank.compute_error_percent),
            span_ns(rank.communication.median_ns),
            format!("{:.3}", rank.dispersion.communication_ratio),
            times(rank.dispersion.communication_to_benchmark),
            span_ns(rank.synchronization.median_ns),
            rank.away.map_or_else(|| "-".to_owned(), |away| percent(away.run_ratio)),
        ]);
    }
    *text += &table.to_string();
    push(
        text,
        format_args!(
            "  (error: actual less predicted, of predicted; T_comp: median less calculated; T_comm and sync: medians; x bench: deviation by that in phase one)"
        ),
    );
}

/// Says which ranks were off their cores too long, and who else was on the cores of their hosts; whether there are any.
fn off_core(text: &mut String, ranks: &[&RankResult], seen: &[Seen], header: &Header) -> bool {
    let mut hosts = BTreeSet::new();
    for (rank, away) in ranks.iter().filter_map(|rank| Some((rank, rank.is_away()?))) {
        let (benchmark, run) = (percent(away.benchmark_ratio), percent(away.run_ratio));
        push(text, format_args!("  off core: rank {} for {benchmark} of phase one and {run} of the run", rank.rank));
        hosts.extend(header.ranks.iter().filter(|place| place.rank == rank.world_rank).map(|place| &place.host));
    }
    for host in &hosts {
        let of_host = seen.iter().map(|seen| &seen.neighbour).filter(|neighbour| neighbour.host == **host);
        let named = of_host.map(|neighbour| {
            let (name, pid) = (printable(&neighbour.name), neighbour.pid);
            format!("`{name}` (process {pid}) had {} of a core", percent(neighbour.core_ratio))
        });
        let named: Vec<String> = named.collect();
        if named.is_empty() {
            push(
                text,
                format_args!(
                    "    on {host} no neighbour is seen: ranks share cores, or whoever had them has ended or is another guest of the machine"
                ),
            );
        } else {
            push(text, format_args!("    on {host} {}", named.join(", ")));
        }
    }
    if !hosts.is_empty() {
        let limit = percent(AWAY_RATIO_MAX);
        push(
            text,
            format_args!(
                "    above {limit}, times are the scheduler's: waits, exchanges and pairs of ranks are not judged"
            ),
        );
    }
    !hosts.is_empty()
}

/// An error with its sign.
fn error(percent: f64) -> String {
    format!("{percent:+.2} %")
}

/// Formats a ratio, or `-` if the ratio is unknown.
fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn anomaly(text: &mut String, found: &Anomaly) {
    if let (Part::Pair, Some(peer)) = (found.part, found.peer) {
        push(
            text,
            format_args!(
                "  anomaly: rank {} with rank {peer} is slow: its limit is {}, {}",
                found.rank,
                span_ns(found.limit_ns),
                found.rule
            ),
        );
        return;
    }
    let part = match found.part {
        Part::Compute => "compute phases",
        Part::Synchronization => "waits for other ranks",
        Part::Communication | Part::Pair => "exchanges",
    };
    let named = found.worst.iter().take(N_NAMED).map(|cycle| {
        let with = cycle.peer.map_or_else(String::new, |peer| format!(" with rank {peer}"));
        format!("cycle {} took {}{with}", cycle.cycle, span_ns(cycle.span_ns as f64))
    });
    push(
        text,
        format_args!(
            "  anomaly: rank {}, {} {part} above {} (median {}), the worst of them {:.2} % of the run: {}",
            found.rank,
            found.n_cycles,
            span_ns(found.limit_ns),
            span_ns(found.ordinary_ns),
            found.share_of_run_percent,
            named.collect::<Vec<_>>().join(", ")
        ),
    );
}

fn clocks(text: &mut String, clocks: &[ClockResult]) {
    let largest = |of: &dyn Fn(&ClockResult) -> f64| clocks.iter().map(of).fold(0.0, f64::max);
    if clocks.is_empty() {
        return;
    }
    let drift = largest(&|clock| clock.calibration_drift_ratio.abs());
    push(
        text,
        format_args!(
            "\nACE itself takes {} of a cycle; calibrated work drifted by {} at most{}",
            span_ns(largest(&|clock| clock.cycle_overhead_ns.unwrap_or(0.0))),
            percent(drift),
            if drift > DRIFT_RATIO_MAX {
                "\nwarning: cores did not keep their speed, so compute phases are not what they should be"
            } else {
                ""
            }
        ),
    );
}

fn sweep(text: &mut String, results: &[SweepResult]) {
    let columns = [
        "pattern",
        "mode",
        "size",
        "load",
        "apps",
        "rep",
        "name",
        "predicted",
        "run",
        "error",
        "go error",
        "dev/mean",
        "x bench",
    ];
    let mut table = Table::of_figures(&columns);
    for result in results {
        let key = &result.key;
        table.row([
            key.pattern.to_string(),
            if key.pattern.is_collective() { "-" } else { key.mode.name() }.to_owned(),
            ByteCount::new(key.size_bytes).to_string(),
            format!("{} %", key.load_percent),
            key.n_applications.to_string(),
            key.repetition.to_string(),
            result.application.clone(),
            span_ns(result.predicted_run_ns),
            span_ns(result.run_ns),
            error(result.error_percent),
            error(result.forecast_error_percent),
            format!("{:.3}", result.communication_ratio),
            times(result.communication_to_benchmark),
        ]);
    }
    *text += &format!("\n{table}");
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("text takes what is written to it");
}
