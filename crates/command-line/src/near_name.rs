//! What may have been meant by a name that does not exist.

use node_api::{Client, ClientError, ErrorCode};

/// How alike two names have to be for one to be suggested for the other (1 is equal).
const LIKENESS_MIN: f64 = 0.8;
/// More than this is a list, not a hint.
const N_NEAR_MAX: usize = 3;

/// `error`; where the node does not know `signal`, with the names that may have been meant.
pub fn explain_unknown_signal(client: &Client, signal: &str, error: ClientError) -> anyhow::Error {
    if error.code() != Some(ErrorCode::UnknownSeries) {
        return error.into();
    }
    let Ok(list) = client.list() else { return error.into() };
    let names = list.series.iter().flat_map(|series| series.aliases.iter().chain([&series.id]));
    match &near(signal, names.map(String::as_str))[..] {
        [] => anyhow::anyhow!("there is no signal `{signal}`; `foretop signals --node {}` lists them", client.url()),
        near => anyhow::anyhow!("there is no signal `{signal}`; did you mean {}?", near.join(", ")),
    }
}

/// The same of the signals of an expression.
pub fn explain_unknown_signals(client: &Client, signals: &[String], error: ClientError) -> anyhow::Error {
    let is_unknown =
        |signal: &&String| client.detail(signal).is_err_and(|error| error.code() == Some(ErrorCode::UnknownSeries));
    match signals.iter().find(is_unknown) {
        Some(unknown) => explain_unknown_signal(client, unknown, error),
        None => error.into(),
    }
}

/// The names most like `wanted`, or that contain it: a few, the likeliest first.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |name: &str| {
        let part = if !wanted.is_empty() && name.contains(wanted) { 0.9 } else { 0.0 };
        strsim::jaro_winkler(wanted, name).max(part)
    };
    let mut scored: Vec<(f64, &str)> =
        names.map(|name| (likeness(name), name)).filter(|(score, _)| *score >= LIKENESS_MIN).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().map(|(_, name)| name).take(N_NEAR_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name() {
        let names = ["cpu.availability", "cpu.busy", "load.1m", "load.5m"];
        assert_eq!(near("cpu.availabilty", names.into_iter())[0], "cpu.availability");
        assert_eq!(near("load", names.into_iter()), ["load.1m", "load.5m"]);
        assert!(near("zebra", names.into_iter()).is_empty());
    }
}
