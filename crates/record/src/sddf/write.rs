//! Writes SDDF in ASCII.

use std::fmt::Write as _;
use std::io::Write;

use crate::{Error, Kind, RecordType, Value};

/// Writes items as text.
pub struct Writer<W: Write> {
    out: W,
    types: Vec<RecordType>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn new(mut out: W) -> Result<Self, Error> {
        out.write_all(b"SDDFA\n").map_err(Error::Write)?;
        Ok(Self { out, types: Vec::new() })
    }

    /// Says something of the file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn attribute(&mut self, name: &str, text: &str) -> Result<(), Error> {
        self.write(&format!("/*\n * {} {}\n */ ;;\n\n", quoted(name), quoted(text)))
    }

    /// Says what records of a type hold. Gives the type's number.
    ///
    /// # Errors
    /// Where its name or that of one of its fields is there already, and those of the writer that it is given.
    pub fn define(&mut self, of: RecordType) -> Result<usize, Error> {
        of.check_names(&self.types)?;
        let mut text = format!("#{}:\n", self.types.len() + 1);
        let mut line = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a string grows");
        for (name, about) in &of.attributes {
            line(format_args!("// {} {}\n", quoted(name), quoted(about)));
        }
        line(format_args!("{} {{\n", quoted(&of.name)));
        for field in &of.fields {
            for (name, about) in [("unit", &field.unit), ("meaning", &field.meaning)] {
                if !about.is_empty() {
                    line(format_args!("  // {} {}\n", quoted(name), quoted(about)));
                }
            }
            let (kind, dimension) = match field.kind {
                Kind::Integer => ("long", ""),
                Kind::Real => ("double", ""),
                Kind::Text => ("char", "[]"),
                Kind::Integers => ("long", "[]"),
                Kind::Reals => ("double", "[]"),
            };
            line(format_args!("  {kind} {}{dimension};\n", quoted(&field.name)));
        }
        line(format_args!("}};;\n\n"));
        self.write(&text)?;
        self.types.push(of);
        Ok(self.types.len() - 1)
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Where the values do not suit the type, and those of the writer that it is given.
    ///
    /// # Panics
    /// When no type has this number.
    pub fn record(&mut self, of: usize, values: &[Value]) -> Result<(), Error> {
        self.types[of].check(values)?;
        let values: Vec<String> = values.iter().map(value).collect();
        let text = format!("{} {{ {} }};;\n", quoted(&self.types[of].name), values.join(", "));
        self.write(&text)
    }

    /// Hands all on to what is below.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn finish(mut self) -> Result<W, Error> {
        self.out.flush().map_err(Error::Write)?;
        Ok(self.out)
    }

    fn write(&mut self, text: &str) -> Result<(), Error> {
        self.out.write_all(text.as_bytes()).map_err(Error::Write)
    }
}

fn value(value: &Value) -> String {
    let many = |n: usize, items: Vec<String>| format!("[{n}] {{ {} }}", items.join(", "));
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => real(*number),
        Value::Text(text) => format!("[{}] {{ {} }}", text.len(), quoted(text)),
        Value::Integers(numbers) => many(numbers.len(), numbers.iter().map(i64::to_string).collect()),
        Value::Reals(numbers) => many(numbers.len(), numbers.iter().copied().map(real).collect()),
    }
}

/// The shortest text that is read back as the same number, with a point or exponent, which tells it from an integer.
fn real(number: f64) -> String {
    format!("{number:?}")
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
