//! Names that may have been meant by a name that does not exist.

use node_api::{Client, ClientError, ErrorCode};

/// Least likeness of two names for one to be suggested for the other (1 is equal).
const LIKENESS_MIN: f64 = 0.8;
/// Largest number of names in a hint; more are a list.
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

/// The names most like `wanted`, or that contain it: a few others, the likeliest first. Of equal ones, those with fewer
/// dots come first, and then those that `names` has first.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |name: &str| {
        let is_slip = wanted.len() > 2 && strsim::osa_distance(wanted, name) == 1;
        let is_part = !wanted.is_empty() && name.contains(wanted);
        let least = if is_slip {
            0.95
        } else if is_part {
            0.9
        } else {
            0.0
        };
        strsim::jaro_winkler(wanted, name).max(least)
    };
    let mut scored: Vec<(f64, &str)> = names
        .filter(|name| *name != wanted)
        .map(|name| (likeness(name), name))
        .filter(|(score, _)| *score >= LIKENESS_MIN)
        .collect();
    let n_dots = |name: &str| name.matches('.').count();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(n_dots(a.1).cmp(&n_dots(b.1))));
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
        assert_eq!(near("load.1m", names.into_iter()), ["load.5m"]);
        assert_eq!(near("tpo", ["top", "token", "up"].into_iter()), ["top"]);
    }

    #[test]
    fn of_many_that_contain_it_the_plainest_come_first() {
        let names = ["cpu.0.guest", "cpu.availability", "cpu.availability.vmstat", "cpu.busy", "cpu.10.user"];
        assert_eq!(near("cpu", names.into_iter()), ["cpu.availability", "cpu.busy", "cpu.0.guest"]);
    }
}
