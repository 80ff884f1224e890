//! foretop-noise.

use mpi_run::{Measurement, Outcome};
use noise::Noise;
use noise::record::{InjectedNoise, Late, NodeLate, Part, RankTimes, Row, kind};

use crate::launch::{Ended, NOISE, launch};

#[track_caller]
fn check_refused(ended: &Ended, words: &str) {
    assert_eq!(ended.status, Some(2), "{}", ended.err);
    assert_eq!(ended.err.matches(words).count(), 1, "{}", ended.err);
    assert_eq!(ended.out, "");
}

/// Two parts on two ranks with noise on one of them: what is counted fits together, whatever the load of this machine.
#[test]
fn iterations_are_counted_on_all_ranks_and_noise_is_made_where_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.jsonl");
    let arguments = ["--work", "1ms,allreduce", "--time", "300ms", "--threshold", "2ms,5ms", "--inject", "200us/10ms"];
    let out = ["--inject-ranks", "1", "--quiet", "--out", path.to_str().unwrap()];
    let printed = launch(NOISE, 2, &[&arguments[..], &out[..]].concat()).out();
    let outcome = Outcome::read(&path).unwrap();
    assert_eq!(printed.trim_end(), Noise.table(&outcome).unwrap().trim_end());

    let parts: Vec<Part> = outcome.all(kind::PART).unwrap();
    assert_eq!(parts.iter().map(|part| part.work.as_str()).collect::<Vec<_>>(), ["1ms", "allreduce"]);
    let late: Vec<Late> = outcome.all(kind::LATE).unwrap();
    let nodes: Vec<NodeLate> = outcome.all(kind::NODE).unwrap();
    let ranks: Vec<RankTimes> = outcome.all(kind::RANK).unwrap();
    for part in &parts {
        assert!(part.n_iterations >= 10, "{part:?}");
        let of_ranks: Vec<&RankTimes> = ranks.iter().filter(|rank| rank.work == part.work).collect();
        assert_eq!(of_ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1]);
        assert!(of_ranks.iter().all(|rank| rank.iteration.count == part.n_iterations));
        for row in Row::ALL {
            let of_row: Vec<&Late> = late.iter().filter(|late| late.work == part.work && late.row == row).collect();
            assert_eq!(of_row.len(), 3);
            // A higher threshold has no more iterations, and no rank loses more than the run took.
            let is_falling =
                |pair: &[&Late]| pair[0].threshold_ns < pair[1].threshold_ns && pair[0].n_late >= pair[1].n_late;
            assert!(of_row.windows(2).all(is_falling), "{of_row:?}");
            assert!(of_row.iter().all(|late| late.n_late <= part.n_iterations));
            assert!(of_row.iter().all(|late| late.lost_ratio.is_some() == (row == Row::Iteration)));
            assert!(of_row.iter().all(|late| late.lost_ratio.is_none_or(|ratio| ratio <= 1.000_001)), "{of_row:?}");
            // Both ranks are on one host, so that its late iterations are all there are.
            let of_host: Vec<u64> =
                nodes.iter().filter(|node| node.work == part.work && node.row == row).map(|node| node.n_late).collect();
            assert_eq!(of_host, of_row.iter().map(|late| late.n_late).collect::<Vec<_>>());
        }
    }
    let injected: Vec<InjectedNoise> = outcome.all(kind::INJECTED).unwrap();
    assert_eq!(
        injected.iter().map(|noise| noise.place.as_str()).collect::<Vec<_>>(),
        ["rank 1, work 1ms", "rank 1, work allreduce"]
    );
    assert!(
        injected.iter().all(|noise| noise.injected.n_pulses > 0 && noise.injected.mean_length_ns >= 200_000.0),
        "{injected:?}"
    );
    let names: Vec<String> = Noise.pictures(&outcome).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["time-0", "time-1", "late-1ms", "late-allreduce"]);
}

#[test]
fn plans_that_make_no_sense_are_refused_by_one_rank() {
    check_refused(&launch(NOISE, 2, &["--threshold", "5ms,2ms"]), "threshold 2ms does not exceed the one before it");
    check_refused(&launch(NOISE, 2, &["--inject", "1ms/10ms", "--inject-ranks", "2"]), "there is no rank 2");
}

#[test]
fn ranks_without_an_allreduce_only_work() {
    let arguments = ["--work", "1ms", "--time", "100ms", "--no-allreduce", "--quiet", "--format", "json"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.jsonl");
    std::fs::write(&path, launch(NOISE, 2, &arguments).out()).unwrap();
    let outcome = Outcome::read(&path).unwrap();
    let ranks: Vec<RankTimes> = outcome.all(kind::RANK).unwrap();
    assert!(ranks.len() == 2 && ranks.iter().all(|rank| rank.communication.max_ns == 0.0), "{ranks:?}");
    let late: Vec<Late> = outcome.all(kind::LATE).unwrap();
    assert!(late.iter().all(|late| late.row != Row::Communication), "{late:?}");
    assert!(Noise.table(&outcome).unwrap().contains(" iterations without an allreduce in "));
}
