//! The text beside a data file, for people and programs: one `Name: value` on each line, then its structure.

use std::fmt::Write;

use crate::{Kind, RecordType};

/// The facts about a data file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// About the file as a whole, in order: `FileName`, `HostName`, `BootId` and so on.
    pub head: Vec<(String, String)>,
    /// Each type, and how many records of it there are.
    pub types: Vec<(RecordType, u64)>,
}

impl Info {
    /// Returns the facts as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a string grows");
        for (name, value) in &self.head {
            line(format_args!("{name}: {}\n", value.replace('\n', " ")));
        }
        line(format_args!("RecordTypes: {}\n", self.types.len()));
        for (of, n) in &self.types {
            line(format_args!("\nRecord: {}\nCount: {n}\n", of.name));
            for (name, value) in &of.attributes {
                line(format_args!("Attribute: {name} = {}\n", value.replace('\n', " ")));
            }
            for field in &of.fields {
                let unit = if field.unit.is_empty() { "-" } else { &field.unit };
                line(format_args!(
                    "Field: {} {} {unit} {}\n",
                    field.name,
                    kind(field.kind),
                    field.meaning.replace('\n', " ")
                ));
            }
        }
        text
    }
}

/// The name of a kind.
#[must_use]
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "integer",
        Kind::Real => "real",
        Kind::Text => "text",
        Kind::Integers => "integer[]",
        Kind::Reals => "real[]",
    }
}
