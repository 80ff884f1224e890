//! One series, with gaps, from files as R and pandas write them (`testdata/series/tables`).

use std::fs::File;

use series::Series;
use series::csv::{Options, read};

fn table(name: &str) -> Series {
    let path = format!("{}/../../testdata/series/tables/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read(file, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn known(series: &Series) -> Vec<Option<f64>> {
    series.samples().iter().map(|sample| (!sample.is_nan()).then_some(*sample)).collect()
}

#[test]
fn a_series_is_the_same_however_r_and_pandas_write_its_gaps() {
    let expected = table("r_row_names");
    assert_eq!((expected.samples().len(), expected.n_gaps()), (120, 6));
    let gaps: Vec<usize> = (0..120).filter(|idx| expected.samples()[*idx].is_nan()).collect();
    assert_eq!(gaps, [0, 14, 15, 30, 110, 111]);
    for name in ["r_empty", "r_bare", "r_nan", "pandas_index", "pandas_empty", "pandas_nan", "pandas_dates"] {
        assert_eq!(known(&table(name)), known(&expected), "{name}");
    }
    assert!(table("pandas_dates").grid().is_some());
}
