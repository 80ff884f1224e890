//! Saving a predictor and restoring it without loss. The format is in `docs/formats/predictor-state.md`.

use crate::predictor::Predictor;

const MAGIC: [u8; 4] = *b"FTPS";
const VERSION: u8 = 2;

/// Why bytes are no saved predictor.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes do not begin as a saved predictor does.
    #[error("these {n_bytes} bytes are no saved predictor: they do not begin with FTPS")]
    NotAPredictor {
        /// How many bytes were given.
        n_bytes: usize,
    },
    /// Written in a version of the format that is not known.
    #[error("saved predictor of format version {given}; this program reads version {VERSION}")]
    UnknownVersion {
        /// The version that the bytes state.
        given: u8,
    },
    /// Cut off, or changed since they were written.
    #[error("saved predictor of {n_bytes} bytes is damaged: {problem}")]
    Damaged {
        /// How many bytes were given.
        n_bytes: usize,
        /// What does not fit.
        problem: &'static str,
    },
}

impl Predictor {
    /// The whole state as bytes; [`Predictor::restore`] gives back one that goes on to the same digits.
    ///
    /// # Panics
    /// Never: every part of a predictor can be encoded.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        bytes.extend(postcard::to_allocvec(self).expect("a predictor holds numbers, lists and text only"));
        bytes
    }

    /// Reads what [`Predictor::save`] wrote.
    ///
    /// # Errors
    /// [`RestoreError`] for anything else. Bytes from a stranger can yield a predictor that was never saved, but
    /// none that panics or that holds a number that is not finite.
    pub fn restore(bytes: &[u8]) -> Result<Self, RestoreError> {
        let n_bytes = bytes.len();
        let body = bytes.strip_prefix(&MAGIC).ok_or(RestoreError::NotAPredictor { n_bytes })?;
        let damaged = |problem| RestoreError::Damaged { n_bytes, problem };
        let (version, body) = body.split_first().ok_or(damaged("it ends before its version"))?;
        if *version != VERSION {
            return Err(RestoreError::UnknownVersion { given: *version });
        }
        let (predictor, rest): (Self, _) =
            postcard::take_from_bytes(body).map_err(|_| damaged("it is cut off or its fields do not decode"))?;
        if !rest.is_empty() {
            return Err(damaged("there are bytes after its end"));
        }
        if !predictor.is_sound() {
            return Err(damaged("its numbers contradict each other"));
        }
        Ok(predictor)
    }
}
