//! Errors of one query.

use std::io;

use http_client::{LoginError, RequestError};

/// The reason why a query gave fewer readings than it could have, or none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There was no answer, or not all of one, or it was no HTTP.
    #[error("query {query}: cannot ask `{server}`")]
    Unreachable {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The client's error.
        source: RequestError,
    },
    /// The answer broke off or took too long.
    #[error("query {query}: cannot read the answer of `{server}` to its end")]
    Broken {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The client's error.
        source: io::Error,
    },
    /// The answer is longer than it may be.
    #[error(
        "query {query}: the answer of `{server}` is longer than {limit_bytes} bytes: choose fewer series, or ask for less history"
    )]
    TooLong {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The greatest length of an answer.
        limit_bytes: u64,
    },
    /// The server says what is wrong.
    #[error("query {query}: `{server}` says: {text}")]
    Refused {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// Prometheus's word for what kind of error it is: `bad_data`, `execution`, `timeout`.
        kind: String,
        /// Its own sentence, or the beginning of it.
        text: String,
    },
    /// The server says something else than a server of Prometheus does.
    #[error("query {query}: `{server}` answers with status {status}, but not as Prometheus would")]
    NotPrometheus {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The status of HTTP.
        status: u16,
        /// The place where the answer differs from the format.
        source: serde_json::Error,
    },
    /// The value is none that has one number for each series.
    #[error("query {query}: `{server}` gives {given}, but a query needs a scalar or an instant vector")]
    Type {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The type of the value.
        given: &'static str,
    },
    /// Two series of the result have the same labels, apart from their name.
    #[error(
        "query {query}: `{server}` gives `{id}` twice: its first value counts; series must differ in labels, not only in names"
    )]
    Doubled {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The signal.
        id: String,
    },
    /// The result has more series than are kept. Said once.
    #[error(
        "query {query}: `{server}` gives {n_left_out} signals beyond the {n_signals_max} that are kept: choose fewer, or raise the cap"
    )]
    TooMany {
        /// The query's name.
        query: String,
        /// The server.
        server: String,
        /// The number of signals left out the first time.
        n_left_out: usize,
        /// The cap.
        n_signals_max: usize,
    },
    /// Nobody can be logged in.
    #[error(transparent)]
    Login(#[from] LoginError),
}

impl QueryError {
    /// Whether the expression makes no sense, whoever is asked and whenever.
    #[must_use]
    pub fn is_bad_expression(&self) -> bool {
        matches!(self, QueryError::Refused { kind, .. } if kind == "bad_data")
            || matches!(self, QueryError::Type { .. })
    }

    /// Whether the same may be answered later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            QueryError::Unreachable { .. } | QueryError::Broken { .. } | QueryError::Login(_) => true,
            QueryError::Refused { kind, .. } => !matches!(kind.as_str(), "bad_data" | "execution"),
            QueryError::NotPrometheus { status, .. } => *status >= 500,
            _ => false,
        }
    }
}
