//! Results of a sweep as a document: speed-ups, account, parallelism, calls, runs that do not count, verdict.

use mpi_analysis::account::{GainAccount, Term};
use mpi_run::{Document, MalformedRecord, Outcome, Section};
use statistics::Interval;
use text::figure::{bytes_per_sec, counted, number, percent, span_ns};

use crate::cost::tlp_ratio;
use crate::record::{SweepHost, SweepRun, kind};
use crate::speedup::{good, right_answer, runs};
use crate::verdict::gain_of;
use crate::{Speedup, SweepSettings, SweepVerdict, speedups};

/// Calls with a smaller share of the run time are left out (Table 3).
const CALL_RATIO_MIN: f64 = 0.04;
/// Nanoseconds in a second, the unit of printed spans.
const NS: f64 = 1e9;

/// Builds the document of a result.
///
/// # Errors
/// A record that is not what its kind says.
pub fn report(outcome: &Outcome) -> Result<Document, MalformedRecord> {
    let (settings, runs): (Vec<SweepSettings>, Vec<SweepRun>) = (outcome.all(kind::SETTINGS)?, runs(outcome)?);
    let hosts: Vec<SweepHost> = outcome.all(kind::HOST)?;
    let mut about = vec![format!("MPI: {}", outcome.header.mpi), format!("started: {}", outcome.header.started)];
    let mut sections = Vec::new();
    if let Some(settings) = settings.first() {
        about.extend(about_settings(settings));
        about.extend(hosts.last().map(|host| format!("SMT: {}", host.smt)));
        let verdict = SweepVerdict::of(settings, &runs);
        sections.push(of_speedups(settings, &runs));
        sections.extend(of_account(settings, &runs, hosts.last()));
        sections.extend(of_parallelism(settings, &runs));
        sections.extend(of_calls(&runs));
        sections.extend(of_failures(&runs));
        sections.push(of_verdict(settings, &verdict, &runs));
    }
    // Oversubscription, which headers warn of, is what is measured here.
    let broken = outcome.is_truncated.then(|| "the result breaks off in its last line".to_owned());
    let warnings =
        broken.into_iter().chain(settings.first().and_then(|settings| other_mode(settings, &runs))).collect();
    Ok(Document { title: "Overdecomposition".to_owned(), about, warnings, sections })
}

/// Returns a warning if ranks did not wait as they should.
fn other_mode(settings: &SweepSettings, runs: &[SweepRun]) -> Option<String> {
    let ranks = runs.iter().flat_map(|run| run.ranks.iter().map(|rank| (run.trial, rank)));
    let (trial, rank) = ranks.into_iter().find(|(_, rank)| rank.mode != settings.wait)?;
    let (asked, found) = (settings.wait.name(), rank.mode.name());
    Some(format!(
        "ranks waited by `{found}` instead of `{asked}`, first in {trial}: the figures are those of `{found}`"
    ))
}

fn about_settings(settings: &SweepSettings) -> Vec<String> {
    let hosts = match settings.hosts.len() {
        0 => "this host".to_owned(),
        n_hosts => counted(n_hosts as u64, "host"),
    };
    let SweepSettings { n_processors, n_repeats, wait, placing, .. } = settings;
    let processors = counted(u64::from(*n_processors), "processor");
    vec![
        format!("program: {}", settings.program.join(" ")),
        format!("{processors} of {hosts}, ranks placed {}; waits: {}", placing.name(), wait.name()),
        format!("{n_repeats} rounds with a run at each ratio, in random order (seed {})", settings.seed),
    ]
}

fn span(seconds: f64) -> String {
    span_ns(seconds * NS)
}

fn of_speedups(settings: &SweepSettings, runs: &[SweepRun]) -> Section {
    let row = |one: &Speedup| {
        vec![
            format!("{}:1", one.ratio),
            one.n_ranks.to_string(),
            one.n_runs.to_string(),
            span(one.mean_seconds),
            one.deviation_seconds.map_or_else(dash, span),
            one.speedup.map_or_else(dash, number),
            one.interval.map_or_else(dash, interval),
        ]
    };
    let columns = ["ratio", "ranks", "runs", "mean", "deviation", "speed-up", "95 %"];
    let answers = match (&settings.answer, right_answer(runs)) {
        (None, _) => "Answers were not compared: --answer finds them in the program's output.".to_owned(),
        (Some(_), None) => "No run at 1:1 printed an answer that --answer finds.".to_owned(),
        (Some(_), Some(right)) => format!("Runs that count have the answer `{right}`."),
    };
    let notes = ["Intervals hold for all ratios together, over pairs of runs of the same round.", &answers];
    Section::new("Speed-up over 1:1", &columns, speedups(settings, runs).iter().map(row).collect(), &notes)
}

fn dash() -> String {
    "-".to_owned()
}

fn interval(interval: Interval) -> String {
    format!("{} to {}", number(interval.lower), number(interval.upper))
}

/// Returns the account, a column for each ratio, if ranks reported.
fn of_account(settings: &SweepSettings, runs: &[SweepRun], host: Option<&SweepHost>) -> Option<Section> {
    let accounts: Vec<(u32, GainAccount)> = settings
        .ratios()
        .into_iter()
        .filter(|ratio| *ratio > 1)
        .filter_map(|ratio| Some((ratio, gain_of(settings, runs, ratio)?.1)))
        .collect();
    if accounts.is_empty() {
        let why = host.and_then(|host| host.counters.as_ref().err())?;
        return Some(Section::new("Account", &["not measurable"], vec![vec![why.clone()]], &[]));
    }
    let mut rows: Vec<Vec<String>> = Term::ALL.into_iter().filter_map(|term| term_row(term, &accounts)).collect();
    let has_counters = accounts.iter().all(|(_, account)| account.has_counters);
    if !has_counters {
        for term in [Term::Memory, Term::Tlb] {
            rows.push(row(term.name(), &accounts, |_| "not measurable: no counters".to_owned()));
        }
    }
    let of = |seconds: fn(&GainAccount) -> f64| move |account: &GainAccount| span(seconds(account));
    rows.push(row("estimated gain", &accounts, of(|account| account.estimated_seconds)));
    rows.push(row("measured gain", &accounts, of(|account| account.measured_seconds)));
    rows.push(row("residual", &accounts, of(|account| account.residual_seconds)));
    rows.push(row("residual by run time", &accounts, |account| percent(account.residual_ratio())));
    let columns: Vec<String> =
        std::iter::once(String::new()).chain(accounts.iter().map(|(ratio, _)| format!("{ratio}:1"))).collect();
    let biases = Term::ALL.into_iter().filter(|term| !term.bias().is_empty() && has(*term, &accounts));
    let biases: Vec<String> = biases.map(|term| format!("{}: {}.", term.name(), term.bias())).collect();
    let notes: Vec<&str> = std::iter::once(ACCOUNT_NOTE).chain(biases.iter().map(String::as_str)).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Some(Section::new("Account: growth over 1:1, per processor", &columns, rows, &notes))
}

/// Text below the account.
const ACCOUNT_NOTE: &str = "Estimated gain: decrease of idle less increase of system time, memory and TLB wait. Behind each growth is its standard deviation.";

fn has(term: Term, accounts: &[(u32, GainAccount)]) -> bool {
    accounts.iter().any(|(_, account)| account.growth(term).is_some())
}

fn row(name: &str, accounts: &[(u32, GainAccount)], cell: impl Fn(&GainAccount) -> String) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(accounts.iter().map(|(_, account)| cell(account))).collect()
}

fn term_row(term: Term, accounts: &[(u32, GainAccount)]) -> Option<Vec<String>> {
    let cell = |account: &GainAccount| {
        let change = account.changes.iter().find(|change| change.term == term);
        change.map_or_else(dash, |change| {
            let spread = change.spread_seconds.map_or_else(String::new, |spread| format!(" +- {}", span(spread)));
            format!("{}{spread}", span(change.growth_seconds))
        })
    };
    has(term, accounts).then(|| row(term.name(), accounts, cell))
}

/// Returns TLP_N of each ratio, for N up to the ranks of a host.
fn of_parallelism(settings: &SweepSettings, runs: &[SweepRun]) -> Option<Section> {
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
fn of_calls(runs: &[SweepRun]) -> Option<Section> {
    let base: Vec<&SweepRun> = good(runs).into_iter().filter(|run| run.trial.ratio == 1).collect();
    let calls = crate::CallWait::merged(base.iter().flat_map(|run| run.calls.iter().cloned()));
    let whole: f64 = base.iter().flat_map(|run| &run.ranks).map(|rank| rank.run_seconds).sum();
    let large = calls.iter().filter(|call| call.seconds >= CALL_RATIO_MIN * whole);
    let row = |call: &crate::CallWait| {
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

/// Returns the runs that do not count, with the reason.
fn of_failures(runs: &[SweepRun]) -> Option<Section> {
    let right = right_answer(runs);
    let other_answer = |run: &SweepRun| {
        let is_other = right.is_some() && run.answer.as_deref() != right;
        let answer = || {
            run.answer.as_ref().map_or("it printed no answer".to_owned(), |given| format!("its answer is `{given}`"))
        };
        is_other.then(answer)
    };
    let reason = |run: &SweepRun| run.end.fault().or_else(|| other_answer(run));
    let row = |run: &SweepRun| {
        let words = run.error.as_deref().unwrap_or_default().lines().last().unwrap_or_default().to_owned();
        Some(vec![run.trial.to_string(), reason(run)?, words])
    };
    let rows: Vec<Vec<String>> = runs.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Section::new("Runs that do not count", &["run", "reason", "error"], rows, &[]))
}

fn of_verdict(settings: &SweepSettings, verdict: &SweepVerdict, runs: &[SweepRun]) -> Section {
    let mut rows = vec![vec!["best ratio".to_owned(), headline(settings, verdict, runs)]];
    let limits = verdict.limits.iter().map(|limit| format!("{}: {}", limit.limiter.name(), limit.reason));
    rows.extend(limits.map(|limit| vec!["limited by".to_owned(), limit]));
    let unknown = || "not measurable: not all ranks reported";
    if verdict.account.is_none() && verdict.candidate.is_some() {
        rows.push(vec!["limited by".to_owned(), unknown().to_owned()]);
    }
    if let (Some(account), Some(candidate)) = (&verdict.account, &verdict.candidate) {
        let grown = verdict.grown_most().map_or_else(
            || "none grew by 2 % of the run time at 1:1".to_owned(),
            |change| {
                let share = percent(change.growth_seconds / account.base_seconds);
                format!("{}, by {share} of the run time at 1:1", change.term)
            },
        );
        rows.push(vec![format!("overhead that grew most at {}:1", candidate.ratio), grown]);
    }
    Section::new("Verdict", &["question", "answer"], rows, &[])
}

fn headline(settings: &SweepSettings, verdict: &SweepVerdict, runs: &[SweepRun]) -> String {
    let Some(candidate) = &verdict.candidate else {
        let has_base = good(runs).iter().any(|run| run.trial.ratio == 1);
        return if has_base { "none: no run above 1:1 counts" } else { "none: no run at 1:1 counts" }.to_owned();
    };
    let (ratio, speedup) = (candidate.ratio, number(candidate.speedup.unwrap_or(f64::NAN)));
    match candidate.interval {
        None => format!(
            "not known: {ratio}:1 is {speedup} times as fast as 1:1, but one round is no ground: use --repeat 3 or more"
        ),
        Some(range) if range.lower > 1.0 => {
            format!("{ratio}:1, {speedup} times as fast as 1:1 (95 %: {})", interval(range))
        }
        Some(range) => {
            let runs = counted(u64::from(settings.n_repeats), "round");
            format!(
                "no gain: the fastest above 1:1, {ratio}:1, is {speedup} times as fast (95 %: {}, {runs})",
                interval(range)
            )
        }
    }
}
