//! What a result of ACE says, as text for people.

use std::fmt::Write;

use mpi_run::{MalformedRecord, Outcome};

use crate::record::{
    ANOMALY, APPLICATION, Anomaly, Basis, CLOCK, ClockResult, MODEL, Model, Part, Planned, RANK, RankResult, SWEEP,
    SweepResult,
};

/// A calibration that is further off does not keep compute phases within a hundredth.
const DRIFT_RATIO_MAX: f64 = 0.01;
/// Cycles that an anomaly names in the table; the result has more.
const N_NAMED: usize = 3;

/// The table of a run, or of a sweep.
///
/// # Errors
/// When the result is none of ACE's.
pub fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let mut text = String::new();
    let header = &outcome.header;
    push(&mut text, format_args!("ACE under {}, {} ranks, seed {}", header.mpi, header.ranks.len(), header.seed));
    for warning in header.warnings() {
        push(&mut text, format_args!("WARNING: {warning}"));
    }
    let sweep: Vec<SweepResult> = outcome.all(SWEEP)?;
    if sweep.is_empty() {
        run(&mut text, outcome)?;
    } else {
        self::sweep(&mut text, &sweep);
    }
    if outcome.is_truncated {
        push(
            &mut text,
            format_args!("the result breaks off in the middle of a line: the run was ended before its time"),
        );
    }
    Ok(text)
}

fn run(text: &mut String, outcome: &Outcome) -> Result<(), MalformedRecord> {
    let plans: Vec<Planned> = outcome.all(APPLICATION)?;
    let models: Vec<Model> = outcome.all(MODEL)?;
    let ranks: Vec<RankResult> = outcome.all(RANK)?;
    let anomalies: Vec<Anomaly> = outcome.all(ANOMALY)?;
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
        let own: Vec<&Anomaly> = anomalies.iter().filter(|anomaly| anomaly.application == *name).collect();
        if own.is_empty() {
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
            span(predicted.communication_ns),
            span(predicted.communication_by_benchmark_ns),
            span(predicted.communication_by_model_ns),
            predicted.n_messages
        ),
    );
    push(
        text,
        format_args!(
            "  T_comp {}, T_cycle {}, barrier {}; predicted run {}",
            span(predicted.compute_ns),
            span(predicted.cycle_ns),
            span(predicted.synchronization_ns),
            span(predicted.run_ns)
        ),
    );
}

fn model(text: &mut String, found: &Model) {
    for segment in &found.model.segments {
        push(
            text,
            format_args!(
                "  {} from {} B: alpha {} [{}, {}], beta {:.4} [{:.4}, {:.4}] ns/B",
                found.what,
                segment.from_bytes,
                span(segment.alpha_ns),
                span(segment.alpha.lower),
                span(segment.alpha.upper),
                segment.beta_ns_per_byte,
                segment.beta.lower,
                segment.beta.upper
            ),
        );
    }
}

fn rank_rows(text: &mut String, ranks: &[&RankResult]) {
    push(
        text,
        format_args!(
            "  {:>4} {:>10} | {:>10} {:>8} | {:>10} {:>8} | {:>8} | {:>10} {:>8} {:>8} | {:>10}",
            "rank",
            "run",
            "once",
            "error %",
            "as we go",
            "error %",
            "T_comp %",
            "T_comm",
            "dev/mean",
            "x bench",
            "sync"
        ),
    );
    for rank in ranks {
        let times_benchmark =
            rank.dispersion.communication_to_benchmark.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        push(
            text,
            format_args!(
                "  {:>4} {:>10} | {:>10} {:>+8.2} | {:>10} {:>+8.2} | {:>+8.2} | {:>10} {:>8.3} {times_benchmark:>8} | {:>10}",
                rank.rank,
                span(rank.run_ns),
                span(rank.benchmarked_once.run_ns),
                rank.benchmarked_once.error_percent,
                span(rank.forecast_as_we_go.run_ns),
                rank.forecast_as_we_go.error_percent,
                rank.compute_error_percent,
                span(rank.communication.median_ns),
                rank.dispersion.communication_ratio,
                span(rank.synchronization.median_ns)
            ),
        );
    }
    push(
        text,
        format_args!(
            "  (error: actual less predicted, of predicted; T_comp %: median less calculated; T_comm and sync: medians; x bench: deviation by that in phase one)"
        ),
    );
}

fn anomaly(text: &mut String, found: &Anomaly) {
    if let (Part::Pair, Some(peer)) = (found.part, found.peer) {
        push(
            text,
            format_args!(
                "  anomaly: rank {} with rank {peer} is slow: its limit is {}, {}",
                found.rank,
                span(found.limit_ns),
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
        format!("cycle {} took {}{with}", cycle.cycle, span(cycle.span_ns as f64))
    });
    push(
        text,
        format_args!(
            "  anomaly: rank {}, {} {part} above {} (median {}), the worst of them {:.2} % of the run: {}",
            found.rank,
            found.n_cycles,
            span(found.limit_ns),
            span(found.ordinary_ns),
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
            "\nACE itself takes {} of a cycle; calibrated work drifted by {:.2} % at most{}",
            span(largest(&|clock| clock.cycle_overhead_ns.unwrap_or(0.0))),
            100.0 * drift,
            if drift > DRIFT_RATIO_MAX {
                ": WARNING: cores did not keep their speed, so compute phases are not what they should be"
            } else {
                ""
            }
        ),
    );
}

fn sweep(text: &mut String, results: &[SweepResult]) {
    push(
        text,
        format_args!(
            "\n{:>13} {:>12} {:>8} {:>6} {:>4} {:>3} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8}",
            "pattern",
            "mode",
            "size B",
            "load %",
            "apps",
            "rep",
            "name",
            "predicted",
            "run",
            "error %",
            "go err %",
            "dev/mean",
            "x bench"
        ),
    );
    for result in results {
        let key = &result.key;
        let mode = if key.pattern.is_collective() { "-" } else { key.mode.name() };
        let times_benchmark =
            result.communication_to_benchmark.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        push(
            text,
            format_args!(
                "{:>13} {mode:>12} {:>8} {:>6} {:>4} {:>3} {:>10} {:>10} {:>10} {:>+8.2} {:>+8.2} {:>8.3} {times_benchmark:>8}",
                key.pattern,
                key.size_bytes,
                key.load_percent,
                key.n_applications,
                key.repetition,
                result.application,
                span(result.predicted_run_ns),
                span(result.run_ns),
                result.error_percent,
                result.forecast_error_percent,
                result.communication_ratio
            ),
        );
    }
}

/// A span in the unit that people would use, with four digits.
#[must_use]
pub fn span(span_ns: f64) -> String {
    let (value, unit) = match span_ns {
        ns if ns < 999.95 => (ns, "ns"),
        ns if ns < 999.95e3 => (ns / 1e3, "us"),
        ns if ns < 999.95e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let n_decimals = if value < 9.9995 {
        3
    } else if value < 99.995 {
        2
    } else {
        1
    };
    format!("{value:.n_decimals$} {unit}")
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("text takes what is written to it");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_four_digits_and_a_unit() {
        for (span_ns, text) in [
            (0.0, "0.000 ns"),
            (87.25, "87.25 ns"),
            (999.96, "1.000 us"),
            (123_456.0, "123.5 us"),
            (9.5e8, "950.0 ms"),
            (4.2e10, "42.00 s"),
        ] {
            assert_eq!(span(span_ns), text);
        }
    }
}
