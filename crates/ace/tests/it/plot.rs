//! Pictures of results.

use ace::Ace;
use mpi_run::{Measurement, Outcome};
use picture::Picture;

use crate::made::{Made, application, header, sweep};

#[track_caller]
fn check_drawn(outcome: &Outcome, names: &[&str], words: &[&str]) -> Vec<(String, Picture)> {
    let drawn = Ace.pictures(outcome).unwrap();
    assert_eq!(drawn.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    let svg: String = drawn.iter().map(|(_, picture)| picture.to_svg()).collect();
    for word in words {
        assert!(svg.contains(word), "`{word}` is nowhere");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    // For looking at: MPI_PICTURES=folder.
    if let Some(folder) = std::env::var_os("MPI_PICTURES") {
        for (name, picture) in &drawn {
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), picture.to_png(1.0).unwrap())
                .unwrap();
        }
    }
    drawn
}

#[test]
fn a_run_has_costs_run_times_and_a_histogram() {
    let outcome = Made { communication_ns: [50_000.0, 52_000.0], ..Made::default() }.outcome(&header(), &application());
    let words = [
        "half a round trip",
        "alpha + beta n, in 1 segment<",
        "predicted: forecast as we go",
        "T_comm was predicted as 49.0 us",
    ];
    check_drawn(&outcome, &["cost-ping-pong-a1", "run-a1", "communication-a1"], &words);
}

#[test]
fn a_sweep_is_figure_1() {
    let words = ["a) ring, blocking messages, one application", "b) alltoall, collective, 2 applications", "1MiB, a2"];
    check_drawn(&sweep(3, 1.0, 1), &["figure-1", "forecast"], &words);
}

#[test]
fn a_run_that_broke_off_has_the_pictures_of_what_was_measured() {
    let mut outcome = Made::default().outcome(&header(), &application());
    outcome.records.retain(|(kind, _)| kind != "ace.rank");
    check_drawn(&outcome, &["cost-ping-pong-a1"], &[]);
    outcome.records.clear();
    check_drawn(&outcome, &[], &[]);
}
