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
        // The journal's decimals read back as they were; left are sums in another order and the logarithms of two libraries.
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
