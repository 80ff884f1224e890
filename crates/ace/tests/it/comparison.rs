//! Results compared: chance makes no change, a change is found where it is, and circumstances are told first.

use ace::{Comparison, ComparisonError, CyclePart, Figure, Sizes, Subject, compare};
use mpi_run::{Header, Outcome};
use units::Confidence;

use crate::made::{Made, application, header, sweep};

#[track_caller]
fn compared(first: &Outcome, second: &Outcome) -> Comparison {
    compare(first, second, Confidence::P95, 1).unwrap()
}

fn made(made: Made) -> Outcome {
    made.outcome(&header(), &application())
}

#[test]
fn two_runs_that_differ_by_chance_have_not_changed() {
    let n_changed = (0..12)
        .filter(|seed| {
            let (first, second) =
                (Made { seed: 2 * seed + 1, ..Made::default() }, Made { seed: 2 * seed + 2, ..Made::default() });
            !compared(&made(first), &made(second)).changes.is_empty()
        })
        .count();
    // Each with 5 % at most; more than 3 of 12 would be by chance once in 400 times.
    assert!(n_changed <= 3, "{n_changed} of 12");
}

#[test]
fn a_slower_exchange_is_found_on_its_rank() {
    let first = made(Made::default());
    let second = made(Made { seed: 2, communication_ns: [50_000.0, 60_000.0], ..Made::default() });
    let comparison = compared(&first, &second);
    assert_eq!(comparison.circumstances, [""; 0]);
    let found: Vec<_> = comparison.changes.iter().map(|change| (&change.subject, change.figure)).collect();
    let part = |part| Subject::Part { application: "a1".to_owned(), rank: 1, part };
    for figure in [Figure::Median, Figure::Percentile99] {
        assert!(found.contains(&(&part(CyclePart::Communication), figure)), "{comparison:#?}");
    }
    assert!(
        found.iter().all(|(subject, _)| [part(CyclePart::Communication), part(CyclePart::Cycle)].contains(subject)),
        "{found:?}"
    );
    let exchange = &comparison.changes[0];
    assert!(exchange.ratio.unwrap().contains(1.2), "{exchange:?}");
    let table = comparison.table();
    assert!(table.contains("  a1, rank 1, exchange, median: 50.0 us -> 60."), "{table}");
}

#[test]
fn wider_dispersion_shows_in_the_tail_alone() {
    let first = made(Made::default());
    let wide = |outcome: &Outcome| {
        let mut outcome = outcome.clone();
        for (kind, content) in &mut outcome.records {
            if kind == "ace.rank" {
                let p99 = content["communication"]["p99_ns"].as_f64().unwrap();
                content["communication"]["p99_ns"] = (20.0 * p99).into();
                content["communication"]["max_ns"] = (30.0 * p99).into();
                content["communication"]["p95_ns"] = (1.1 * p99).into();
            }
        }
        outcome
    };
    let comparison = compared(&first, &wide(&first));
    assert_eq!(comparison.changes.len(), 2, "{comparison:#?}");
    assert!(comparison.changes.iter().all(|change| change.figure == Figure::Percentile99), "{comparison:#?}");
}

#[test]
fn circumstances_that_differ_are_told_first() {
    let mut other = header();
    other.mpi = "MPICH 4.0.2".to_owned();
    other.ranks.iter_mut().for_each(|place| {
        place.host = "elsewhere".to_owned();
        place.cpus = vec![0];
        place.calibration.turns_per_ns = 1.1;
    });
    let mut larger = application();
    larger.size = "1MiB".parse::<Sizes>().unwrap();
    let comparison = compared(&made(Made::default()), &Made::default().outcome(&other, &larger));
    let told = comparison.circumstances.join("\n");
    for part in [
        "MPI: Open MPI v4.1.4 before, MPICH 4.0.2 after",
        "hosts: node before, elsewhere after",
        "cores that ranks may run on: 0, 1 before, 0, 0 after",
        "worked 10.0 % faster after",
        "after: 2 ranks share 1 cores of elsewhere",
        "size of application `a1`: 64KiB before, 1MiB after",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    assert!(comparison.table().starts_with("NOT THE SAME: MPI"), "{}", comparison.table());
}

#[test]
fn a_busy_machine_is_a_circumstance() {
    let busy = made(Made { away_ratio: 0.482, ..Made::default() });
    let comparison = compared(&made(Made::default()), &busy);
    let told = |rank| format!("after: rank {rank} of application `a1` was off its core for 48.2 %");
    assert_eq!(comparison.circumstances, [told(0), told(1)]);
}

#[test]
fn applications_of_other_names_are_not_compared() {
    let mut renamed = application();
    renamed.name = "b".to_owned();
    let comparison = compared(&made(Made::default()), &Made::default().outcome(&header(), &renamed));
    assert_eq!(
        comparison.omissions,
        ["application `a1` is in the first result only", "application `b` is in the second result only"]
    );
}

#[test]
fn what_is_no_result_of_ace_is_refused() {
    let noise = Header { program: "noise".to_owned(), ..header() };
    let error = compare(&made(Made::default()), &Made::default().outcome(&noise, &application()), Confidence::P95, 1)
        .unwrap_err();
    assert!(matches!(error, ComparisonError::Program { which: "second", .. }), "{error}");
    let empty = Outcome { records: Vec::new(), ..made(Made::default()) };
    assert!(matches!(compare(&empty, &empty, Confidence::P95, 1), Err(ComparisonError::Nothing)));
}

#[test]
fn sweeps_are_compared_run_by_run() {
    let comparison = compared(&sweep(8, 1.0, 1), &sweep(8, 1.0, 2));
    assert_eq!((comparison.changes.len(), comparison.n_unchanged), (0, 48), "{comparison:#?}");
    let comparison = compared(&sweep(8, 1.0, 1), &sweep(8, 1.2, 2));
    assert_eq!(comparison.changes.len(), 16, "{comparison:#?}");
    let is_ring = |subject: &Subject| matches!(subject, Subject::Runs { settings } if settings.contains("ring"));
    assert!(comparison.changes.iter().all(|change| is_ring(&change.subject) && (0.1..0.3).contains(&change.share())));
}

#[test]
fn a_run_each_tells_nothing_of_what_differs_from_run_to_run() {
    let comparison = compared(&sweep(1, 1.0, 1), &sweep(1, 2.0, 2));
    assert!(comparison.changes.is_empty());
    assert_eq!(comparison.omissions.len(), 48);
    assert!(
        comparison.omissions[0].contains("1 and 1 runs; a test of run times needs 4 of each"),
        "{}",
        comparison.omissions[0]
    );
}
