//! Files to draw into, SVG or PNG by their names.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
pub use picture::Kind;

/// A file to draw into.
#[derive(Clone, Debug)]
pub struct Drawing {
    path: PathBuf,
    kind: Kind,
}

/// The kinds that an argument may name.
pub fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::NAMES).map(|name| name.parse().expect("these are the names of the kinds"))
}

impl Drawing {
    /// A file of that kind, whatever its name.
    pub fn new(path: PathBuf, kind: Kind) -> Self {
        Self { path, kind }
    }

    /// Returns the path of the drawing.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Draws, over what was there.
    pub fn draw(&self, picture: &picture::Picture) -> anyhow::Result<()> {
        let bytes = picture.encode(self.kind)?;
        std::fs::write(&self.path, bytes).with_context(|| format!("cannot write `{}`", self.path.display()))
    }
}

/// Parses a path as typed: the kind is in its name.
pub fn drawing(text: &str) -> Result<Drawing, String> {
    let path = PathBuf::from(text);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let kind = extension.and_then(|extension| extension.parse().ok());
    let kind =
        kind.ok_or_else(|| format!("cannot tell from `{text}` what to draw; its name must end in .svg or .png"))?;
    Ok(Drawing { path, kind })
}
