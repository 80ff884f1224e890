//! foretop-sort.

use std::path::Path;

use record::{Item, Value};
use sort::Phase;

use crate::launch::{SORT, launch};

/// The records of a run's file: for each of its types the fields by name, and the values.
fn records(folder: &Path, kind: &str) -> Vec<Vec<(String, Value)>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "sort")).collect();
    let [file] = &file[..] else { panic!("one host has one file: {file:?}") };
    let bytes = std::fs::read(file).unwrap();
    let mut types = Vec::new();
    let mut found = Vec::new();
    for item in record::read(&bytes[..]).unwrap() {
        match item.unwrap() {
            Item::Type(of) => types.push(of),
            Item::Record { of, values } if types[of].name == kind => {
                let names = types[of].fields.iter().map(|field| field.name.clone());
                found.push(names.zip(values).collect());
            }
            _ => {}
        }
    }
    found
}

fn number(record: &[(String, Value)], name: &str) -> f64 {
    record.iter().find(|(known, _)| known == name).unwrap().1.number().unwrap()
}

fn text<'a>(record: &'a [(String, Value)], name: &str) -> &'a str {
    match record.iter().find(|(known, _)| known == name) {
        Some((_, Value::Text(text))) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_are_sorted_and_each_change_of_activity_is_stamped() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    for access in ["collective", "independent"] {
        let arguments = ["--size", "256KiB", "--folder", place, "--access", access];
        let printed = launch(SORT, 3, &arguments).out();
        assert!(printed.contains("32766 numbers on 3 ranks in order after"), "{printed}");
    }
    let printed = launch(SORT, 3, &["--size", "256KiB", "--folder", place, "--out", place]).out();
    assert!(printed.trim_end().ends_with(".sort"), "{printed}");
    let traces = records(folder.path(), "sort-trace");
    for rank in 0..3 {
        let own: Vec<_> = traces.iter().filter(|trace| number(trace, "rank") == f64::from(rank)).collect();
        assert!(own.is_sorted_by_key(|trace| number(trace, "at_ns") as u64), "rank {rank}");
        let events: Vec<&str> = own.iter().map(|trace| text(trace, "event")).collect();
        assert_eq!((events[0], events[events.len() - 1]), ("start", "end"));
        // The lowest rank asks nobody, and the highest answers nobody.
        let expected = Phase::ALL.into_iter().filter(|phase| match phase {
            Phase::Ask | Phase::AskSwap => rank > 0,
            Phase::Answer | Phase::AnswerReceive => rank < 2,
            _ => true,
        });
        for phase in expected {
            assert!(events.contains(&phase.name()), "rank {rank} has no `{}` in {events:?}", phase.name());
        }
        let n_bytes =
            |event: &str| own.iter().find(|trace| text(trace, "event") == event).map(|trace| number(trace, "n_bytes"));
        assert_eq!((n_bytes("read"), n_bytes("write")), (Some(10_922.0 * 8.0), Some(10_922.0 * 8.0)));
    }
    let summaries = records(folder.path(), "sort-summary");
    assert_eq!(summaries.len(), 3);
    for summary in &summaries {
        // What came before `array` took no time worth a phase; all phases together take the whole of it.
        let phases = Phase::ALL.iter().filter(|phase| !matches!(phase, Phase::Start | Phase::End));
        let sum: f64 = phases.map(|phase| number(summary, &format!("{}_ns", phase.name()))).sum();
        let all = number(summary, "end_ns") - number(summary, "start_ns");
        assert!(sum <= all && sum > 0.5 * all, "{sum} of {all} in {summary:?}");
        assert!(number(summary, "n_rounds") >= 2.0);
    }
    assert!(summaries.iter().any(|summary| number(summary, "n_taken") > 0.0));
    // Its own files are gone.
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| !name.to_string_lossy().ends_with(".sort")).count(), 0);
}

#[test]
fn files_stay_where_they_are_wanted_and_hold_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    launch(SORT, 2, &["--size", "64KiB", "--folder", folder.path().to_str().unwrap(), "--keep"]).out();
    let numbers = |ending: &str| -> Vec<f64> {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let path = files.into_iter().find(|path| path.extension().is_some_and(|found| found == ending)).unwrap();
        std::fs::read(path)
            .unwrap()
            .chunks_exact(8)
            .map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap()))
            .collect()
    };
    let (mut input, output) = (numbers("in"), numbers("out"));
    assert!(!input.is_sorted());
    input.sort_by(f64::total_cmp);
    assert_eq!(input, output);
}

#[test]
fn what_cannot_be_sorted_is_told_by_one_rank() {
    for (arguments, status, words) in [
        (&["--size", "8B"][..], 2, "too little for 2 ranks"),
        (&["--folder", "/nonexistent"], 1, "cannot open `/nonexistent/foretop-sort."),
        (&["--size", "16"], 2, "`16`"),
    ] {
        let ended = launch(SORT, 2, arguments);
        assert_eq!((ended.status, ended.out.as_str()), (Some(status), ""), "{}", ended.err);
        assert_eq!(ended.err.matches(words).count(), 1, "{}", ended.err);
    }
}
