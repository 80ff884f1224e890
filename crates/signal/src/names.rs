//! Names as every server of Prometheus' kind reads them.

use std::borrow::Cow;

/// The name of a metric: letters and digits of ASCII, `_` and `:`, not beginning with a digit. Every other character
/// becomes `_`, as Prometheus escapes names by underscores.
#[must_use]
pub fn metric_name(text: &str) -> Cow<'_, str> {
    plain(text, |letter| letter == ':')
}

/// The name of a label: that of a metric, but without `:`.
#[must_use]
pub fn label_name(text: &str) -> Cow<'_, str> {
    plain(text, |_| false)
}

fn plain(text: &str, is_legal_too: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_legal = |idx: usize, letter: char| {
        let may_be_there = letter.is_ascii_alphanumeric() || letter == '_' || is_legal_too(letter);
        may_be_there && (idx > 0 || !letter.is_ascii_digit())
    };
    if !text.is_empty() && text.chars().enumerate().all(|(idx, letter)| is_legal(idx, letter)) {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().enumerate();
    let plain: String = letters.map(|(idx, letter)| if is_legal(idx, letter) { letter } else { '_' }).collect();
    Cow::Owned(if plain.is_empty() { "_".to_owned() } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_server_reads_becomes_an_underscore() {
        for (text, metric, label) in [
            ("job:rate_5m", "job:rate_5m", "job_rate_5m"),
            ("service.name", "service_name", "service_name"),
            ("größe", "gr__e", "gr__e"),
            ("1st", "_st", "_st"),
            ("", "_", "_"),
            ("a\"} 1\n", "a___1_", "a___1_"),
        ] {
            assert_eq!((&*metric_name(text), &*label_name(text)), (metric, label));
        }
    }
}
