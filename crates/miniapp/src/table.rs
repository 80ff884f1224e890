//! Results as text for people.

use mpi_run::{MalformedRecord, Outcome};
use statistics::digest::Summary;
use text::Table;
use text::figure::{percent, six_digits, span_ns};
use units::ByteCount;

use crate::plan::ConvergenceTest;
use crate::record::{Noised, RankTimes, Relaxed, RunSeen, kind};

/// All that a result says.
///
/// # Errors
/// A record that is not what its kind says.
pub(crate) fn table(outcome: &Outcome) -> Result<String, MalformedRecord> {
    let header = &outcome.header;
    let mut lines = vec![format!("{}, {} ranks", header.mpi, header.ranks.len())];
    lines.extend(outcome.warnings().iter().map(|warning| format!("warning: {warning}")));
    let (runs, ranks): (Vec<RunSeen>, Vec<RankTimes>) = (outcome.all(kind::RUN)?, outcome.all(kind::RANK)?);
    runs.iter().for_each(|run| lines.extend(lines_of_run(run)));
    outcome.all::<Relaxed>(kind::SOR)?.iter().for_each(|relaxed| lines.push(line_of_relaxation(relaxed)));
    outcome.all::<Noised>(kind::NOISE)?.iter().for_each(|noised| lines.push(line_of_noise(noised)));
    if runs.is_empty() {
        lines.push("nothing was measured before the run ended".to_owned());
    }
    let tables = [
        of_steps("allreduce", &ranks, |rank| (&rank.call, Some(rank.call_last_median_ns))),
        of_steps("work", &ranks, |rank| (&rank.work, None)),
        of_steps("exchange of borders", &ranks, |rank| (&rank.exchange, None)),
    ];
    Ok(lines.into_iter().map(|line| line + "\n").chain(tables.into_iter().flatten()).collect())
}

fn lines_of_run(run: &RunSeen) -> Vec<String> {
    let (mut size, n_calls) = (ByteCount::new(run.size_bytes).to_string(), run.n_calls);
    if run.n_sizes > 1 {
        size += &format!(" to {} in turn", ByteCount::new(run.size_bytes * u64::from(run.n_sizes)));
    }
    let (whole, each) = (span_ns(run.run_ns as f64), span_ns(run.call_ns));
    let mut lines = vec![format!("{} of {size}: {n_calls} times in {whole}, {each} each", run.app)];
    let asked =
        run.communication_ratio_asked.map_or_else(String::new, |ratio| format!(", {} was asked for", percent(ratio)));
    lines.push(format!("communication takes {} of the time{asked}", percent(run.communication_ratio)));
    if run.n_sorted > 0 {
        lines.push(format!("between two allreduces each rank sorts {} integers", run.n_sorted));
    }
    lines.extend(
        run.straggler.as_ref().map(|straggler| format!("late on purpose before each allreduce: rank {straggler}")),
    );
    lines.push(match run.n_wrong {
        0 => "all sums are right".to_owned(),
        n_wrong => format!("warning: {n_wrong} sums are wrong, counted on each rank"),
    });
    lines
}

fn line_of_relaxation(relaxed: &Relaxed) -> String {
    let Relaxed { side, relaxation, n_iterations, epsilon, checksum, .. } = relaxed;
    let end = match relaxed.changed {
        Some(changed) if relaxed.is_converged => {
            format!("converged: changes of {} are below {epsilon}", six_digits(changed))
        }
        Some(changed) => format!("not converged: changes of {} are not below {epsilon}", six_digits(changed)),
        None => "not tested for convergence".to_owned(),
    };
    format!("{side} x {side} points, relaxed by {relaxation:.6}, {n_iterations} iterations; {end}; checksum {checksum}")
}

fn line_of_noise(noised: &Noised) -> String {
    let work = span_ns(noised.work_ns as f64);
    let how = if noised.is_slept { "slept, since ranks share cores" } else { "computed" };
    let way = match (noised.test, noised.is_conditional) {
        (ConvergenceTest::Conditional, true) => "conditional allreduces",
        (ConvergenceTest::Conditional, false) => "plain allreduces, since mpi-coll was not loaded",
        _ => "plain allreduces",
    };
    let Noised { n_true, n_exact, .. } = noised;
    format!("{work} of work, {how}; {way}: {n_true} said to go on, {n_exact} had the sum of all ranks")
}

/// Returns the table of the times of one kind of step on each rank; nothing if there was none.
fn of_steps<'a>(
    name: &str,
    ranks: &'a [RankTimes],
    pick: impl Fn(&'a RankTimes) -> (&'a Summary, Option<f64>),
) -> Option<String> {
    let has_last = ranks.iter().any(|rank| pick(rank).1.is_some());
    let last = has_last.then_some("last 100");
    let mut table = Table::of_figures(
        &["rank", "mean", "stdev", "min", "median", "max"].into_iter().chain(last).collect::<Vec<_>>(),
    );
    let mut is_empty = true;
    for rank in ranks {
        let (summary, last_median_ns) = pick(rank);
        if summary.count > 0 {
            is_empty = false;
            let spans = [summary.mean_ns, summary.deviation_ns, summary.min_ns, summary.median_ns, summary.max_ns];
            let spans = spans.into_iter().chain(last_median_ns).map(span_ns);
            table.row(std::iter::once(rank.rank.to_string()).chain(spans));
        }
    }
    (!is_empty).then(|| format!("\n{name}\n{table}"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use mpi_run::{Header, Measurement, Placement, Writer};
    use statistics::digest::Digest;

    use super::*;
    use crate::Miniapp;
    use crate::plan::Data;

    fn summary(spans_ns: &[u64]) -> Summary {
        let mut digest = Digest::default();
        spans_ns.iter().for_each(|span_ns| digest.record(*span_ns));
        digest.summary()
    }

    fn outcome() -> Outcome {
        let clock = clock::Stopwatch::start();
        let ranks = vec![Placement::alone(&clock), Placement { rank: 1, ..Placement::alone(&clock) }];
        let mut writer =
            Writer::create(None, &Header::of(&Miniapp, "Some MPI 1.0".to_owned(), Vec::new(), 1, ranks)).unwrap();
        for rank in 0..2 {
            let call = summary(&[1_000, 2_000, 3_000]);
            let (work, exchange) = (summary(&[10_000]), summary(&[]));
            writer
                .record(kind::RANK, &RankTimes { rank, call, call_last_median_ns: 2_000.0, work, exchange, n_wrong: 0 })
                .unwrap();
        }
        let run = RunSeen {
            app: "sor".to_owned(),
            size_bytes: 8,
            n_sizes: 1,
            n_calls: 3,
            run_ns: 36_000,
            call_ns: 12_000.0,
            communication_ratio_asked: Some(0.2),
            communication_ratio: 0.1875,
            n_sorted: 0,
            straggler: Some("1:1ms".to_owned()),
            n_wrong: 0,
        };
        writer.record(kind::RUN, &run).unwrap();
        let relaxed = Relaxed {
            data: Data::Frosty,
            side: 64,
            relaxation: 1.9,
            epsilon: 0.5,
            test: ConvergenceTest::Plain,
            n_iterations: 3,
            changed: Some(0.25),
            is_converged: true,
            checksum: "00000000000000ff".to_owned(),
        };
        writer.record(kind::SOR, &relaxed).unwrap();
        writer.outcome().clone()
    }

    #[test]
    fn a_table_says_what_each_figure_means() {
        let told = Miniapp.table(&outcome()).unwrap();
        // Warnings depend on this machine's cores.
        let told: String = told.split_inclusive('\n').filter(|line| !line.starts_with("warning")).collect();
        expect![[r#"
            Some MPI 1.0, 2 ranks
            sor of 8B: 3 times in 36.0 us, 12.0 us each
            communication takes 18.8 % of the time, 20.0 % was asked for
            late on purpose before each allreduce: rank 1:1ms
            all sums are right
            64 x 64 points, relaxed by 1.900000, 3 iterations; converged: changes of 0.250000 are below 0.5; checksum 00000000000000ff

            allreduce
            rank     mean    stdev      min   median      max  last 100
            0     2.00 us  1.00 us  1.00 us  2.00 us  3.00 us   2.00 us
            1     2.00 us  1.00 us  1.00 us  2.00 us  3.00 us   2.00 us

            work
            rank     mean  stdev      min   median      max
            0     10.0 us   0 ns  10.0 us  10.0 us  10.0 us
            1     10.0 us   0 ns  10.0 us  10.0 us  10.0 us
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn calls_of_each_rank_are_drawn() {
        let pictures = Miniapp.pictures(&outcome()).unwrap();
        assert_eq!(pictures.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["allreduce", "work"]);
        assert_eq!(pictures[0].1.to_svg().matches("<circle").count(), 2);
    }
}
