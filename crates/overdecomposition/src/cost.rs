//! Account of a run from the files of its ranks.

use std::collections::BTreeMap;

use mpi_analysis::account::{AccountError, HostCost, RankCost, TimeAccount, WaitSeconds};

use crate::record::SweepRun;
use crate::{RankWait, SweepSettings, WaitMode};

/// Accounts for a run; `None` if not all of its ranks reported.
///
/// # Errors
/// [`AccountError`] if a host has no processors.
pub fn account(settings: &SweepSettings, run: &SweepRun) -> Result<Option<TimeAccount>, AccountError> {
    if run.ranks.len() != run.trial.n_ranks as usize {
        return Ok(None);
    }
    let ranks: Vec<RankCost> = run.ranks.iter().map(|rank| cost(settings.wait, rank)).collect();
    let hosts: Vec<HostCost> = of_hosts(&run.ranks)
        .into_iter()
        .map(|(host, ranks)| HostCost {
            host: host.to_owned(),
            n_processors: settings.processors_a_host(),
            idle_seconds: tlp_of(&ranks).map(|tlp| idle_seconds(settings, tlp)),
            // Each rank of a host counts all its cores.
            steal_seconds: ranks.iter().filter_map(|rank| rank.stolen_seconds).reduce(f64::max),
            waits_use_processor: settings.wait != WaitMode::Block,
        })
        .collect();
    TimeAccount::of(&ranks, &hosts).map(Some)
}

pub(crate) fn of_hosts(ranks: &[RankWait]) -> BTreeMap<&str, Vec<&RankWait>> {
    let mut hosts: BTreeMap<&str, Vec<&RankWait>> = BTreeMap::new();
    for rank in ranks {
        hosts.entry(&rank.host).or_default().push(rank);
    }
    hosts
}

fn cost(wait: WaitMode, rank: &RankWait) -> RankCost {
    RankCost {
        rank: rank.rank,
        host: rank.host.clone(),
        run_seconds: rank.run_seconds,
        user_seconds: rank.user_seconds,
        system_seconds: rank.system_seconds,
        compute_seconds: compute_seconds(wait, rank),
        ready_seconds: rank.ready_seconds,
        waiting: WaitSeconds::Together(rank.blocked_seconds),
        counters: None,
    }
}

/// Returns user time without that of waiting. Ranks do not report the processor time of their calls by itself.
///
/// Ranks that sleep hardly use their processor while they wait, so it is all user time. Ranks that spin lose their
/// processor at any moment alike, so that they have it for the same share of the time inside and outside of MPI. Ranks
/// that yield lose it in calls of MPI above all, and nothing is known of them.
fn compute_seconds(wait: WaitMode, rank: &RankWait) -> Option<f64> {
    let cpu = rank.user_seconds + rank.system_seconds;
    let outside = (rank.run_seconds - rank.call_seconds).max(0.0);
    match wait {
        WaitMode::Block => Some(rank.user_seconds),
        WaitMode::Library if rank.run_seconds > 0.0 && rank.call_seconds.is_finite() => {
            Some((outside * (cpu / rank.run_seconds).min(1.0)).min(rank.user_seconds))
        }
        WaitMode::Library | WaitMode::Yield => None,
    }
}

/// Returns idle time of a host's processors: time in which fewer ranks could compute than there are processors. Ranks
/// that spin or yield while they wait leave the kernel no idle time, and other programs may use what they leave.
fn idle_seconds(settings: &SweepSettings, tlp: &[f64]) -> f64 {
    let n_processors = settings.processors_a_host();
    let lacking = (0..n_processors).map(|n| f64::from(n_processors - n));
    lacking.zip(tlp).fold(0.0, |sum, (lacking, seconds)| sum + lacking * seconds)
}

/// Returns the counters of the host: those of the rank that saw most of the run.
pub(crate) fn tlp_of<'a>(ranks: &[&'a RankWait]) -> Option<&'a [f64]> {
    let all = ranks.iter().filter_map(|rank| rank.tlp_seconds.as_deref());
    all.max_by(|a, b| a.iter().sum::<f64>().total_cmp(&b.iter().sum::<f64>()))
}

/// Returns the share of time in which at least `n` ranks of a host could compute (TLP_N), as the mean over all hosts of
/// these runs; `None` if none of them counted.
pub(crate) fn tlp_ratio(runs: &[&SweepRun], n: usize) -> Option<f64> {
    let hosts = runs.iter().flat_map(|run| of_hosts(&run.ranks).into_values());
    let share = |ranks: Vec<&RankWait>| {
        let tlp = tlp_of(&ranks)?;
        let all: f64 = tlp.iter().sum();
        (all > 0.0).then(|| tlp.iter().skip(n).fold(0.0, |sum, seconds| sum + seconds) / all)
    };
    let shares: Vec<f64> = hosts.filter_map(share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use mpi_analysis::account::Term;

    use super::*;
    use crate::plan::tests::settings;
    use crate::record::tests::{rank, run};

    #[test]
    fn processors_are_idle_while_fewer_ranks_can_compute_however_they_wait() {
        // Four ranks on two processors for 4 s: 1 s of user and 0.5 s of system time each.
        let mut seen = run(2, 0, 4.0);
        seen.ranks = (0..4).map(|number| rank(number, 4.0)).collect();
        for one in &mut seen.ranks {
            one.tlp_seconds = Some(vec![0.5, 1.5, 2.0]);
        }
        let sweep = settings(1);
        let of = |wait| account(&SweepSettings { wait, ..sweep.clone() }, &seen).unwrap().unwrap();
        assert_eq!(of(WaitMode::Block).mean[&Term::Idle], (2.0 * 0.5 + 1.5) / 2.0);
        // What the ranks' 6 s and 2.5 s idle leave of two processors for 4 s.
        assert_eq!(of(WaitMode::Block).mean[&Term::Unused], -0.5 / 2.0);
        assert_eq!(of(WaitMode::Yield).mean[&Term::Idle], (2.0 * 0.5 + 1.5) / 2.0);
        assert_eq!(of(WaitMode::Yield).mean.get(&Term::Unused), None);
        assert_eq!(of(WaitMode::Block).mean[&Term::Ready], 4.0 * 0.25 / 2.0);
        assert_eq!(tlp_ratio(&[&seen], 1), Some(3.5 / 4.0));
        assert_eq!(tlp_ratio(&[&seen], 3), Some(0.0));
    }

    #[test]
    fn user_time_of_waiting_is_left_out_where_ranks_spin_and_unknown_where_they_yield() {
        let one = rank(0, 4.0);
        let of = |wait| compute_seconds(wait, &one);
        // In MPI for 2 s of 4 s, with a processor for 1.5 s of them, of which 1 s is user time.
        assert_eq!([WaitMode::Block, WaitMode::Library, WaitMode::Yield].map(of), [Some(1.0), Some(0.75), None]);
    }

    #[test]
    fn a_run_with_ranks_that_did_not_report_has_no_account() {
        let mut seen = run(2, 0, 4.0);
        seen.ranks = vec![rank(0, 4.0)];
        assert_eq!(account(&settings(1), &seen), Ok(None));
    }
}
