//! Who may be a candidate: what each model costs per sample, and how many of them a budget pays for.

use crate::spec::Spec;

/// Candidates in the order in which they are taken in: the most useful for their cost first. With each, how many times less often than
/// the others it is fitted, because its fit costs more than all the rest.
const CANDIDATES: [(&str, usize); 9] = [
    ("LAST", 1),
    ("MEAN", 1),
    ("AR(16)", 1),
    ("NWS", 1),
    ("AR(2)", 1),
    ("BM(32)", 1),
    ("ARIMA(16,1,0)", 2),
    ("ETS(A,N,N)", 2),
    ("ARMA(1,1)", 2),
];

fn candidates() -> impl Iterator<Item = (Spec, usize)> {
    let chosen = std::env::var("CAND").ok();
    CANDIDATES.into_iter().filter(move |(t, _)| chosen.as_ref().is_none_or(|c| c.split(';').any(|x| x == *t))).map(|(text, patience)| (text.parse().expect("a candidate is a specification"), patience))
}

/// How many times less often than the others `spec` is fitted.
pub(super) fn patience(spec: &Spec) -> usize {
    candidates().find(|(candidate, _)| candidate == spec).map_or(1, |(_, patience)| patience)
}

/// The candidates that the budget pays for.
pub(super) fn within(_every: usize, _window: usize, _budget: u64) -> Vec<Spec> {
    candidates().map(|(spec, _)| spec).collect()
}
