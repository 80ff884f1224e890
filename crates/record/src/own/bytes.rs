//! Contents of blocks, as bytes: numbers with their lowest byte first, text and arrays with their length before them.

use crate::{Field, Kind, RecordType, Value};

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

pub fn put_type(out: &mut Vec<u8>, of: &RecordType) {
    put_text(out, &of.name);
    out.extend((of.attributes.len() as u32).to_le_bytes());
    for (name, text) in &of.attributes {
        put_text(out, name);
        put_text(out, text);
    }
    out.extend((of.fields.len() as u32).to_le_bytes());
    for field in &of.fields {
        put_text(out, &field.name);
        out.push(letter(field.kind));
        put_text(out, &field.unit);
        put_text(out, &field.meaning);
    }
}

fn letter(kind: Kind) -> u8 {
    match kind {
        Kind::Integer => b'i',
        Kind::Real => b'r',
        Kind::Text => b't',
        Kind::Integers => b'I',
        Kind::Reals => b'R',
    }
}

pub fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Integer(number) => out.extend(number.to_le_bytes()),
        Value::Real(number) => out.extend(number.to_le_bytes()),
        Value::Text(text) => put_text(out, text),
        Value::Integers(numbers) => {
            out.extend((numbers.len() as u32).to_le_bytes());
            numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
        Value::Reals(numbers) => {
            out.extend((numbers.len() as u32).to_le_bytes());
            numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
    }
}

/// Reads what a block holds.
pub struct Cursor<'a> {
    left: &'a [u8],
}

type Found<T> = Result<T, &'static str>;

impl<'a> Cursor<'a> {
    pub fn new(block: &'a [u8]) -> Self {
        Self { left: block }
    }

    pub fn is_at_end(&self) -> bool {
        self.left.is_empty()
    }

    fn take(&mut self, n: usize) -> Found<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(n).ok_or("there is less in it than it should hold")?;
        self.left = left;
        Ok(taken)
    }

    fn eight(&mut self) -> Found<[u8; 8]> {
        Ok(self.take(8)?.try_into().expect("eight bytes"))
    }

    pub fn u32(&mut self) -> Found<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    pub fn u64(&mut self) -> Found<u64> {
        self.eight().map(u64::from_le_bytes)
    }

    pub fn text(&mut self) -> Found<String> {
        let n = self.u32()? as usize;
        String::from_utf8(self.take(n)?.to_vec()).map_err(|_| "its text is not UTF-8")
    }

    pub fn record_type(&mut self) -> Found<RecordType> {
        let name = self.text()?;
        let attributes = (0..self.u32()?).map(|_| Ok((self.text()?, self.text()?))).collect::<Found<_>>()?;
        let fields = (0..self.u32()?).map(|_| self.field()).collect::<Found<_>>()?;
        Ok(RecordType { name, attributes, fields })
    }

    fn field(&mut self) -> Found<Field> {
        let name = self.text()?;
        let kind = match self.take(1)?[0] {
            b'i' => Kind::Integer,
            b'r' => Kind::Real,
            b't' => Kind::Text,
            b'I' => Kind::Integers,
            b'R' => Kind::Reals,
            _ => return Err("there is no such kind of field"),
        };
        Ok(Field { name, kind, unit: self.text()?, meaning: self.text()? })
    }

    pub fn value(&mut self, kind: Kind) -> Found<Value> {
        Ok(match kind {
            Kind::Integer => Value::Integer(self.eight().map(i64::from_le_bytes)?),
            Kind::Real => Value::Real(self.eight().map(f64::from_le_bytes)?),
            Kind::Text => Value::Text(self.text()?),
            Kind::Integers => Value::Integers(self.many(i64::from_le_bytes)?),
            Kind::Reals => Value::Reals(self.many(f64::from_le_bytes)?),
        })
    }

    fn many<T>(&mut self, number: impl Fn([u8; 8]) -> T) -> Found<Vec<T>> {
        let n = self.u32()? as usize;
        let bytes = self.take(n.checked_mul(8).ok_or("it claims more numbers than there can be")?)?;
        Ok(bytes.chunks_exact(8).map(|chunk| number(chunk.try_into().expect("eight bytes"))).collect())
    }
}
