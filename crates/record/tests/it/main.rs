//! Both formats: what is written is read back, and what is damaged is told.

mod damaged;
mod round_trip;

use record::{Field, Item, Kind, RecordType, Value, Writer};

/// A type with a field of each kind.
fn sample() -> RecordType {
    let kinds = [
        ("n", Kind::Integer),
        ("x", Kind::Real),
        ("who", Kind::Text),
        ("counts", Kind::Integers),
        ("times", Kind::Reals),
    ];
    RecordType {
        name: "VM \"Summary\"".into(),
        attributes: vec![("source".into(), "bpf".into())],
        fields: kinds.map(|(name, kind)| Field::new(name, kind, "ns", "a\\b")).to_vec(),
    }
}

fn values(n: i64, x: f64, who: &str) -> Vec<Value> {
    let numbers = vec![n, i64::MIN, i64::MAX];
    vec![
        Value::Integer(n),
        Value::Real(x),
        Value::Text(who.into()),
        Value::Integers(numbers),
        Value::Reals(vec![x, 1e-300]),
    ]
}

/// A file with two records.
fn file() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.attribute("HostName", "a\nb").unwrap();
    let of = writer.define(sample()).unwrap();
    writer.record(of, &values(1, 0.1, "")).unwrap();
    writer.record(of, &values(-7, f64::MAX, "ä\"\\\n")).unwrap();
    writer.finish().unwrap()
}

fn items(bytes: &[u8]) -> Result<Vec<Item>, record::Error> {
    record::read(bytes)?.collect()
}
