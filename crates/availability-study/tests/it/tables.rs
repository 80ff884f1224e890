//! Tables against figures that were computed without this crate: see `testdata/study/make.py`.

use std::path::{Path, PathBuf};

use availability_study::{Format, Record, Report};
use expect_test::expect_file;

fn testdata() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "study"].iter().collect()
}

fn written(dir: &Path, format: Format) -> String {
    let mut out = Vec::new();
    Report::new(&Record::read(dir).unwrap()).write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn cells_are_what_was_computed_by_hand() {
    let csv = written(&testdata(), Format::Csv);
    let expected = std::fs::read_to_string(testdata().join("expected.csv")).unwrap();
    for line in expected.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let [table, row, kind, column, value, n] = cells[..] else { panic!("{line}") };
        let start = format!("{table},measured,{row},{kind},{column},");
        let found =
            csv.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{start} is missing"));
        let found: Vec<&str> = found.split(',').collect();
        assert_eq!(found[1], n, "{start}");
        // The journal's decimals read back as they were; left are sums in another order and the logarithms of two
        // libraries.
        let (value, found): (f64, f64) = (value.parse().unwrap(), found[0].parse().unwrap());
        assert!((found - value).abs() < 1e-9, "{start} {found}, not {value}");
    }
}

#[test]
fn a_report_reads_like_this() {
    expect_file![testdata().join("report.txt")].assert_eq(&written(&testdata(), Format::Text));
    expect_file![testdata().join("report.md")].assert_eq(&written(&testdata(), Format::Markdown));
}

#[test]
fn every_line_of_csv_has_as_many_cells() {
    let csv = written(&testdata(), Format::Csv);
    assert!(csv.lines().count() > 100);
    for line in csv.lines() {
        assert_eq!(line.split(',').count(), 8, "{line}");
    }
}

/// A study in a folder of its own whose journal is the one in `testdata/study` with its header changed.
fn changed(dir: &Path, from: &str, to: &str) -> PathBuf {
    let journal = std::fs::read_to_string(testdata().join("journal.jsonl")).unwrap();
    assert!(journal.contains(from), "{from}");
    std::fs::write(dir.join("journal.jsonl"), journal.replace(from, to)).unwrap();
    dir.to_owned()
}

#[test]
fn joined_studies_have_the_observations_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let other = changed(dir.path(), r#""seed": 1,"#, r#""seed": 2,"#);
    let one = Record::read(&testdata()).unwrap();
    let both = Record::read_all(&[testdata(), other]).unwrap();
    assert_eq!(both.segments.len(), 2 * one.segments.len());
    let rounds: Vec<usize> = both.segments.iter().map(|segment| segment.start.round).collect();
    assert!(rounds.is_sorted() && rounds.last() > one.segments.last().map(|segment| &segment.start.round));
    let observations = |record: &Record| {
        let mut csv = Vec::new();
        Report::new(record).write(Format::Csv, &mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let line = csv.lines().find(|line| line.starts_with("1,measured,all,,cpu.availability,")).unwrap();
        line.split(',').nth(6).unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(observations(&both), 2 * observations(&one));
    let about = Report::new(&both).about;
    assert!(about.contains(&("seed", "1; 2".to_owned())), "{about:?}");
}

#[test]
fn studies_of_different_kinds_are_not_joined() {
    let dir = tempfile::tempdir().unwrap();
    let other = changed(dir.path(), r#""rest_seconds": 20.0"#, r#""rest_seconds": 30.0"#);
    let error = Record::read_all(&[testdata(), other]).unwrap_err().to_string();
    assert!(error.contains("has rest_seconds 30.0, and the first one 20.0"), "{error}");
}
