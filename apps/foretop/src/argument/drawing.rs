//! Files to draw into, SVG or PNG by their names.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// A file to draw into.
#[derive(Clone, Debug)]
pub struct Drawing {
    path: PathBuf,
    kind: Kind,
}

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Lines and words, sharp at any size
    Svg,
    /// Dots, of twice the usual resolution
    Png,
}

impl Kind {
    /// What a file's name ends with.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

impl Drawing {
    /// A file of that kind, whatever its name.
    pub fn new(path: PathBuf, kind: Kind) -> Self {
        Self { path, kind }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Draws, over what was there.
    pub fn draw(&self, picture: &picture::Picture) -> anyhow::Result<()> {
        /// Sharp on screens of twice the usual resolution.
        const DENSITY: f64 = 2.0;
        let bytes = match self.kind {
            Kind::Svg => picture.to_svg().into_bytes(),
            Kind::Png => picture.to_png(DENSITY)?,
        };
        std::fs::write(&self.path, bytes).with_context(|| format!("cannot write `{}`", self.path.display()))
    }
}

/// Of a path as typed: the kind is in its name.
pub fn drawing(text: &str) -> Result<Drawing, String> {
    let path = PathBuf::from(text);
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let kind = match extension.as_deref() {
        Some("svg") => Kind::Svg,
        Some("png") => Kind::Png,
        _ => return Err(format!("cannot tell from `{text}` what to draw; its name must end in .svg or .png")),
    };
    Ok(Drawing { path, kind })
}
