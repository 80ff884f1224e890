//! Saving what is in motion and restoring it without loss. The formats are in `docs/formats/predictor-state.md` and
//! `docs/formats/live-state.md`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::live::Live;
use crate::predictor::Predictor;

/// Format of saved bytes: what they begin with, and what they hold.
struct Format {
    what: &'static str,
    magic: [u8; 4],
    version: u8,
    refusal: fn(usize) -> RestoreError,
}

const PREDICTOR: Format = Format {
    what: "predictor",
    magic: *b"FTPS",
    version: 9,
    refusal: |n_bytes| RestoreError::NotAPredictor { n_bytes },
};

const LIVE: Format =
    Format { what: "series", magic: *b"FTLV", version: 8, refusal: |n_bytes| RestoreError::NotASeries { n_bytes } };

/// The reason why bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes do not begin as a saved predictor does.
    #[error("these {n_bytes} bytes are not a saved predictor: they do not begin with FTPS")]
    NotAPredictor {
        /// Number of bytes given.
        n_bytes: usize,
    },
    /// The bytes do not begin as a saved series does.
    #[error("these {n_bytes} bytes are not a saved series: they do not begin with FTLV")]
    NotASeries {
        /// Number of bytes given.
        n_bytes: usize,
    },
    /// Written in a version of the format that is not known.
    #[error("saved {what} of format version {given}; this program reads version {known}")]
    UnknownVersion {
        /// The kind of object that was to be restored.
        what: &'static str,
        /// The version that the bytes state.
        given: u8,
        /// The version that is read.
        known: u8,
    },
    /// Cut off, or changed since they were written.
    #[error("saved {what} of {n_bytes} bytes is damaged: {problem}")]
    Damaged {
        /// The kind of object that was to be restored.
        what: &'static str,
        /// Number of bytes given.
        n_bytes: usize,
        /// The problem with the bytes.
        problem: &'static str,
    },
}

impl Format {
    fn save(&self, state: &impl Serialize) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.push(self.version);
        bytes.extend(postcard::to_allocvec(state).expect("numbers, lists and text can be encoded"));
        bytes
    }

    fn restore<T: DeserializeOwned>(&self, bytes: &[u8], is_sound: impl Fn(&T) -> bool) -> Result<T, RestoreError> {
        let (what, n_bytes, known) = (self.what, bytes.len(), self.version);
        let body = bytes.strip_prefix(&self.magic).ok_or_else(|| (self.refusal)(n_bytes))?;
        let damaged = |problem| RestoreError::Damaged { what, n_bytes, problem };
        let (version, body) = body.split_first().ok_or(damaged("it ends before its version"))?;
        if *version != known {
            return Err(RestoreError::UnknownVersion { what, given: *version, known });
        }
        let (state, rest): (T, _) =
            postcard::take_from_bytes(body).map_err(|_| damaged("it is cut off or its fields do not decode"))?;
        if !rest.is_empty() {
            return Err(damaged("there are bytes after its end"));
        }
        if !is_sound(&state) {
            return Err(damaged("its numbers contradict each other"));
        }
        Ok(state)
    }
}

impl Predictor {
    /// The whole state as bytes; [`Predictor::restore`] gives back one that goes on to the same digits.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        PREDICTOR.save(self)
    }

    /// Reads what [`Predictor::save`] wrote.
    ///
    /// # Errors
    /// [`RestoreError`] for anything else. Bytes from a stranger can yield a predictor that was never saved, but
    /// none that panics or that holds a number that is not finite.
    pub fn restore(bytes: &[u8]) -> Result<Self, RestoreError> {
        PREDICTOR.restore(bytes, Self::is_sound)
    }
}

impl Live {
    /// The whole state as bytes; [`Live::restore`] gives back one that goes on to the same digits. A task that is out
    /// is due again then.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        LIVE.save(self)
    }

    /// Reads what [`Live::save`] wrote.
    ///
    /// # Errors
    /// [`RestoreError`] for anything else, as of [`Predictor::restore`].
    pub fn restore(bytes: &[u8]) -> Result<Self, RestoreError> {
        LIVE.restore(bytes, Self::is_sound)
    }
}
