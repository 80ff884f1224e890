//! Writing in whichever format was chosen.

use std::io::Write;

use crate::{Error, Item, RecordType, Value, Writer, sddf};

/// A format that files are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The own one.
    #[default]
    Own,
    /// SDDF in ASCII.
    Sddf,
}

/// A writer in one of the formats.
pub enum Output<W: Write> {
    /// A writer in the own format.
    Own(Writer<W>),
    /// A writer in SDDF in ASCII.
    Sddf(sddf::Writer<W>),
}

impl<W: Write> Output<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn new(format: Format, out: W) -> Result<Self, Error> {
        Ok(match format {
            Format::Own => Self::Own(Writer::new(out)?),
            Format::Sddf => Self::Sddf(sddf::Writer::new(out)?),
        })
    }

    /// Writes what a reader gave; types have to come in the order of their numbers.
    ///
    /// # Errors
    /// Where values do not suit their type, and those of the writer that it is given.
    pub fn item(&mut self, item: &Item) -> Result<(), Error> {
        match item {
            Item::Attribute(name, text) => self.attribute(name, text),
            Item::Type(of) => self.define(of.clone()).map(|_| ()),
            Item::Record { of, values } => self.record(*of, values),
        }
    }

    /// Says something of the file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn attribute(&mut self, name: &str, text: &str) -> Result<(), Error> {
        match self {
            Self::Own(writer) => writer.attribute(name, text),
            Self::Sddf(writer) => writer.attribute(name, text),
        }
    }

    /// Says what records of a type hold. Gives the type's number.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn define(&mut self, of: RecordType) -> Result<usize, Error> {
        match self {
            Self::Own(writer) => writer.define(of),
            Self::Sddf(writer) => writer.define(of),
        }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Where the values do not suit the type, and those of the writer that it is given.
    pub fn record(&mut self, of: usize, values: &[Value]) -> Result<(), Error> {
        match self {
            Self::Own(writer) => writer.record(of, values),
            Self::Sddf(writer) => writer.record(of, values),
        }
    }

    /// Says that this is all.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn finish(self) -> Result<W, Error> {
        match self {
            Self::Own(writer) => writer.finish(),
            Self::Sddf(writer) => writer.finish(),
        }
    }
}
