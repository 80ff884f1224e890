//! Fields of records as CSV, exactly: whole numbers with all digits, others as the shortest text that is the same number.

use std::io::Write;

use record::{Item, Items, RecordType, Value};

use crate::Error;
use crate::structure::{find, position};

/// Writes fields of all records of a type, one record a line; all fields where none is named. An array stands in one place, its
/// items parted by spaces. Gives the number of records.
///
/// # Errors
/// Where the type or a field is not there, the file is damaged, or nothing can be written.
pub fn extract(items: Items<'_>, record: &str, fields: &[String], out: impl Write) -> Result<u64, Error> {
    let mut out = csv::Writer::from_writer(out);
    let mut types: Vec<RecordType> = Vec::new();
    let mut chosen: Option<(usize, Vec<usize>)> = None;
    let mut n_records = 0;
    for item in items {
        match item? {
            Item::Attribute(..) => {}
            Item::Type(of) => {
                if of.name == record {
                    let places = match fields {
                        [] => (0..of.fields.len()).collect(),
                        fields => fields.iter().map(|field| position(&of, field)).collect::<Result<Vec<_>, _>>()?,
                    };
                    out.write_record(places.iter().map(|place| of.fields[*place].name.as_str()))?;
                    chosen = Some((types.len(), places));
                }
                types.push(of);
            }
            Item::Record { of, values } => {
                if let Some((chosen, places)) = &chosen
                    && *chosen == of
                {
                    out.write_record(places.iter().map(|place| text(&values[*place])))?;
                    n_records += 1;
                }
            }
        }
    }
    find(&types, record)?;
    out.flush().map_err(csv::Error::from)?;
    Ok(n_records)
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
    use record::{Field, Kind, Writer};

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
