use super::*;
use crate::plan::tests::settings;
use crate::record::tests::{call, rank, run};
use crate::{RankWait, WaitMode};

/// A run of so many seconds whose ranks have this user, system and blocked time together, on two processors.
fn seen(ratio: u32, round: u32, seconds: f64, [user, system, blocked]: [f64; 3]) -> SweepRun {
    let mut seen = run(ratio, round, seconds);
    let n_ranks = seen.trial.n_ranks;
    let share = |whole: f64| whole / f64::from(n_ranks);
    seen.ranks = (0..n_ranks)
        .map(|number| RankWait {
            user_seconds: share(user),
            system_seconds: share(system),
            blocked_seconds: share(blocked),
            call_seconds: share(blocked),
            ..rank(number, seconds)
        })
        .collect();
    seen
}

/// Three rounds at 1:1, 2:1 and 4:1, which a hundredth of noise keeps from being the same.
fn sweep(of_ratio: impl Fn(u32) -> (f64, [f64; 3])) -> Vec<SweepRun> {
    let rounds = (0..3).flat_map(|round| [1, 2, 4].map(|ratio| (round, ratio)));
    let noise = |round: u32, ratio: u32| 1.0 + 0.01 * f64::from((round + ratio) % 3);
    rounds
        .map(|(round, ratio)| {
            let (seconds, terms) = of_ratio(ratio);
            seen(ratio, round, seconds * noise(round, ratio), terms)
        })
        .collect()
}

fn limiters(verdict: &SweepVerdict) -> Vec<Limiter> {
    verdict.limits.iter().map(|limit| limit.limiter).collect()
}

#[test]
fn a_ratio_pays_if_its_whole_interval_is_above_one() {
    // Half of the time at 1:1 is waiting; at 2:1 most of it overlaps, at 4:1 system time takes it back.
    let runs = sweep(|ratio| match ratio {
        1 => (10.0, [10.0, 0.2, 9.8]),
        2 => (6.5, [10.0, 0.4, 14.0]),
        _ => (7.5, [10.0, 3.0, 20.0]),
    });
    let verdict = SweepVerdict::of(&settings(3), &runs);
    let best = verdict.best().unwrap();
    assert_eq!(best.ratio, 2);
    assert!((best.speedup.unwrap() - 10.0 / 6.5).abs() < 0.02, "{best:?}");
    assert_eq!(limiters(&verdict), [Limiter::ProcessorIdle]);
    assert_eq!(verdict.grown_most(), None);
}

#[test]
fn without_idle_time_at_1_to_1_the_processor_is_saturated_and_nothing_pays() {
    let runs = sweep(|ratio| (10.0, [19.5, 0.1 * f64::from(ratio), 0.1]));
    let verdict = SweepVerdict::of(&settings(3), &runs);
    assert_eq!(verdict.best(), None);
    assert_eq!(limiters(&verdict), [Limiter::ProcessorSaturated]);
}

#[test]
fn the_overhead_that_grew_most_is_a_limit() {
    let runs = sweep(|ratio| match ratio {
        1 => (10.0, [10.0, 1.0, 9.0]),
        _ => (10.0 + f64::from(ratio), [11.0, 1.0 + 3.0 * f64::from(ratio), 9.0]),
    });
    let verdict = SweepVerdict::of(&settings(3), &runs);
    assert_eq!(verdict.best(), None);
    assert!(limiters(&verdict).contains(&Limiter::SystemActivity), "{:?}", verdict.limits);
    assert_eq!(verdict.grown_most().unwrap().term, Term::System);
}

#[test]
fn ranks_that_all_wait_together_lack_parallelism() {
    let mut runs = sweep(|_| (10.0, [10.0, 0.2, 9.8]));
    for run in &mut runs {
        for rank in &mut run.ranks {
            rank.tlp_seconds = Some(vec![4.0, 3.0, 2.6, 0.4]);
        }
    }
    let verdict = SweepVerdict::of(&settings(3), &runs);
    let lack = verdict.limits.iter().find(|limit| limit.limiter == Limiter::LackOfTlp).unwrap();
    assert!(lack.reason.contains("4.00 %"), "{}", lack.reason);
}

#[test]
fn collectives_over_all_ranks_whose_waits_do_not_overlap_are_phases() {
    let mut runs = sweep(|_| (10.0, [10.0, 0.2, 9.8]));
    for run in &mut runs {
        run.calls = vec![call("MPI_Alltoallv", 6.0), call("MPI_Recv", 2.0)];
    }
    assert!(limiters(&SweepVerdict::of(&settings(3), &runs)).contains(&Limiter::CommunicationPhases));
}

#[test]
fn without_files_of_the_ranks_there_is_a_speedup_and_no_account() {
    let runs: Vec<SweepRun> = (0..3).flat_map(|round| [run(1, round, 2.0), run(2, round, 1.0)]).collect();
    let verdict = SweepVerdict::of(&SweepSettings { wait: WaitMode::Library, ..settings(3) }, &runs);
    assert_eq!(verdict.best().unwrap().ratio, 2);
    assert_eq!((verdict.account, verdict.limits), (None, Vec::new()));
}

#[test]
fn one_round_is_no_ground_for_a_verdict_and_neither_are_runs_without_1_to_1() {
    let once = SweepVerdict::of(&settings(1), &[run(1, 0, 2.0), run(2, 0, 1.0)]);
    assert!(once.best().is_none() && once.candidate.is_some());
    assert_eq!(SweepVerdict::of(&settings(1), &[run(2, 0, 1.0), run(4, 0, 2.0)]).candidate, None);
}
