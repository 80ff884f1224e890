//! The samples that models are judged on.

mod file;

use series::Merged;
use sha2::{Digest, Sha256};

pub use file::TraceFileError;

/// A name stands in every row of the results.
const N_BYTES_NAME_MAX: usize = 200;

/// A recorded series under a name.
#[derive(Clone, Debug)]
pub struct Trace {
    name: String,
    samples: Vec<f64>,
    digest: String,
    merged: Option<Merged>,
}

/// Samples that are no trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A name without letters, or too long a one.
    #[error("a trace's name has {n_bytes} bytes; it must have from 1 to {N_BYTES_NAME_MAX}")]
    Name {
        /// Its length.
        n_bytes: usize,
    },
    /// An infinite sample is no measurement.
    #[error("sample {idx} of trace `{name}` is {value}, which is not a measurement; mark a missing sample as NaN")]
    Infinite {
        /// The trace.
        name: String,
        /// Position of the sample, from 0.
        idx: usize,
        /// The sample.
        value: f64,
    },
    /// Nothing was ever measured.
    #[error("trace `{name}` has {n} samples, none of which is a number")]
    Empty {
        /// The trace.
        name: String,
        /// Its length.
        n: usize,
    },
}

impl Trace {
    /// `samples` are evenly spaced, oldest first, gaps as NaN.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn new(name: impl Into<String>, samples: Vec<f64>) -> Result<Self, TraceError> {
        let name = name.into();
        if !(1..=N_BYTES_NAME_MAX).contains(&name.len()) {
            return Err(TraceError::Name { n_bytes: name.len() });
        }
        if let Some(idx) = samples.iter().position(|sample| sample.is_infinite()) {
            return Err(TraceError::Infinite { name, idx, value: samples[idx] });
        }
        if samples.iter().all(|sample| sample.is_nan()) {
            return Err(TraceError::Empty { name, n: samples.len() });
        }
        let digest = digest(&samples);
        Ok(Self { name, samples, digest, merged: None })
    }

    /// The samples of a file that share a step, if there are any. Who reads a file for people warns of them.
    #[must_use]
    pub fn merged(&self) -> Option<&Merged> {
        self.merged.as_ref()
    }

    /// Returns the name as it stands in the results.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Oldest first, gaps as NaN.
    #[must_use]
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// SHA-256 of the samples as little-endian doubles, gaps as the NaN 0x7ff8000000000000, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn digest(samples: &[f64]) -> String {
    let mut hasher = Sha256::new();
    for sample in samples {
        let bits = if sample.is_nan() { 0x7ff8_0000_0000_0000 } else { sample.to_bits() };
        hasher.update(bits.to_le_bytes());
    }
    hexadecimal(&hasher.finalize())
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
