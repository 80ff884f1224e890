//! Journals that are taken up again, and those that are refused.

use std::{fs, path::Path, time::Duration};

use availability_study::{
    FILE_NAME, Format, JournalError, Programs, Record, Report, Settings, Study, StudyError, TestProgram,
};

fn settings() -> Settings {
    Settings { scenarios: vec!["idle".to_owned()], total: Duration::from_secs(60), ..Settings::quick() }
}

/// Programs that are never started: none of these studies runs.
fn open(dir: &Path, settings: Settings) -> Result<Study, StudyError> {
    let worker = workload::Worker { program: "/nonexistent".into(), arguments: Vec::new() };
    let test = TestProgram { program: "/nonexistent".into(), arguments: Vec::new() };
    Study::open(dir, settings, Programs { worker, test }, 0.0)
}

#[test]
fn a_study_with_other_settings_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), settings()).unwrap();
    let error = open(dir.path(), Settings { seed: 7, ..settings() }).unwrap_err().to_string();
    assert!(
        error.contains("was started with seed 1, not 7: use the same settings, or choose another folder"),
        "{error}"
    );
    open(dir.path(), settings()).unwrap();
}

#[test]
fn two_studies_do_not_write_one_journal() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path(), settings()).unwrap();
    let second = open(dir.path(), settings());
    assert!(matches!(second, Err(StudyError::Journal(JournalError::Busy { .. }))), "{second:?}");
}

#[test]
fn a_torn_last_line_is_dropped_and_said() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), settings()).unwrap();
    let path = dir.path().join(FILE_NAME);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], br#"{"kind":"reading","at_sec"#].concat()).unwrap();
    assert!(Record::read(dir.path()).unwrap().is_torn);
    assert!(open(dir.path(), settings()).unwrap().was_torn());
    // What is written next stands on a line of its own.
    let record = Record::read(dir.path()).unwrap();
    assert!(!record.is_torn && record.segments.is_empty());
}

#[test]
fn a_broken_line_in_between_is_an_error_with_its_number() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), settings()).unwrap();
    let path = dir.path().join(FILE_NAME);
    let header = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{header}garbage\n{{\"kind\":\"visit-end\"}}\n")).unwrap();
    let error = Record::read(dir.path()).unwrap_err();
    assert!(matches!(error, JournalError::Line { line: 2, .. }), "{error}");
}

#[test]
fn what_is_no_journal_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Record::read(dir.path()), Err(JournalError::Missing { .. })));
    fs::write(dir.path().join(FILE_NAME), "{\"kind\":\"visit-end\"}\n").unwrap();
    assert!(matches!(Record::read(dir.path()), Err(JournalError::NoHeader { .. })));
}

#[test]
fn a_study_is_resumed_with_the_tests_that_are_left() {
    let dir = tempfile::tempdir().unwrap();
    let all = open(dir.path(), settings()).unwrap().left();
    let path = dir.path().join(FILE_NAME);
    let header = fs::read_to_string(&path).unwrap();
    let visit = r#"{"kind":"visit","round":1,"scenario":"idle","time":"2026-11-21T12:00:00Z"}"#;
    let test = r#"{"kind":"test","length":"short","n_threads":1,"start_seconds":4.0,"end_seconds":5.0,"demand_seconds":0.5,"outcome":"failed","reason":"x"}"#;
    fs::write(&path, format!("{header}{visit}\n{test}\n")).unwrap();
    let some = open(dir.path(), settings()).unwrap().left();
    fs::write(&path, format!("{header}{visit}\n{test}\n{{\"kind\":\"visit-end\"}}\n")).unwrap();
    let fewer = open(dir.path(), settings()).unwrap().left();
    assert!(all > some && some > fewer && !fewer.is_zero(), "{all:?}, {some:?}, {fewer:?}");
}

#[test]
fn a_journal_that_lies_is_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), settings()).unwrap();
    let path = dir.path().join(FILE_NAME);
    let header = fs::read_to_string(&path).unwrap();
    fs::write(&path, header.replace(r#""step_seconds":1.0"#, r#""step_seconds":0.0"#)).unwrap();
    assert!(matches!(Record::read(dir.path()), Err(JournalError::Settings { .. })));
    let lines = [
        r#"{"kind":"reading","at_seconds":1.0,"said":{"cpu.availability":1.0}}"#,
        r#"{"kind":"visit","round":1,"scenario":"picnic","time":"2026-11-21T12:00:00Z"}"#,
        r#"{"kind":"reading","at_seconds":-1e300,"said":{"cpu.availability":1.0}}"#,
        r#"{"kind":"reading","at_seconds":5.0,"said":{"cpu.availability":1e300,"cpu.availability.0":-1e300,"load.1m":-1.0}}"#,
        r#"{"kind":"reading","at_seconds":1e300,"said":{}}"#,
        r#"{"kind":"visit","round":1,"scenario":"idle","time":"2026-11-21T12:00:00Z"}"#,
        r#"{"kind":"reading","at_seconds":5.0,"said":{"cpu.availability":1e300,"cpu.availability.0":-1e300,"load.1m":-1.0}}"#,
        r#"{"kind":"test","length":"long","n_threads":1,"start_seconds":6.0,"end_seconds":-1e300,"demand_seconds":1e300,"outcome":"done","marks":[{"wanted_seconds":1.0,"passed_seconds":0.0,"used_seconds":1e300},{"wanted_seconds":4.0,"passed_seconds":1e-300,"used_seconds":1.0}],"reached_seconds":0.0}"#,
        r#"{"kind":"test","length":"short","n_threads":0,"start_seconds":2.0,"end_seconds":1.0,"demand_seconds":0.0,"outcome":"done","marks":[],"reached_seconds":null}"#,
    ];
    fs::write(&path, format!("{header}{}\n", lines.join("\n"))).unwrap();
    let record = Record::read(dir.path()).unwrap();
    assert_eq!(record.segments.iter().map(|segment| segment.readings.len()).collect::<Vec<_>>(), [1, 1]);
    Report::new(&record).write(Format::Csv, &mut Vec::new()).unwrap();
}
