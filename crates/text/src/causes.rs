//! Errors for people.

use std::error::Error;

/// An error and what caused it, in one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// `text` in one line if it has the picture of a place in a file, as errors of TOML have: the picture is left out, the
/// place stays. Other text is left as it is.
#[must_use]
pub fn without_picture(text: &str) -> String {
    let is_margin = |line: &str| line.trim() == "|";
    let is_of_picture =
        |line: &&str| line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).starts_with('|');
    if !text.lines().any(is_margin) {
        return text.to_owned();
    }
    let mut told = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        told.push(line);
        if lines.peek().is_some_and(|next| is_margin(next)) {
            while lines.next_if(is_of_picture).is_some() {}
        }
    }
    told.join(": ")
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Because(&'static str, Option<Box<Self>>);

    impl fmt::Display for Because {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Because {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn causes_follow_the_error() {
        let disk = Because("the disk is full", None);
        let write = Because("cannot write", Some(Box::new(disk)));
        assert_eq!(
            with_causes(&Because("nothing was kept", Some(Box::new(write)))),
            "nothing was kept: cannot write: the disk is full"
        );
    }

    #[test]
    fn the_picture_of_a_place_is_left_out() {
        let told = "`x.toml`: TOML parse error at line 12, column 1\n   |\n12 | a = | 1\n   | ^^^\nunknown field `a`\n";
        assert_eq!(without_picture(told), "`x.toml`: TOML parse error at line 12, column 1: unknown field `a`");
        for other in ["", "one line", "a name\n3 | of two lines"] {
            assert_eq!(without_picture(other), other);
        }
    }
}
