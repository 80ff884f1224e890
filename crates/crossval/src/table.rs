//! Columns in memory, and as Parquet: optional whole numbers, real numbers and words, uncompressed.
//!
//! The doubles of a result hardly compress; what repeats does so in dictionaries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use sha2::{Digest, Sha256};

use crate::trace::hexadecimal;

/// A name, and what is below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The cells, as many as each other column has.
    pub cells: Cells,
}

/// The cells of a column, `None` where there is nothing to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Real numbers.
    Real(Vec<Option<f64>>),
    /// Words; equal neighbours share their memory.
    Words(Vec<Option<Arc<str>>>),
}

impl Cells {
    fn physical(&self) -> (PhysicalType, Option<LogicalType>) {
        match self {
            Self::Whole(_) => (PhysicalType::INT64, None),
            Self::Real(_) => (PhysicalType::DOUBLE, None),
            Self::Words(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        }
    }
}

/// A Parquet file of one row group, with what it says of itself.
///
/// # Errors
/// When a table cannot be encoded, which only a lack of memory would explain.
pub fn encode(columns: &[Column], metadata: &[(&str, String)]) -> Result<Vec<u8>> {
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(columns)?, properties(metadata))?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut out = group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
        match (out.untyped(), &column.cells) {
            (ColumnWriter::Int64ColumnWriter(out), Cells::Whole(cells)) => {
                let (values, levels) = split(cells, |cell| *cell);
                out.write_batch(&values, Some(&levels), None)?;
            }
            (ColumnWriter::DoubleColumnWriter(out), Cells::Real(cells)) => {
                let (values, levels) = split(cells, |cell| *cell);
                out.write_batch(&values, Some(&levels), None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(out), Cells::Words(cells)) => {
                let (values, levels) = split(cells, |cell| ByteArray::from(&**cell));
                out.write_batch(&values, Some(&levels), None)?;
            }
            _ => unreachable!("the schema is made of these columns"),
        }
        out.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn split<C, V>(cells: &[Option<C>], value: impl Fn(&C) -> V) -> (Vec<V>, Vec<i16>) {
    let values = cells.iter().flatten().map(value).collect();
    (values, cells.iter().map(|cell| i16::from(cell.is_some())).collect())
}

fn schema(columns: &[Column]) -> Result<TypePtr> {
    let field = |column: &Column| {
        let (physical, logical) = column.cells.physical();
        let builder = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

/// Nothing in them depends on the machine.
pub(crate) fn properties(metadata: &[(&str, String)]) -> WriterPropertiesPtr {
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone())).collect();
    let builder = WriterProperties::builder().set_created_by(concat!("foretop ", env!("CARGO_PKG_VERSION")).to_owned());
    let builder = builder.set_statistics_enabled(EnabledStatistics::None).set_offset_index_disabled(true);
    Arc::new(builder.set_key_value_metadata(Some(pairs)).build())
}

/// A Parquet file that is read a row group at a time.
pub(crate) struct TableFile<R: ChunkReader + 'static> {
    reader: SerializedFileReader<R>,
}

impl<R: ChunkReader + 'static> TableFile<R> {
    pub(crate) fn open(source: R) -> Result<Self> {
        guarded(|| Ok(Self { reader: SerializedFileReader::new(source)? }))
    }

    /// SHA-256 of the bytes of a row group, column by column, in hexadecimal. `source` is what the table was opened
    /// from.
    pub(crate) fn digest(&self, group_idx: usize, source: &impl ChunkReader) -> Result<String> {
        let mut hasher = Sha256::new();
        for column in self.reader.metadata().row_group(group_idx).columns() {
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let out_of_file = |_| ParquetError::General("a column begins or ends outside of the file".to_owned());
            let start = u64::try_from(start).map_err(out_of_file)?;
            let length = usize::try_from(column.compressed_size()).map_err(out_of_file)?;
            if start.saturating_add(length as u64) > source.len() {
                return Err(ParquetError::General("a column ends outside of the file".to_owned()));
            }
            hasher.update(source.get_bytes(start, length)?);
        }
        Ok(hexadecimal(&hasher.finalize()))
    }

    pub(crate) fn reader(&self) -> &SerializedFileReader<R> {
        &self.reader
    }

    /// Returns the file's metadata under `key`.
    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        let pairs = self.reader.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    pub(crate) fn n_groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    pub(crate) fn n_rows(&self) -> i64 {
        self.reader.metadata().file_metadata().num_rows()
    }

    /// The names of all columns.
    pub(crate) fn names(&self) -> Vec<&str> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.name()).collect()
    }

    fn column(&self, group: &dyn RowGroupReader, name: &str) -> Result<ColumnReader> {
        let names = self.names();
        let idx = names.iter().position(|known| *known == name);
        group.get_column_reader(idx.ok_or_else(|| ParquetError::General(format!("there is no column `{name}`")))?)
    }

    /// Cells of whatever type the column is.
    pub(crate) fn cells(&self, group_idx: usize, name: &str) -> Result<Cells> {
        let group = self.reader.get_row_group(group_idx)?;
        match self.column(&*group, name)? {
            ColumnReader::Int64ColumnReader(_) => self.wholes(group_idx, name).map(Cells::Whole),
            ColumnReader::ByteArrayColumnReader(_) => self.words(group_idx, name).map(Cells::Words),
            _ => self.reals(group_idx, name).map(Cells::Real),
        }
    }

    /// Whole numbers.
    pub(crate) fn wholes(&self, group_idx: usize, name: &str) -> Result<Vec<Option<i64>>> {
        let group = self.reader.get_row_group(group_idx)?;
        match self.column(&*group, name)? {
            ColumnReader::Int64ColumnReader(column) => read(column, n_rows(&*group)),
            _ => Err(ParquetError::General(format!("column `{name}` has no whole numbers"))),
        }
    }

    /// Real numbers; single precision and whole numbers count as such.
    pub(crate) fn reals(&self, group_idx: usize, name: &str) -> Result<Vec<Option<f64>>> {
        let group = self.reader.get_row_group(group_idx)?;
        let n_rows = n_rows(&*group);
        match self.column(&*group, name)? {
            ColumnReader::DoubleColumnReader(column) => read(column, n_rows),
            ColumnReader::FloatColumnReader(column) => Ok(converted(read(column, n_rows)?, f64::from)),
            ColumnReader::Int32ColumnReader(column) => Ok(converted(read(column, n_rows)?, f64::from)),
            ColumnReader::Int64ColumnReader(column) => Ok(converted(read(column, n_rows)?, |value| value as f64)),
            _ => Err(ParquetError::General(format!("column `{name}` has no numbers"))),
        }
    }

    /// Words; equal neighbours share their memory.
    pub(crate) fn words(&self, group_idx: usize, name: &str) -> Result<Vec<Option<Arc<str>>>> {
        let group = self.reader.get_row_group(group_idx)?;
        let ColumnReader::ByteArrayColumnReader(column) = self.column(&*group, name)? else {
            return Err(ParquetError::General(format!("column `{name}` has no words")));
        };
        let mut last: Option<Arc<str>> = None;
        let shared = |cell: Option<ByteArray>| -> Result<Option<Arc<str>>> {
            let Some(cell) = cell else { return Ok(None) };
            let text = cell.as_utf8()?;
            if last.as_deref() != Some(text) {
                last = Some(Arc::from(text));
            }
            Ok(last.clone())
        };
        read(column, n_rows(&*group))?.into_iter().map(shared).collect()
    }
}

/// The decoder of Parquet breaks off on some damaged bytes; that is an error as any other.
fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    let broken = |_| Err(ParquetError::General("the decoder broke off on damaged bytes".to_owned()));
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(broken)
}

fn converted<T>(cells: Vec<Option<T>>, of: impl Fn(T) -> f64) -> Vec<Option<f64>> {
    cells.into_iter().map(|cell| cell.map(&of)).collect()
}

fn n_rows(group: &dyn RowGroupReader) -> usize {
    usize::try_from(group.metadata().num_rows()).unwrap_or(0)
}

fn read<T: DataType>(mut column: ColumnReaderImpl<T>, n_rows: usize) -> Result<Vec<Option<T::T>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (n_records, n_values, _) = guarded(|| column.read_records(n_rows, Some(&mut levels), None, &mut values))?;
    if n_records != n_rows {
        return Err(ParquetError::General(format!("a column has {n_records} cells where there are {n_rows} rows")));
    }
    // A column that is not optional has no levels.
    if levels.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let n_known = levels.iter().filter(|level| **level > 0).count();
    if n_known != n_values || levels.len() != n_rows {
        return Err(ParquetError::General("a column's cells do not fit its rows".to_owned()));
    }
    let mut known = values.into_iter();
    Ok(levels.into_iter().map(|level| if level > 0 { known.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn columns() -> Vec<Column> {
        let words = |text: &str| Some(Arc::from(text));
        vec![
            Column { name: "whole", cells: Cells::Whole(vec![Some(1), None, Some(-3)]) },
            Column { name: "real", cells: Cells::Real(vec![None, Some(0.1), Some(f64::INFINITY)]) },
            Column { name: "words", cells: Cells::Words(vec![words("a"), words("a"), None]) },
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = encode(&columns(), &[("key", "value".to_owned())]).unwrap();
        let file = TableFile::open(Bytes::from(bytes)).unwrap();
        assert_eq!((file.metadata("key"), file.metadata("other")), (Some("value"), None));
        assert_eq!((file.n_rows(), file.n_groups(), file.names()), (3, 1, vec!["whole", "real", "words"]));
        let read = [
            Cells::Whole(file.wholes(0, "whole").unwrap()),
            Cells::Real(file.reals(0, "real").unwrap()),
            Cells::Words(file.words(0, "words").unwrap()),
        ];
        assert!(read.iter().zip(columns()).all(|(read, written)| *read == written.cells));
        assert!(file.wholes(0, "real").is_err() && file.words(0, "absent").is_err());
    }
}
