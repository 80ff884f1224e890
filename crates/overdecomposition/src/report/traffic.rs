//! Parallelism, calls and advice, as tables.

use mpi_run::Section;
use text::figure::{bytes_per_sec, counted, number, percent};

use crate::cost::tlp_ratio;
use crate::record::SweepRun;
use crate::speedup::good;
use crate::{CallWait, CommunicationProfile, MessageTraffic, PublishedFinding, RankWait, SweepAdvice, SweepSettings};

/// Calls with a smaller share of the run time are left out (Table 3).
const CALL_RATIO_MIN: f64 = 0.04;

/// Returns TLP_N of each ratio, for N up to the ranks of a host.
pub(super) fn of_parallelism(settings: &SweepSettings, runs: &[SweepRun]) -> Option<Section> {
    let n_ranks_max = settings.ranks.last()? / u32::try_from(settings.hosts.len().max(1)).ok()?;
    let levels: Vec<u32> = (0..16).map(|power| 1 << power).take_while(|n| *n <= n_ranks_max).collect();
    let good = good(runs);
    let cells = |ratio: u32| {
        let these: Vec<&SweepRun> = good.iter().copied().filter(|run| run.trial.ratio == ratio).collect();
        let shares = levels.iter().map(|n| tlp_ratio(&these, *n as usize)).collect::<Option<Vec<f64>>>()?;
        Some(std::iter::once(format!("{ratio}:1")).chain(shares.into_iter().map(percent)).collect::<Vec<String>>())
    };
    let rows: Vec<Vec<String>> = settings.ratios().into_iter().filter_map(cells).collect();
    let names: Vec<String> = levels.iter().map(|n| format!("TLP_{n}")).collect();
    let columns: Vec<&str> = std::iter::once("ratio").chain(names.iter().map(String::as_str)).collect();
    let note = format!(
        "TLP_N is the share of time in which at least N ranks of a host could compute, on {} of a host.",
        counted(u64::from(settings.processors_a_host()), "processor")
    );
    (!rows.is_empty()).then(|| Section::new("Thread-level parallelism", &columns, rows, &[&note]))
}

/// Returns the calls at 1:1 that take longest.
pub(super) fn of_calls(runs: &[SweepRun]) -> Option<Section> {
    let base: Vec<&SweepRun> = good(runs).into_iter().filter(|run| run.trial.ratio == 1).collect();
    let calls = CallWait::merged(base.iter().flat_map(|run| run.calls.iter().cloned()));
    let whole: f64 = base.iter().flat_map(|run| &run.ranks).map(|rank| rank.run_seconds).sum();
    let large = calls.iter().filter(|call| call.seconds >= CALL_RATIO_MIN * whole);
    let row = |call: &CallWait| {
        vec![
            call.call.clone(),
            percent(call.seconds / whole),
            percent(call.blocked_seconds / whole),
            (call.calls / base.len() as u64).to_string(),
            number(call.bytes as f64 / call.calls.max(1) as f64),
            bytes_per_sec(call.bytes as f64 / call.seconds),
        ]
    };
    let columns = ["call", "of run time", "blocked", "calls a run", "bytes a call", "rate"];
    let note = "Calls with less than 4 % of the run time are left out.";
    (!calls.is_empty()).then(|| Section::new("Calls at 1:1", &columns, large.map(row).collect(), &[note]))
}

/// Returns the advice from the runs that were made for it, else from those at 1:1.
pub(super) fn advice(advised: &[SweepRun], runs: &[SweepRun]) -> Option<SweepAdvice> {
    let base = good(runs).into_iter().filter(|run| run.trial.ratio == 1);
    let these: Vec<&SweepRun> = if advised.is_empty() { base.collect() } else { advised.iter().collect() };
    let ranks: Vec<RankWait> = these.iter().flat_map(|run| run.ranks.iter().cloned()).collect();
    let calls = CallWait::merged(these.iter().flat_map(|run| run.calls.iter().cloned()));
    CommunicationProfile::of(&ranks, &calls).map(SweepAdvice::of)
}

pub(super) fn of_advice(advice: &SweepAdvice) -> Section {
    let row = |name: &str, answer: String| vec![name.to_owned(), answer];
    let finding = match advice.finding {
        PublishedFinding::Gain => "gain",
        PublishedFinding::NoGain => "no gain",
        PublishedFinding::Unknown => "not known",
    };
    let profile = &advice.profile;
    let traffic = |traffic: &MessageTraffic, more: &str| {
        let MessageTraffic { per_rank_second, mean_bytes } = traffic;
        format!("{} a second and rank of {} B{more}", number(*per_rank_second), number(*mean_bytes))
    };
    let asynchronous = format!(", {} of them asynchronous", percent(profile.async_ratio));
    let in_collectives = format!(", {} of the time in MPI", percent(profile.collective_ratio));
    let bounds = BOUNDED.map(|ratio| format!("{ratio}:1 {}", number(advice.bound(ratio)))).join(", ");
    let rows = vec![
        row("the papers found", format!("{finding}: {}", advice.reason)),
        row("communication", format!("{} of the run time", percent(profile.communication_ratio))),
        row("messages", traffic(&profile.messages, &asynchronous)),
        row("collectives", traffic(&profile.collectives, &in_collectives)),
        row("bound of the speed-up", bounds),
    ];
    let note = "The bound is (C + D) / max(C, C / N + D) for C of computing and D of waiting at 1:1, if all waiting is latency.";
    Section::new("Advice from 1:1", &["question", "answer"], rows, &[note])
}

/// Ratios above 1:1 whose bounds are printed: the paper's.
const BOUNDED: [u32; 5] = [2, 4, 8, 16, 32];
