//! Account of each ratio, as a table with a column for each.

use mpi_analysis::account::{GainAccount, Term};
use mpi_run::Section;
use text::figure::percent;

use super::{dash, span};
use crate::SweepSettings;
use crate::record::{SweepHost, SweepRun};
use crate::speedup::good;
use crate::verdict::gain_of;

/// Returns the account, a column for each ratio, if ranks reported.
pub(super) fn of_account(settings: &SweepSettings, runs: &[SweepRun], host: Option<&SweepHost>) -> Option<Section> {
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
    rows.push(row("residual by run time", &accounts, |account| {
        percent((account.residual_ratio() * 1e6).round() / 1e6 + 0.0)
    }));
    let columns: Vec<String> =
        std::iter::once(String::new()).chain(accounts.iter().map(|(ratio, _)| format!("{ratio}:1"))).collect();
    let is_counted = has(Term::Unused, &accounts);
    let is_biased = |term: &Term| !(term.bias().is_empty() || *term == Term::Idle && is_counted);
    let biases = Term::ALL.into_iter().filter(|term| is_biased(term) && has(*term, &accounts));
    let biases: Vec<String> = biases.map(|term| format!("{}: {}.", term.name(), term.bias())).collect();
    let blind = (!has_counters).then_some(if has(Term::Compute, &accounts) { BLIND_NOTE } else { BLINDEST_NOTE });
    let notes: Vec<&str> =
        std::iter::once(ACCOUNT_NOTE).chain(blind).chain(biases.iter().map(String::as_str)).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Some(Section::new("Account: growth over 1:1, per processor", &columns, rows, &notes))
}

/// Returns the account of each phase at one ratio, a row for each, if the program marks phases.
pub(super) fn of_phases(settings: &SweepSettings, runs: &[SweepRun], ratio: Option<u32>) -> Option<Section> {
    let ratio = ratio?;
    let good = good(runs);
    let levels = good.iter().find(|run| run.trial.ratio == ratio)?.phase_levels();
    let name = |level: Option<i64>| level.map_or("before the first".to_owned(), |level| level.to_string());
    let row = |level: Option<i64>| {
        let of_phase: Vec<SweepRun> = good.iter().map(|run| run.in_phase(level)).collect();
        let (_, account) = gain_of(settings, &of_phase, ratio)?;
        let growth = [Term::Idle, Term::System, Term::Compute].map(|term| account.growth(term).map_or_else(dash, span));
        let gains = [account.estimated_seconds, account.measured_seconds, account.residual_seconds].map(span);
        Some([vec![name(level), span(account.base_seconds)], growth.to_vec(), gains.to_vec()].concat())
    };
    let rows: Vec<Vec<String>> = levels.into_iter().filter_map(row).collect();
    let columns = ["MPI_Pcontrol", "at 1:1", "idle", "system", "user", "estimated", "measured", "residual"];
    let title = format!("Account of phases: growth from 1:1 to {ratio}:1, per processor");
    (!rows.is_empty()).then(|| Section::new(&title, &columns, rows, &[PHASE_NOTE]))
}

/// Text below the account of phases.
const PHASE_NOTE: &str = "A phase is all time after calls of MPI_Pcontrol with one level, up to the next call.";

/// Text below an account without counters.
const BLIND_NOTE: &str =
    "Without counters the residual is what grew of time that was unused while ranks could compute.";
/// Text below an account without counters and user time.
const BLINDEST_NOTE: &str =
    "User time of ranks that yield is not known, so that the estimate lacks memory and TLB wait.";
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
