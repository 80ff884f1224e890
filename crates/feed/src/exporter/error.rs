//! Errors of one scrape.

use std::io;

use http_client::{LoginError, RequestError};

/// The reason why a scrape gave fewer readings than it could have, or none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScrapeError {
    /// There was no answer, or not all of one, or it was no HTTP.
    #[error("cannot read `{url}`")]
    Unreadable {
        /// The exporter's page.
        url: String,
        /// The client's error.
        source: RequestError,
    },
    /// The answer broke off, or took too long, or was longer than it said.
    #[error("cannot read the page at `{url}` to its end")]
    Broken {
        /// The exporter's page.
        url: String,
        /// The client's error.
        source: io::Error,
    },
    /// The exporter answers that it does not give the page.
    #[error("`{url}` answers with status {status}: needs 200")]
    Status {
        /// The exporter's page.
        url: String,
        /// The status of HTTP.
        status: u16,
    },
    /// The page is somewhere else, and it is not for the exporter to say where this host sends requests.
    #[error("`{url}` redirects to `{}`: only another path of the same host and port is followed, at most three times", target.escape_debug())]
    Elsewhere {
        /// The exporter's page.
        url: String,
        /// The target of the redirect, or the beginning of the target.
        target: String,
    },
    /// The answer is no page of metrics.
    #[error("`{url}` is `{}`: needs `application/openmetrics-text` or `text/plain`", given.escape_debug())]
    ContentType {
        /// The exporter's page.
        url: String,
        /// The content type of the answer, or the beginning of the content type.
        given: String,
    },
    /// The page is longer than it may be.
    #[error("the page at `{url}` is longer than {limit_bytes} bytes")]
    TooLong {
        /// The exporter's page.
        url: String,
        /// The greatest length of a page.
        limit_bytes: u64,
    },
    /// A page of OpenMetrics has no last line, so there was more of it.
    #[error("the page at `{url}` is cut off: needs `# EOF` as its last line")]
    CutOff {
        /// The exporter's page.
        url: String,
    },
    /// Nobody can be logged in.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// A line says something else than it should.
    #[error("line {line_number} of `{url}` cannot be understood: needs {needed}, says `{given}`")]
    Malformed {
        /// The exporter's page.
        url: String,
        /// The number of the line, from 1.
        line_number: usize,
        /// The content that would be right.
        needed: &'static str,
        /// The line, or its beginning.
        given: String,
    },
    /// A series comes twice, of which the first counts.
    #[error("`{id}` is listed twice at `{url}`: its first value counts")]
    Doubled {
        /// The exporter's page.
        url: String,
        /// The signal.
        id: String,
    },
    /// A series that was a counter is now something else, or the other way round, so its values have another meaning.
    #[error("`{id}` of `{url}` changed from {was} to {is}: it has no values until the node restarts")]
    TypeChanged {
        /// The exporter's page.
        url: String,
        /// The signal.
        id: String,
        /// The first role of the series.
        was: &'static str,
        /// The role of the series on this page.
        is: &'static str,
    },
    /// A histogram's buckets make none.
    #[error("the buckets of `{id}` at `{url}` give no quantiles: needs {needed}")]
    Buckets {
        /// The exporter's page.
        url: String,
        /// The histogram's signal.
        id: String,
        /// The condition that the buckets do not meet.
        needed: &'static str,
    },
    /// The exporter offers more than is kept. Said once.
    #[error(
        "`{url}` offers {n_left_out} signals beyond the {n_signals_max} that are kept: choose fewer, or raise the cap"
    )]
    TooMany {
        /// The exporter's page.
        url: String,
        /// The number of signals left out the first time.
        n_left_out: usize,
        /// The cap.
        n_signals_max: usize,
    },
}
