//! Errors of a system that cannot be what its file describes.

use std::io;
use std::path::PathBuf;

use stream::EndpointError;

/// The reason why a system cannot be what its file describes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// Text that is not TOML, or has a table or key that there is not.
    #[error("this is not a description of a system")]
    Syntax(#[from] toml::de::Error),
    /// A file without any component.
    #[error("there is no component; begin with a table [component.NAME]")]
    Empty,
    /// More components than can be watched.
    #[error("{given} components are too many: the limit is {limit}")]
    TooMany {
        /// Number of components.
        given: usize,
        /// Greatest number of components.
        limit: usize,
    },
    /// A component's name that would not do as a file's.
    #[error("`{}` cannot be a component's name: it is 1 to 40 letters, digits, `-` and `_`", given.escape_debug())]
    Name {
        /// Name that was given.
        given: String,
    },
    /// A kind of component that does not exist.
    #[error("[component.{component}] runs `{given}`, which does not exist{}", near(suggestion))]
    UnknownKind {
        /// The component.
        component: String,
        /// Kind that was given.
        given: String,
        /// Name that may have been meant.
        suggestion: Option<String>,
    },
    /// A key that the component does not have.
    #[error("[component.{component}] has a key `{given}` that a {kind} does not take{}", near(suggestion))]
    UnknownKey {
        /// The component.
        component: String,
        /// Kind of the component.
        kind: String,
        /// The key.
        given: String,
        /// Name that may have been meant.
        suggestion: Option<String>,
    },
    /// A key that the component cannot do without.
    #[error("[component.{component}] lacks `{key}`, which a {kind} needs")]
    MissingKey {
        /// The component.
        component: String,
        /// Kind of the component.
        kind: String,
        /// The key.
        key: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` of [component.{component}] must be {needed}")]
    Value {
        /// The component.
        component: String,
        /// The key.
        key: String,
        /// Description of the values that it could be.
        needed: &'static str,
    },
    /// A reference to a component that is not there.
    #[error("`{key}` of [component.{component}] names `{given}`, but there is no such component{}", near(suggestion))]
    UnknownComponent {
        /// The component that refers to it.
        component: String,
        /// Key that refers to it.
        key: String,
        /// Name that was given.
        given: String,
        /// Name that may have been meant.
        suggestion: Option<String>,
    },
    /// An endpoint that is not one.
    #[error("[component.{component}]")]
    Endpoint {
        /// The component.
        component: String,
        /// Fault of the endpoint.
        source: EndpointError,
    },
    /// A run folder that cannot be made, or whose path is too long for sockets.
    #[error("cannot use `{}` as a run folder", path.display())]
    RunFolder {
        /// Path where it should be.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Lack of a free port.
    #[error("cannot find a free port of the loopback")]
    Port(#[source] io::Error),
    /// A process or its log that cannot be started.
    #[error("cannot start {component}")]
    Start {
        /// The component.
        component: String,
        /// The cause.
        source: io::Error,
    },
}

fn near(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default()
}

/// Returns the candidate that `given` is most like, if it is like one at all.
pub(crate) fn suggest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let like = |candidate: &'a str| (strsim::jaro_winkler(given, candidate), candidate);
    let best = candidates.into_iter().map(like).max_by(|left, right| left.0.total_cmp(&right.0))?;
    (best.0 >= LIKENESS_MIN).then(|| best.1.to_owned())
}

/// Least similarity: below this two names have little more in common than some letters.
const LIKENESS_MIN: f64 = 0.75;
