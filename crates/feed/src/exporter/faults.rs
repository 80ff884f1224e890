//! Faults of an exporter: their number, and the latest.

use super::{described::Role, error::ScrapeError};

/// Number of letters of a line or of an answer that are shown.
const SHOWN_LETTERS_MAX: usize = 80;

/// Counts what went wrong, and keeps the first fault of the last scrape that had one: an exporter that sends a million
/// bad lines does not have a million messages made.
#[derive(Debug)]
pub(super) struct Faults {
    url: String,
    n: u64,
    last: Option<ScrapeError>,
    is_said: bool,
    is_cap_said: bool,
}

impl Faults {
    pub(super) fn new(url: String) -> Faults {
        Faults { url, n: 0, last: None, is_said: false, is_cap_said: false }
    }

    pub(super) fn n(&self) -> u64 {
        self.n
    }

    pub(super) fn last(&self) -> Option<&ScrapeError> {
        self.last.as_ref()
    }

    /// Begins a scrape.
    pub(super) fn begin(&mut self) {
        self.is_said = false;
    }

    pub(super) fn note(&mut self, make: impl FnOnce(String) -> ScrapeError) {
        self.n += 1;
        if !self.is_said {
            self.is_said = true;
            self.last = Some(make(self.url.clone()));
        }
    }

    pub(super) fn malformed(&mut self, line_number: usize, needed: &'static str, line: &[u8]) {
        self.note(|url| ScrapeError::Malformed { url, line_number, needed, given: beginning(line) });
    }

    pub(super) fn doubled(&mut self, id: &str) {
        self.note(|url| ScrapeError::Doubled { url, id: id.to_owned() });
    }

    pub(super) fn type_changed(&mut self, id: &str, was: Role, is: Role) {
        let (was, is) = (was.as_str(), is.as_str());
        self.note(|url| ScrapeError::TypeChanged { url, id: id.to_owned(), was, is });
    }

    pub(super) fn buckets(&mut self, id: &str, needed: &'static str) {
        self.note(|url| ScrapeError::Buckets { url, id: id.to_owned(), needed });
    }

    /// Counts once, whatever the number at later scrapes.
    pub(super) fn too_many(&mut self, n_left_out: usize, n_signals_max: usize) {
        if !self.is_cap_said {
            self.is_cap_said = true;
            // Said once, so no other fault of the scrape may take its place.
            self.is_said = false;
            self.note(|url| ScrapeError::TooMany { url, n_left_out, n_signals_max });
        }
    }
}

/// The beginning of what somebody sent, as one line of text.
pub(super) fn beginning(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_LETTERS_MAX)]);
    text.chars().take(SHOWN_LETTERS_MAX).flat_map(char::escape_debug).collect()
}
