//! Results of a sweep as a document: speed-ups, account, parallelism, calls, runs that do not count, verdict.

mod account;
mod traffic;

use mpi_run::{Document, MalformedRecord, Outcome, Section};
use statistics::Interval;
use text::figure::{counted, number, percent, span_ns};

use self::account::{of_account, of_phases};
use self::traffic::{advice, of_advice, of_calls, of_parallelism};
use crate::record::{SweepHost, SweepRun, kind};
use crate::speedup::{good, right_answer, runs};
use crate::verdict::disturbed_ratio;
use crate::{Limiter, PublishedKernel, Speedup, SweepSettings, SweepVerdict, speedups};

/// Speed-up below which a gain would matter to nobody, so that an interval below it shows that there is none.
const GAIN_MIN: f64 = 1.05;
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
        let threads = if settings.uses_smt { "" } else { "; ranks use one thread of each core" };
        about.extend(hosts.last().map(|host| format!("SMT: {}{threads}", host.smt)));
        let verdict = SweepVerdict::of(settings, &runs);
        if !runs.is_empty() {
            sections.push(of_speedups(settings, &runs));
        }
        sections.extend(of_account(settings, &runs, hosts.last()));
        sections.extend(of_phases(settings, &runs, verdict.candidate.as_ref().map(|one| one.ratio)));
        sections.extend(of_parallelism(settings, &runs));
        sections.extend(of_calls(&runs));
        let advised: Vec<SweepRun> = outcome.all(kind::ADVISED)?;
        sections.extend(of_failures(&runs));
        sections.extend(advice(&advised, &runs).map(|advice| of_advice(&advice)));
        if !runs.is_empty() {
            sections.push(of_verdict(settings, &verdict, &runs));
            let kernel = PublishedKernel::of_program(&settings.program);
            sections.extend(kernel.map(|kernel| of_published(kernel, &verdict)));
        }
    }
    // Oversubscription, which headers warn of, is what is measured here.
    let broken = outcome.is_truncated.then(|| "the result breaks off in its last line".to_owned());
    let disturbed = settings.first().and_then(|settings| disturbed(settings, &runs));
    let warnings = broken
        .into_iter()
        .chain(disturbed)
        .chain(settings.first().and_then(|settings| other_mode(settings, &runs)))
        .collect();
    Ok(Document { title: "Overdecomposition".to_owned(), about, warnings, sections })
}

/// Returns a warning if other programs used the processors: several ranks get more of a processor than one.
fn disturbed(settings: &SweepSettings, runs: &[SweepRun]) -> Option<String> {
    let share = percent(disturbed_ratio(settings, runs)?);
    Some(format!(
        "processors were unused for {share} of the time at 1:1 although ranks could compute: if other programs had them, a gain may be a larger share of them"
    ))
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
    // Rounded to what can be told, and without the sign of a negative zero.
    span_ns((seconds * NS).round() + 0.0)
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

/// Returns what was published of a kernel beside what was found here.
fn of_published(kernel: &PublishedKernel, verdict: &SweepVerdict) -> Section {
    let names = |limits: &mut dyn Iterator<Item = Limiter>| limits.map(Limiter::name).collect::<Vec<_>>().join(", ");
    let row = |what: &str, published: String, here: String| vec![what.to_owned(), published, here];
    let speedup = verdict.candidate.as_ref().and_then(|one| one.speedup).map_or_else(dash, number);
    let with_smt = if kernel.needs_smt { " with SMT" } else { "" };
    let here = names(&mut verdict.limits.iter().map(|limit| limit.limiter));
    let grown = verdict.grown_most().map_or("none".to_owned(), |change| change.term.name().to_owned());
    let rows = vec![
        row("best speed-up", format!("{}{with_smt}", number(kernel.best)), speedup),
        row("limits", names(&mut kernel.limits.iter().copied()), here),
        row("overheads that grew most", kernel.grown.to_owned(), grown),
    ];
    Section::new(&format!("{} in the paper", kernel.name.to_uppercase()), &["", "published", "here"], rows, &[])
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
            let rounds = counted(u64::from(settings.n_repeats), "round");
            let found =
                format!("the fastest above 1:1, {ratio}:1, is {speedup} times as fast (95 %: {})", interval(range));
            match range.upper > GAIN_MIN {
                false => format!("no gain: {found}"),
                true => format!("no gain is shown by {rounds}: {found}; more rounds may show one, or none"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::settings;
    use crate::record::tests::run;

    #[test]
    fn no_gain_is_a_finding_only_where_the_interval_leaves_none() {
        let told = |of_2: [f64; 3]| {
            let rounds = of_2.into_iter().enumerate();
            let runs: Vec<SweepRun> = rounds
                .flat_map(|(round, seconds)| [run(1, round as u32, 10.0), run(2, round as u32, seconds)])
                .collect();
            headline(&settings(3), &SweepVerdict::of(&settings(3), &runs), &runs)
        };
        assert!(told([7.0, 7.1, 7.2]).starts_with("2:1, 1.41 times as fast as 1:1"));
        assert!(told([10.0, 10.02, 10.04]).starts_with("no gain: the fastest above 1:1, 2:1, is 1.00"));
        let undecided = told([4.0, 7.0, 11.0]);
        assert!(undecided.starts_with("no gain is shown by 3 rounds") && undecided.ends_with("or none"), "{undecided}");
    }
}
