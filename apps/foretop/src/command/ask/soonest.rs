//! Resources that will be exhausted, soonest first, as a table.

use std::time::Duration;

use node_api as api;
use text::{Align, Table, figure};

use super::sentence::{chance, duration, length};

const COLUMNS: [&str; 8] = ["SIGNAL", "HOST", "EXHAUSTED AT", "IN", "80 % INTERVAL", "PROBABILITY", "LINE", "NOW"];

/// Returns a row for each of the resources, and a line about the others.
pub(super) fn soonest(list: &api::ExhaustionList) -> String {
    let mut table = Table::new(&COLUMNS.map(|name| (name, Align::Left)));
    list.resources.iter().for_each(|resource| table.row(row(resource)));
    let table = if list.resources.is_empty() { String::new() } else { table.to_string() };
    let others = [
        (list.n_lasting, "will probably last"),
        (list.n_too_young, "known for too short a time"),
        (list.n_silent, "without samples in the last 5 min"),
    ];
    let others = others.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let others = others.collect::<Vec<_>>().join(", ");
    match (list.resources.is_empty(), others.is_empty()) {
        (true, true) => "The node measures no resource that can be exhausted.\n".to_owned(),
        (true, false) => format!("No resource is known to be exhausted soon: {others}.\n"),
        (false, true) => table,
        (false, false) => format!("{table}Others: {others}.\n"),
    }
}

fn row(resource: &api::Exhaustion) -> [String; 8] {
    let api::Exhaustion { id, host, unit, rises, line, last, is_exhausted, within_seconds, probability, after, .. } =
        resource;
    let end = resource.origin + duration(resource.step_seconds);
    // More digits than minutes have no meaning.
    let at = |seconds| (end + duration(seconds)).floor_to(Duration::from_secs(60)).to_string();
    let spent = |seconds: Option<f64>| seconds.map_or_else(|| format!("more than {}", length(*within_seconds)), length);
    let (moment, wait, interval, probability) = match after.p50_seconds {
        _ if *is_exhausted => ("now".to_owned(), String::new(), String::new(), String::new()),
        seconds => (
            seconds.map_or_else(|| format!("after {}", at(*within_seconds)), at),
            spent(seconds),
            format!("{} to {}", spent(after.p10_seconds), spent(after.p90_seconds)),
            format!("{} in {}", chance(*probability), length(*within_seconds)),
        ),
    };
    let line = format!("{} {}", if *rises { '>' } else { '<' }, figure::format_short(*line, unit));
    [id.clone(), host.clone(), moment, wait, interval, probability, line, figure::format_short(*last, unit)]
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    const DAY: f64 = 86_400.0;

    fn resource(id: &str, days: [Option<f64>; 3]) -> api::Exhaustion {
        let [p10_seconds, p50_seconds, p90_seconds] = days.map(|days| Some(days? * DAY));
        api::Exhaustion {
            id: id.to_owned(),
            host: "db1".to_owned(),
            unit: "ratio".to_owned(),
            rises: true,
            line: 0.95,
            last: 0.87,
            is_exhausted: false,
            within_seconds: 14.0 * DAY,
            probability: 0.93,
            after: api::Passage { p10_seconds, p50_seconds, p90_seconds },
            origin: Timestamp::from_nanos(0),
            step_seconds: 3600.0,
            history_seconds: DAY,
        }
    }

    #[test]
    fn each_resource_has_a_date_an_interval_and_a_probability() {
        let soon = resource("filesystem./.used", [Some(2.0), Some(3.0), Some(5.5)]);
        let perhaps = api::Exhaustion { probability: 0.2, ..resource("filesystem./a.used", [Some(9.0), None, None]) };
        let over = api::Exhaustion { is_exhausted: true, last: 0.97, ..resource("b\n", [None; 3]) };
        let list =
            api::ExhaustionList { resources: vec![over, soon, perhaps], n_lasting: 4, n_too_young: 1, n_silent: 0 };
        expect_test::expect![[r#"
            SIGNAL              HOST  EXHAUSTED AT                IN             80 % INTERVAL        PROBABILITY  LINE      NOW
            b�                  db1   now                                                                          > 95.0 %  97.0 %
            filesystem./.used   db1   1970-01-04T01:00:00Z        3d             2d to 5d 12h         93 % in 14d  > 95.0 %  87.0 %
            filesystem./a.used  db1   after 1970-01-15T01:00:00Z  more than 14d  9d to more than 14d  20 % in 14d  > 95.0 %  87.0 %
            Others: 4 will probably last, 1 known for too short a time.
        "#]]
        .assert_eq(&soonest(&list));
    }

    #[test]
    fn without_a_resource_it_says_why() {
        let list = |n_lasting| api::ExhaustionList { resources: vec![], n_lasting, n_too_young: 0, n_silent: 2 };
        assert_eq!(
            soonest(&list(3)),
            "No resource is known to be exhausted soon: 3 will probably last, 2 without samples in the last 5 min.\n"
        );
    }
}
