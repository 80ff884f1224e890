//! The file that lists which calls of an unmodified program are conditional, and how far clusters may be apart.

use std::time::Duration;

use serde::Deserialize;
use units::span;

use super::{Condition, Question, Reduction, Sign, UnsoundError};

const FORMAT: u32 = 1;
/// Calls that a cluster may be ahead unless told otherwise: what waits for a slow one stays below 1 MiB a cluster.
const LEAD: u64 = 4096;
/// Default patience; clusters have been seen to drift 102 s apart (Bongo 2007).
const PATIENCE: Duration = Duration::from_secs(600);

/// Settings of conditional allreduces, and the calls that are conditional.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of calls after which an answer is compared with a plain allreduce; 0 for never.
    pub check: u64,
    /// Calls that a cluster may be ahead of another.
    pub lead: u64,
    /// Time to wait for a cluster from which nothing comes.
    pub patience: Duration,
    /// Ranks of each cluster, as in `0-3 4-7`; none for those of the tree file.
    pub clusters: Option<String>,
    /// Conditional calls of a program that declares none itself.
    pub calls: Vec<Call>,
}

/// Allreduces of one double with the question's operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The communicator's name, as `MPI_Comm_get_name` tells it.
    pub communicator: String,
    /// The program's question about the result.
    pub question: Question,
}

/// The reason why a file holds no usable settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No TOML, or a key or value that does not belong there.
    #[error("{0}")]
    Syntax(String),
    /// A version that is not known here.
    #[error("this file has format {given}; only format {FORMAT} is known here")]
    Format {
        /// The format in the file.
        given: u32,
    },
    /// No length of time.
    #[error("patience `{}` is not a length of time: write a number and a unit, as in 10min", given.escape_debug())]
    Patience {
        /// The text as given.
        given: String,
    },
    /// Clusters that cannot move.
    #[error("lead is 0; it must be 1 or more, or two clusters would wait for each other")]
    Lead,
    /// A question that a part cannot answer.
    #[error("call {number}: {fault}")]
    Unsound {
        /// Number of the call, counted from 1.
        number: usize,
        /// The reason.
        fault: UnsoundError,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: u32,
    #[serde(default)]
    check: u64,
    lead: Option<u64>,
    patience: Option<String>,
    clusters: Option<String>,
    #[serde(default)]
    call: Vec<CallText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    #[serde(default = "world")]
    communicator: String,
    operation: Reduction,
    sign: Sign,
    condition: Condition,
    constant: f64,
}

fn world() -> String {
    "MPI_COMM_WORLD".to_owned()
}

impl Default for Settings {
    fn default() -> Self {
        Self { check: 0, lead: LEAD, patience: PATIENCE, clusters: None, calls: Vec::new() }
    }
}

impl Settings {
    /// Reads the settings from the text. Format: `docs/formats/mpi-conditional.md`.
    ///
    /// # Errors
    /// The first fault.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let text: Text = toml::from_str(text).map_err(|error| SettingsError::Syntax(error.to_string()))?;
        if text.format != FORMAT {
            return Err(SettingsError::Format { given: text.format });
        }
        let patience = match text.patience {
            Some(given) => span::parse(&given).map_err(|_| SettingsError::Patience { given })?,
            None => PATIENCE,
        };
        if text.lead == Some(0) {
            return Err(SettingsError::Lead);
        }
        let call = |(call, number): (CallText, usize)| {
            let question = Question::new(call.operation, call.sign, call.condition, call.constant);
            let question = question.map_err(|fault| SettingsError::Unsound { number, fault })?;
            Ok(Call { communicator: call.communicator, question })
        };
        Ok(Self {
            check: text.check,
            lead: text.lead.unwrap_or(LEAD),
            patience,
            clusters: text.clusters,
            calls: text.call.into_iter().zip(1..).map(call).collect::<Result<_, SettingsError>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str =
        "[[call]]\noperation = \"sum\"\nsign = \"nonnegative\"\ncondition = \"greater\"\nconstant = 0.01904\n";

    #[test]
    fn a_call_is_on_all_ranks_unless_told_otherwise() {
        let settings = Settings::parse(&format!("format = 1\ncheck = 100\npatience = \"2min\"\n{CALL}")).unwrap();
        assert_eq!((settings.check, settings.lead, settings.patience.as_secs()), (100, LEAD, 120));
        assert_eq!(settings.calls[0].communicator, "MPI_COMM_WORLD");
        assert!(settings.calls[0].question.holds(0.02));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let told = |text: &str| Settings::parse(text).unwrap_err().to_string();
        assert!(told("format = 2").contains("only format 1"));
        assert!(told("format = 1\nlead = 0").contains("1 or more"));
        assert!(told("format = 1\npatience = \"long\"").contains("`long` is not a length of time"));
        assert!(told("format = 1\nchek = 1").contains("chek"));
        let any_sign = format!("format = 1\n{CALL}{}", CALL.replace("nonnegative", "any"));
        assert!(told(&any_sign).starts_with("call 2: a sum of values of any sign"));
    }
}
