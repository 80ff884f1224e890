//! Traces from files, however they are written.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crossval::{Trace, TraceFileError};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

const SAMPLES: [Option<f64>; 5] = [Some(0.1), None, Some(-3.0), Some(f64::INFINITY), Some(1e-300)];

fn write(path: &Path, compression: Compression) {
    let schema = parse_message_type("message trace { OPTIONAL DOUBLE cpu; OPTIONAL DOUBLE other; }").unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let values: Vec<f64> = SAMPLES.into_iter().flatten().collect();
    let levels = SAMPLES.map(|sample| i16::from(sample.is_some()));
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<DoubleType>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

#[test]
fn a_trace_is_the_same_however_its_file_is_compressed() {
    let folder = TempDir::new().unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for (name, compression) in [("a", Compression::UNCOMPRESSED), ("b", Compression::SNAPPY), ("c", zstd)] {
        let path = folder.path().join(format!("{name}.parquet"));
        write(&path, compression);
        let trace = Trace::read(&path, Some("cpu")).unwrap().remove(0);
        assert_eq!(trace.name(), name);
        let known: Vec<Option<f64>> =
            trace.samples().iter().map(|sample| Some(*sample).filter(|sample| !sample.is_nan())).collect();
        assert_eq!(known, SAMPLES.map(|sample| sample.filter(|sample| sample.is_finite())), "{compression:?}");
    }
}

#[test]
fn an_empty_line_of_csv_is_a_gap() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/series/tables/r_bare.csv"));
    let trace = Trace::read(path, None).unwrap().remove(0);
    assert_eq!((trace.samples().len(), trace.samples().iter().filter(|sample| sample.is_nan()).count()), (120, 6));
}

#[test]
fn of_several_columns_one_has_to_be_chosen() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, Compression::UNCOMPRESSED);
    for column in [None, Some("cpus")] {
        let error = Trace::read(&path, column).unwrap_err();
        assert!(matches!(&error, TraceFileError::Columns { known, .. } if known == "`cpu`, `other`"), "{error}");
    }
}
