//! The structure of a file: what it says of itself, its types, and how many records of each there are.

use record::{Item, Items, RecordType};

use crate::Error;

/// Contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// Statements of the file about itself; the same statement once.
    pub attributes: Vec<(String, String)>,
    /// Each type, and how many records of it there are.
    pub types: Vec<(RecordType, u64)>,
}

impl Structure {
    /// Adds what comes next in a file.
    pub fn take(&mut self, item: &Item) {
        match item {
            Item::Attribute(name, text) => self.say(name.clone(), text.clone()),
            Item::Type(of) => self.types.push((of.clone(), 0)),
            Item::Record { of, .. } => self.types[*of].1 += 1,
        }
    }

    /// Adds what a file says of itself. A merged file says again and again which file it goes on with.
    pub(crate) fn say(&mut self, name: String, text: String) {
        let said = (name, text);
        if !self.attributes.contains(&said) {
            self.attributes.push(said);
        }
    }
}

/// Reads a file to its end. What was read before an error comes with it.
pub fn structure(items: Items<'_>) -> (Structure, Result<(), Error>) {
    let mut found = Structure::default();
    for item in items {
        match item {
            Ok(item) => found.take(&item),
            Err(error) => return (found, Err(error.into())),
        }
    }
    (found, Ok(()))
}

/// The type of this name among those read so far, with its number.
pub(crate) fn find<'a>(types: &'a [RecordType], name: &str) -> Result<(usize, &'a RecordType), Error> {
    types.iter().enumerate().find(|(_, of)| of.name == name).ok_or_else(|| Error::NoSuchType {
        name: name.into(),
        known: types.iter().map(|of| format!("`{}`", of.name)).collect::<Vec<_>>().join(", "),
    })
}

/// Returns the position of a field in its type.
pub(crate) fn position(of: &RecordType, field: &str) -> Result<usize, Error> {
    of.position(field).ok_or_else(|| Error::NoSuchField {
        record: of.name.clone(),
        name: field.into(),
        known: of.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}
