//! Fields of records as Parquet, exactly, for the tools that read such tables.
//!
//! Whole numbers are INT64, others DOUBLE, text is UTF-8, and arrays are lists of numbers. What the file says of
//! itself, and the unit and meaning of each field, stand in the key-value metadata.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{PrimitiveTypeBuilder, Type, TypePtr};
use record::{Field, Items, Kind, Value};

use crate::Error;
use crate::extract::{Rows, choose};

/// Number of records that are held until they are written as columns.
const GROUP_RECORDS: usize = 1 << 16;

/// Writes fields of all records of a type as a table; all fields where none is named. Gives the number of records.
///
/// # Errors
/// Where the type or a field is not there, the file is damaged, or nothing can be written.
pub fn extract_parquet<W: Write + Send>(
    items: Items<'_>,
    record: &str,
    fields: &[String],
    out: W,
) -> Result<u64, Error> {
    let mut table = Table { out: Some(out), writer: None, columns: Vec::new(), about: Vec::new(), n_held: 0 };
    let n_records = choose(items, record, fields, &mut table)?;
    table.finish()?;
    Ok(n_records)
}

struct Table<W: Write + Send> {
    /// Output, until the fields are known.
    out: Option<W>,
    writer: Option<SerializedFileWriter<W>>,
    columns: Vec<Column>,
    about: Vec<KeyValue>,
    n_held: usize,
}

/// The cells of a field, and for an array, where the items of each record begin and which are there at all, as Parquet
/// has it.
enum Column {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
    Wholes(Vec<i64>, Levels),
    Reals(Vec<f64>, Levels),
}

#[derive(Default)]
struct Levels {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Levels {
    /// Adds the levels of an array with so many items; an empty one has one level that marks it as empty.
    fn push(&mut self, n: usize) {
        for item in 0..n.max(1) {
            self.definitions.push(i16::from(n > 0));
            self.repetitions.push(i16::from(item > 0));
        }
    }
}

impl Column {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Self::Whole(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
            Kind::Integers => Self::Wholes(Vec::new(), Levels::default()),
            Kind::Reals => Self::Reals(Vec::new(), Levels::default()),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Whole(_) => Kind::Integer,
            Self::Real(_) => Kind::Real,
            Self::Text(_) => Kind::Text,
            Self::Wholes(..) => Kind::Integers,
            Self::Reals(..) => Kind::Reals,
        }
    }

    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Self::Whole(cells), Value::Integer(number)) => cells.push(*number),
            (Self::Real(cells), Value::Real(number)) => cells.push(*number),
            (Self::Text(cells), Value::Text(text)) => cells.push(ByteArray::from(text.as_str())),
            (Self::Wholes(cells, levels), Value::Integers(numbers)) => {
                cells.extend(numbers);
                levels.push(numbers.len());
            }
            (Self::Reals(cells, levels), Value::Reals(numbers)) => {
                cells.extend(numbers);
                levels.push(numbers.len());
            }
            _ => unreachable!("a record suits its type"),
        }
    }

    /// Writes the cells, and forgets them.
    fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Written<()> {
        match (&*self, writer) {
            (Self::Whole(cells), ColumnWriter::Int64ColumnWriter(writer)) => writer.write_batch(cells, None, None)?,
            (Self::Real(cells), ColumnWriter::DoubleColumnWriter(writer)) => writer.write_batch(cells, None, None)?,
            (Self::Text(cells), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(cells, None, None)?
            }
            (Self::Wholes(cells, Levels { definitions, repetitions }), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(cells, Some(definitions), Some(repetitions))?
            }
            (Self::Reals(cells, Levels { definitions, repetitions }), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(cells, Some(definitions), Some(repetitions))?
            }
            _ => unreachable!("the schema is made of these columns"),
        };
        *self = Self::new(self.kind());
        Ok(())
    }
}

impl<W: Write + Send> Rows for Table<W> {
    fn attribute(&mut self, name: &str, text: &str) {
        let said = KeyValue::new(name.to_owned(), text.to_owned());
        // A merged file says again and again which file it goes on with.
        if !self.about.contains(&said) {
            self.about.push(said);
        }
    }

    fn begin(&mut self, fields: &[&Field]) -> Result<(), Error> {
        for field in fields {
            for (what, text) in [("unit", &field.unit), ("meaning", &field.meaning)] {
                if !text.is_empty() {
                    self.about.push(KeyValue::new(format!("{}.{what}", field.name), text.clone()));
                }
            }
        }
        self.columns = fields.iter().map(|field| Column::new(field.kind)).collect();
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let out = self.out.take().expect("fields come once, as a type does");
        self.writer = Some(SerializedFileWriter::new(out, schema(fields)?, Arc::new(properties))?);
        Ok(())
    }

    fn row(&mut self, values: &[&Value]) -> Result<(), Error> {
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        self.n_held += 1;
        if self.n_held == GROUP_RECORDS { self.write_group() } else { Ok(()) }
    }
}

impl<W: Write + Send> Table<W> {
    fn write_group(&mut self) -> Result<(), Error> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut group = writer.next_row_group()?;
        for column in &mut self.columns {
            let mut out = group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".into()))?;
            column.write(out.untyped())?;
            out.close()?;
        }
        group.close()?;
        self.n_held = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        if self.n_held > 0 {
            self.write_group()?;
        }
        if let Some(mut writer) = self.writer {
            self.about.into_iter().for_each(|said| writer.append_key_value_metadata(said));
            writer.close()?;
        }
        Ok(())
    }
}

fn schema(fields: &[&Field]) -> Written<TypePtr> {
    let fields = fields.iter().map(|field| column_type(field).map(Arc::new)).collect::<Written<Vec<_>>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

fn required(name: &str, physical: Physical) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED)
}

fn column_type(field: &Field) -> Written<Type> {
    match field.kind {
        Kind::Integer => required(&field.name, Physical::INT64).build(),
        Kind::Real => required(&field.name, Physical::DOUBLE).build(),
        Kind::Text => required(&field.name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String)).build(),
        Kind::Integers => list(&field.name, required("element", Physical::INT64).build()?),
        Kind::Reals => list(&field.name, required("element", Physical::DOUBLE).build()?),
    }
}

/// Builds a list as the format wants it: a group of a repeated group of an element.
fn list(name: &str, element: Type) -> Written<Type> {
    let repeated = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let repeated = repeated.with_fields(vec![Arc::new(element)]).build()?;
    let group = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
    let group = group.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST);
    group.with_fields(vec![Arc::new(repeated)]).build()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use record::{RecordType, Writer};

    use super::*;

    fn table(fields: &[String]) -> SerializedFileReader<Bytes> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.attribute("HostName", "a").unwrap();
        let kinds = [
            ("n", Kind::Integer),
            ("x", Kind::Real),
            ("who", Kind::Text),
            ("many", Kind::Integers),
            ("xs", Kind::Reals),
        ];
        let kinds = kinds.map(|(name, kind)| Field::new(name, kind, "ns", "what it is")).to_vec();
        let of = writer.define(RecordType { name: "A".into(), attributes: vec![], fields: kinds }).unwrap();
        for (n, many) in [(i64::MAX, vec![1, i64::MIN]), (-1, vec![]), (0, vec![7])] {
            let xs = many.iter().map(|n| *n as f64 / 4.0).collect();
            let values = [
                Value::Integer(n),
                Value::Real(0.1),
                Value::Text("a,\"b".into()),
                Value::Integers(many),
                Value::Reals(xs),
            ];
            writer.record(of, &values).unwrap();
        }
        let file = writer.finish().unwrap();
        let mut out = Vec::new();
        assert_eq!(extract_parquet(record::read(&file[..]).unwrap(), "A", fields, &mut out).unwrap(), 3);
        SerializedFileReader::new(Bytes::from(out)).unwrap()
    }

    #[test]
    fn scalars_text_and_arrays_are_read_as_they_were() {
        let table = table(&[]);
        let shown: Vec<String> = table.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            shown,
            [
                "{n: 9223372036854775807, x: 0.1, who: \"a,\"b\", many: [1, -9223372036854775808], xs: [0.25, -2.305843009213694E18]}",
                "{n: -1, x: 0.1, who: \"a,\"b\", many: [], xs: []}",
                "{n: 0, x: 0.1, who: \"a,\"b\", many: [7], xs: [1.75]}",
            ]
        );
        let said = table.metadata().file_metadata().key_value_metadata().unwrap();
        for (key, value) in [("HostName", "a"), ("n.unit", "ns"), ("many.meaning", "what it is")] {
            assert!(said.contains(&KeyValue::new(key.to_owned(), value.to_owned())), "{said:?}");
        }
    }

    #[test]
    fn chosen_fields_are_columns_in_their_order() {
        let table = table(&["who".into(), "n".into()]);
        let columns = table.metadata().file_metadata().schema_descr().columns().iter();
        assert_eq!(columns.map(|column| column.name()).collect::<Vec<_>>(), ["who", "n"]);
    }
}
