//! Meaning of the server's answer for the samples that were sent.

use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;
use ureq::http::{HeaderMap, header};

/// Letters of the server's message that are shown.
const SHOWN_LETTERS_MAX: usize = 200;

/// Fate of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The server has them.
    Taken,
    /// Something in them is wrong, and perhaps not in all.
    Wrong,
    /// The server will have none of them.
    Refused,
    /// The server may accept them later.
    Later,
}

impl Verdict {
    /// Returns the verdict by the specification: 2xx is success, 4xx but 429 is for good, everything else may pass. Of
    /// the statuses for good there are some that are about the samples and not about who sends them.
    pub(crate) fn of(status: u16) -> Verdict {
        match status {
            200..=299 => Verdict::Taken,
            429 => Verdict::Later,
            400 | 409 | 413 | 422 => Verdict::Wrong,
            401..=499 => Verdict::Refused,
            _ => Verdict::Later,
        }
    }
}

/// Returns the time that the server asks to be left alone: `Retry-After`, in seconds or as a date. A date is counted
/// from that of the answer, so that it does not matter what this host takes for the time.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let asked = text(header::RETRY_AFTER)?.trim();
    if let Ok(seconds) = asked.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = |text: &str| DateTimeParser::new().parse_timestamp(text).ok();
    let wait = moment(asked)?.duration_since(moment(text(header::DATE)?)?);
    Duration::try_from(wait).ok()
}

/// Returns the beginning of the server's message, as one line.
pub(crate) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN_LETTERS_MAX)]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|letter| !letter.is_control()).take(SHOWN_LETTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_hundreds_are_for_good_except_too_many_requests() {
        let verdicts = [200, 204, 301, 400, 401, 404, 413, 429, 500, 503].map(Verdict::of);
        use Verdict::{Later, Refused, Taken, Wrong};
        assert_eq!(verdicts, [Taken, Taken, Later, Wrong, Refused, Refused, Wrong, Later, Later, Later]);
    }

    #[track_caller]
    fn check_wait(asked: &str, date: Option<&str>, expected: Option<u64>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, asked.parse().unwrap());
        date.map(|date| headers.insert(header::DATE, date.parse().unwrap()));
        assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{asked}");
    }

    #[test]
    fn a_server_asks_for_seconds_or_for_a_date_of_its_own_clock() {
        check_wait("120", None, Some(120));
        let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
        check_wait("Wed, 21 Oct 2015 07:28:30 GMT", date, Some(30));
        check_wait("Wed, 21 Oct 2015 07:27:30 GMT", date, None);
        check_wait("Wed, 21 Oct 2015 07:28:30 GMT", None, None);
        check_wait("soon", date, None);
        check_wait("-1", date, None);
    }

    #[test]
    fn what_the_server_says_is_one_short_line() {
        assert_eq!(beginning(b"out of\n  order\x1b[2J\xff"), "out of order[2J\u{fffd}");
        assert_eq!(beginning("\u{e9}".repeat(1000).as_bytes()).chars().count(), SHOWN_LETTERS_MAX);
    }
}
