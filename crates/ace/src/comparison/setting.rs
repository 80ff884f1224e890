//! Differences between two runs that were there before anything was measured.

use std::collections::BTreeSet;

use mpi_run::{AWAY_RATIO_MAX, Header, Placement};
use text::figure::percent;

use crate::record::{Planned, RankResult, SweepResult};

/// Cores that work faster or slower by more than this are told of.
const SPEED_CHANGE: f64 = 0.02;

/// Returns the differences between two headers, a sentence each.
pub(super) fn differences(first: &Header, second: &Header) -> Vec<String> {
    let mut found = Vec::new();
    let mut tell = |what: &str, before: &str, after: &str| {
        if before != after {
            found.push(format!("{what}: {before} before, {after} after"));
        }
    };
    tell("MPI", &first.mpi, &second.mpi);
    tell("hosts", &hosts(first), &hosts(second));
    tell("ranks", &first.ranks.len().to_string(), &second.ranks.len().to_string());
    tell("cores that ranks may run on", &cores(first), &cores(second));
    tell("version", &first.version, &second.version);
    tell("seed", &first.seed.to_string(), &second.seed.to_string());
    tell("arguments", &first.arguments.join(" "), &second.arguments.join(" "));
    found.extend(speeds(first, second));
    for (when, header) in [("before", first), ("after", second)] {
        found.extend(header.warnings().into_iter().map(|warning| format!("{when}: {warning}")));
    }
    found
}

fn hosts(header: &Header) -> String {
    let names: BTreeSet<&str> = header.ranks.iter().map(|place| place.host.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn cores(header: &Header) -> String {
    let of_rank = |place: &Placement| place.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
    header.ranks.iter().map(of_rank).collect::<Vec<_>>().join(", ")
}

fn speeds(first: &Header, second: &Header) -> Option<String> {
    let change = |(before, after): (&Placement, &Placement)| {
        let change = after.calibration.turns_per_ns / before.calibration.turns_per_ns - 1.0;
        (change.abs() > SPEED_CHANGE).then_some((before.rank, change))
    };
    let changes = first.ranks.iter().zip(&second.ranks).filter_map(change);
    let (rank, most) = changes.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let faster = if most > 0.0 { "faster" } else { "slower" };
    Some(format!("speed of cores: that of rank {rank} worked {:.1} % {faster} after", 100.0 * most.abs()))
}

/// Ranks of either result that were off their cores, a sentence each.
pub(super) fn ranks_off_core(ranks: &(Vec<RankResult>, Vec<RankResult>)) -> Vec<String> {
    let of = |when: &'static str, results: &[RankResult]| {
        let told = move |rank: &RankResult| {
            let share = percent(rank.is_away()?.worst_ratio());
            Some(format!(
                "{when}: rank {} of application `{}` was off its core for {share}",
                rank.rank, rank.application
            ))
        };
        results.iter().filter_map(told).collect::<Vec<_>>()
    };
    [of("before", &ranks.0), of("after", &ranks.1)].concat()
}

/// Returns a sentence for each sweep that had runs with ranks off their cores, with the number of these runs.
pub(super) fn runs_off_core(sweeps: &(Vec<SweepResult>, Vec<SweepResult>)) -> Vec<String> {
    let of = |when: &str, results: &[SweepResult]| {
        let is_away = |result: &&SweepResult| result.away_ratio.is_some_and(|ratio| ratio > AWAY_RATIO_MAX);
        let (n_away, n) = (results.iter().filter(is_away).count(), results.len());
        let limit = percent(AWAY_RATIO_MAX);
        (n_away > 0).then(|| format!("{when}: in {n_away} of {n} runs a rank was off its core for over {limit}"))
    };
    [of("before", &sweeps.0), of("after", &sweeps.1)].into_iter().flatten().collect()
}

/// Tells of applications that are not the same in both, or not in both.
pub(super) fn compare_plans(
    plans: &(Vec<Planned>, Vec<Planned>),
    circumstances: &mut Vec<String>,
    omissions: &mut Vec<String>,
) {
    let name = |plan: &Planned| plan.application.name.clone();
    for before in &plans.0 {
        match plans.1.iter().find(|after| name(after) == name(before)) {
            None => omissions.push(format!("application `{}` is in the first result only", name(before))),
            Some(after) => circumstances.extend(plan_differences(before, after)),
        }
    }
    let is_new = |after: &&Planned| plans.0.iter().all(|before| name(before) != name(after));
    omissions.extend(
        plans
            .1
            .iter()
            .filter(is_new)
            .map(|after| format!("application `{}` is in the second result only", name(after))),
    );
}

fn plan_differences(before: &Planned, after: &Planned) -> Vec<String> {
    let (first, second) = (&before.application, &after.application);
    let ranks = |plan: &Planned| plan.world_ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let figures = [
        ("pattern", first.pattern.to_string(), second.pattern.to_string()),
        ("mode", first.mode.to_string(), second.mode.to_string()),
        ("size", first.size.to_string(), second.size.to_string()),
        ("load in percent", first.load_percent.to_string(), second.load_percent.to_string()),
        ("ranks", ranks(before), ranks(after)),
        ("cycles", before.n_cycles.to_string(), after.n_cycles.to_string()),
    ];
    let told = |(what, before, after): (&str, String, String)| {
        (before != after).then(|| format!("{what} of application `{}`: {before} before, {after} after", first.name))
    };
    figures.into_iter().filter_map(told).collect()
}
