//! Why a system cannot be what its file says.

use std::io;
use std::path::PathBuf;

use stream::EndpointError;

/// Why a system cannot be what its file says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The text is no TOML, or has a table or key that there is not.
    #[error("this is not a description of a system")]
    Syntax(#[from] toml::de::Error),
    /// There is nothing to start.
    #[error("there is no component; begin with a table [component.NAME]")]
    Empty,
    /// There are more than can be watched.
    #[error("{given} components are too many: the limit is {limit}")]
    TooMany {
        /// How many there are.
        given: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A component's name would not do as a file's.
    #[error("`{}` cannot be a component's name: it is 1 to 40 letters, digits, `-` and `_`", given.escape_debug())]
    Name {
        /// What was given.
        given: String,
    },
    /// There is no such component to run.
    #[error("[component.{component}] runs `{given}`, which does not exist{}", near(suggestion))]
    UnknownKind {
        /// The component.
        component: String,
        /// What it should run.
        given: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// A key that the component does not have.
    #[error("[component.{component}] has a key `{given}` that a {kind} does not take{}", near(suggestion))]
    UnknownKey {
        /// The component.
        component: String,
        /// What it runs.
        kind: String,
        /// The key.
        given: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// A key that the component cannot do without.
    #[error("[component.{component}] lacks `{key}`, which a {kind} needs")]
    MissingKey {
        /// The component.
        component: String,
        /// What it runs.
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
        /// What it could be.
        needed: &'static str,
    },
    /// A reference to a component that is not there.
    #[error("`{key}` of [component.{component}] names `{given}`, but there is no such component{}", near(suggestion))]
    UnknownComponent {
        /// The component that refers to it.
        component: String,
        /// By which key.
        key: String,
        /// What it names.
        given: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// An endpoint that is none.
    #[error("[component.{component}]")]
    Endpoint {
        /// The component.
        component: String,
        /// What is wrong with it.
        source: EndpointError,
    },
    /// The run folder cannot be made, or its path is too long for sockets.
    #[error("cannot use `{}` as a run folder", path.display())]
    RunFolder {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No port is free.
    #[error("cannot find a free port of the loopback")]
    Port(#[source] io::Error),
    /// A process or its log cannot be started.
    #[error("cannot start {component}")]
    Start {
        /// The component.
        component: String,
        /// Why not.
        source: io::Error,
    },
}

fn near(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default()
}

/// The candidate that `given` is most like, if it is like one at all.
pub(crate) fn suggest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let like = |candidate: &'a str| (strsim::jaro_winkler(given, candidate), candidate);
    let best = candidates.into_iter().map(like).max_by(|left, right| left.0.total_cmp(&right.0))?;
    (best.0 >= LIKENESS_MIN).then(|| best.1.to_owned())
}

/// Below this two names have little more in common than some letters.
const LIKENESS_MIN: f64 = 0.75;
