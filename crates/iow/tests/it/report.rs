//! Table 7-6 of SESAME's report: records of 128 KB on one disk, as the application and as the kernel's layer timed
//! them.

use iow::hidden_buffer;

/// Milliseconds: application, kernel. The application's time of record 3 is not legible in the report, and is given
/// here as that of the record before it.
fn table_7_6() -> Vec<(f64, f64)> {
    let file = include_str!("../../../../testdata/kernel-study/table-7-6.sddf");
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for item in record::read(file.as_bytes()).unwrap() {
        let record::Item::Record { values, .. } = item.unwrap() else { continue };
        let [application, kernel] = [0, 1].map(|place| values[place].number().unwrap());
        let is_legible = application > 0.0;
        rows.push((if is_legible { application } else { rows[rows.len() - 1].0 }, kernel));
    }
    rows
}

#[test]
fn the_buffer_that_the_report_found_is_flagged() {
    let ns = |layer: fn(&(f64, f64)) -> f64| table_7_6().iter().map(|row| layer(row) * 1e6).collect::<Vec<_>>();
    let found = hidden_buffer(&ns(|row| row.0), &ns(|row| row.1)).expect("it is there");
    assert_eq!(found.first_steady, 26);
    // Early 1 ms, a gap of 6 ms between the layers, and steady above 40 ms: 128 KB in 1 ms is beyond any disk of its
    // time.
    assert!((found.early_ns / 1e6 - 1.13).abs() < 0.05, "{found:?}");
    assert!((found.gap_ns / 1e6 - 6.0).abs() < 0.5, "{found:?}");
    assert!((found.steady_ns / 1e6 - 42.0).abs() < 3.0, "{found:?}");
}

#[test]
fn each_shortcut_that_the_report_warns_of_gives_a_wrong_speed() {
    const MB: f64 = 1024.0 * 1024.0;
    let speed = |records: &[(f64, f64)]| {
        131_072.0 * records.len() as f64 / (records.iter().map(|row| row.0).sum::<f64>() / 1e3) / MB
    };
    let rows = table_7_6();
    // The first 3 MB; the same without its slowest record; the fastest record; and the steady state.
    let short = speed(&rows[..24]);
    let without_outlier: Vec<_> = rows[..24].iter().copied().filter(|row| row.0 < 200.0).collect();
    let steady = speed(&rows[27..]);
    assert!((short - 5.6).abs() < 0.1, "{short}");
    assert!(speed(&without_outlier) > 10.0);
    assert!((2.5..2.7).contains(&steady), "{steady}");
}

#[test]
fn a_disk_without_a_buffer_is_not_flagged() {
    let times: Vec<f64> = (0..32).map(|i| 42e6 + f64::from(i % 5) * 1e6).collect();
    assert_eq!(hidden_buffer(&times, &times), None);
}
