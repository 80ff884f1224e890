//! Types of records, and their values.

use crate::Error;

/// Types that a file may have.
const TYPES_MAX: usize = 4096;

/// The kind of value in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// Text.
    Text,
    /// Any number of whole numbers.
    Integers,
    /// Any number of numbers.
    Reals,
}

/// A field of a type of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, once in its type.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
    /// `ns`, `bytes`, or nothing for plain counts and names.
    pub unit: String,
    /// The meaning of the field, in a line.
    pub meaning: String,
}

/// A type of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordType {
    /// Its name, once in its file: `VM Summary`.
    pub name: String,
    /// The attributes of all its records.
    pub attributes: Vec<(String, String)>,
    /// The fields, in the order of the values.
    pub fields: Vec<Field>,
}

/// The value of a record in a field.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "as in `Kind`")]
pub enum Value {
    Integer(i64),
    Real(f64),
    Text(String),
    Integers(Vec<i64>),
    Reals(Vec<f64>),
}

/// The contents of a file, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// About the whole file, or what follows of it.
    Attribute(String, String),
    /// The type of records to come; its number is how many types came before it.
    Type(RecordType),
    /// A record.
    Record {
        /// The number of its type.
        of: usize,
        /// One for each field.
        values: Vec<Value>,
    },
}

impl Value {
    /// A number that is not below zero; one beyond the range of integers wraps.
    #[must_use]
    pub fn unsigned(number: impl Into<u64>) -> Self {
        Self::Integer(number.into().cast_signed())
    }

    /// A copy of a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// Returns the kind of field that the value suits.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Integer(_) => Kind::Integer,
            Self::Real(_) => Kind::Real,
            Self::Text(_) => Kind::Text,
            Self::Integers(_) => Kind::Integers,
            Self::Reals(_) => Kind::Reals,
        }
    }

    /// It as a number, where it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }
}

impl Field {
    /// A field with its unit and meaning.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind, unit: &str, meaning: impl Into<String>) -> Self {
        Self { name: name.into(), kind, unit: unit.into(), meaning: meaning.into() }
    }

    /// One of a whole number.
    #[must_use]
    pub fn integer(name: impl Into<String>, unit: &str, meaning: impl Into<String>) -> Self {
        Self::new(name, Kind::Integer, unit, meaning)
    }

    /// One of text.
    #[must_use]
    pub fn text(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self::new(name, Kind::Text, "", meaning)
    }
}

impl RecordType {
    /// Returns the position of the field that has this name.
    #[must_use]
    pub fn position(&self, field: &str) -> Option<usize> {
        self.fields.iter().position(|found| found.name == field)
    }

    /// Whether there is room for it behind those before it, its name is none of theirs, and each of its fields has a
    /// name of its own.
    pub(crate) fn check_names(&self, before: &[Self]) -> Result<(), Error> {
        if before.len() >= TYPES_MAX {
            return Err(Error::TooManyTypes { most: TYPES_MAX });
        }
        let twice = |what, name: &str| Err(Error::Twice { what, name: name.into() });
        if before.iter().any(|known| known.name == self.name) {
            return twice("type", &self.name);
        }
        let mut names = std::collections::HashSet::new();
        match self.fields.iter().find(|field| !names.insert(&field.name)) {
            Some(field) => twice("field", &field.name),
            None => Ok(()),
        }
    }

    /// Whether these values suit it.
    ///
    /// # Errors
    /// With what does not.
    pub fn check(&self, values: &[Value]) -> Result<(), Error> {
        let unsuited = |what| Err(Error::Unsuited { record: self.name.clone(), what });
        if values.len() != self.fields.len() {
            return unsuited(format!("{} values for {} fields", values.len(), self.fields.len()));
        }
        match self.fields.iter().zip(values).find(|(field, value)| field.kind != value.kind()) {
            Some((field, value)) => {
                unsuited(format!("`{}` holds {:?}, not {:?}", field.name, field.kind, value.kind()))
            }
            None => Ok(()),
        }
    }
}
