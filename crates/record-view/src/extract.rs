//! Fields of records as CSV, exactly: whole numbers with all digits, others as the shortest text that is the same
//! number.

use std::io::Write;

use record::{Field, Item, Items, RecordType, Value};

use crate::Error;
use crate::structure::{find, position};

/// Writes fields of all records of a type, one record a line; all fields where none is named. An array stands in one
/// place, its items parted by spaces. Gives the number of records.
///
/// # Errors
/// Where the type or a field is not there, the file is damaged, or nothing can be written.
pub fn extract(items: Items<'_>, record: &str, fields: &[String], out: impl Write) -> Result<u64, Error> {
    let mut lines = Lines(csv::Writer::from_writer(out));
    let n_records = choose(items, record, fields, &mut lines)?;
    lines.0.flush().map_err(csv::Error::from)?;
    Ok(n_records)
}

/// Fields of all records of a type, in this order.
///
/// # Errors
/// Where the type or a field is not there, or the file is damaged.
pub fn rows(items: Items<'_>, record: &str, fields: &[&str]) -> Result<Vec<Vec<Value>>, Error> {
    let mut kept = Kept(Vec::new());
    let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    choose(items, record, &fields, &mut kept)?;
    Ok(kept.0)
}

struct Kept(Vec<Vec<Value>>);

impl Rows for Kept {
    fn begin(&mut self, _: &[&Field]) -> Result<(), Error> {
        Ok(())
    }

    fn row(&mut self, values: &[&Value]) -> Result<(), Error> {
        self.0.push(values.iter().map(|value| (*value).clone()).collect());
        Ok(())
    }
}

/// Destination of fields of the records of one type.
pub(crate) trait Rows {
    /// Takes a statement of the file about itself.
    fn attribute(&mut self, _name: &str, _text: &str) {}

    /// Takes the fields, once, before all records.
    fn begin(&mut self, fields: &[&Field]) -> Result<(), Error>;

    /// Takes the values of a record in these fields.
    fn row(&mut self, values: &[&Value]) -> Result<(), Error>;
}

/// Hands over fields of all records of a type; all fields where none is named. Gives the number of records.
pub(crate) fn choose(items: Items<'_>, record: &str, fields: &[String], rows: &mut impl Rows) -> Result<u64, Error> {
    let mut types: Vec<RecordType> = Vec::new();
    let mut chosen: Option<(usize, Vec<usize>)> = None;
    let mut n_records = 0;
    for item in items {
        match item? {
            Item::Attribute(name, text) => rows.attribute(&name, &text),
            Item::Type(of) => {
                if of.name == record {
                    let places = match fields {
                        [] => (0..of.fields.len()).collect(),
                        fields => fields.iter().map(|field| position(&of, field)).collect::<Result<Vec<_>, _>>()?,
                    };
                    rows.begin(&places.iter().map(|place| &of.fields[*place]).collect::<Vec<_>>())?;
                    chosen = Some((types.len(), places));
                }
                types.push(of);
            }
            Item::Record { of, values } => {
                if let Some((chosen, places)) = &chosen
                    && *chosen == of
                {
                    rows.row(&places.iter().map(|place| &values[*place]).collect::<Vec<_>>())?;
                    n_records += 1;
                }
            }
        }
    }
    find(&types, record)?;
    Ok(n_records)
}

struct Lines<W: Write>(csv::Writer<W>);

impl<W: Write> Rows for Lines<W> {
    fn begin(&mut self, fields: &[&Field]) -> Result<(), Error> {
        Ok(self.0.write_record(fields.iter().map(|field| field.name.as_str()))?)
    }

    fn row(&mut self, values: &[&Value]) -> Result<(), Error> {
        Ok(self.0.write_record(values.iter().map(|value| text(value)))?)
    }
}

fn text(value: &Value) -> String {
    let many = |items: Vec<String>| items.join(" ");
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Integers(numbers) => many(numbers.iter().map(i64::to_string).collect()),
        Value::Reals(numbers) => many(numbers.iter().map(f64::to_string).collect()),
    }
}

#[cfg(test)]
mod tests {
    use record::{Kind, Writer};

    use super::*;

    fn file() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let fields = [("n", Kind::Integer), ("x", Kind::Real), ("who", Kind::Text), ("many", Kind::Integers)];
        let fields = fields.map(|(name, kind)| Field::new(name, kind, "", "")).to_vec();
        let of = writer.define(RecordType { name: "A".into(), attributes: vec![], fields }).unwrap();
        for n in [i64::MAX, -1] {
            let who = Value::Text("a,\"b".into());
            writer.record(of, &[Value::Integer(n), Value::Real(0.1), who, Value::Integers(vec![1, n])]).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn scalars_strings_and_arrays_come_out_exactly() {
        let (file, mut out) = (file(), Vec::new());
        assert_eq!(extract(record::read(&file[..]).unwrap(), "A", &[], &mut out).unwrap(), 2);
        let first = "n,x,who,many\n9223372036854775807,0.1,\"a,\"\"b\",1 9223372036854775807\n";
        assert_eq!(String::from_utf8(out).unwrap(), format!("{first}-1,0.1,\"a,\"\"b\",1 -1\n"));
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_is() {
        let file = file();
        let error = |record: &str, fields: &[String]| {
            extract(record::read(&file[..]).unwrap(), record, fields, Vec::new()).unwrap_err().to_string()
        };
        assert!(error("B", &[]).contains("`A`"));
        assert!(error("A", &["y".into()]).contains("n, x, who, many"));
    }
}
