//! The one glob of this project: `*` stands for any text, dots and slashes included, `?` for one character.

use std::fmt;
use std::str::FromStr;

use globset::GlobMatcher;

/// A pattern of names, in which `*` stands for any text and `?` for one character; everything else stands for itself.
///
/// ```
/// use signal::Glob;
/// let glob: Glob = "cpu.*.busy".parse()?;
/// assert!(glob.matches("cpu.10.busy") && !glob.matches("cpu.busy"));
/// assert!(!Glob::exactly("what?").matches("whats"));
/// # Ok::<(), signal::GlobError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glob {
    given: String,
    matcher: GlobMatcher,
}

/// A text that is not a glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` selects nothing: write a name such as load.1m, with `*` for any text and `?` for one character")]
pub struct GlobError {
    /// The text, as it was given.
    pub given: String,
}

impl Glob {
    /// The glob that matches `name` only, whatever characters it has.
    ///
    /// # Panics
    /// Never: a name without wildcards always compiles.
    #[must_use]
    pub fn exactly(name: &str) -> Self {
        let glob = globset::Glob::new(&globset::escape(name)).expect("an escaped name is a glob");
        Self { given: name.to_owned(), matcher: glob.compile_matcher() }
    }

    /// Whether the whole of `name` is what this glob describes.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

impl FromStr for Glob {
    type Err = GlobError;

    fn from_str(given: &str) -> Result<Self, GlobError> {
        let refused = || GlobError { given: given.to_owned() };
        if given.is_empty() {
            return Err(refused());
        }
        let glob = globset::Glob::new(&escape(given)).map_err(|_| refused())?;
        Ok(Self { given: given.to_owned(), matcher: glob.compile_matcher() })
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

/// Takes their meaning from the characters that mean more in a path's glob: classes, alternatives, the backslash.
fn escape(glob: &str) -> String {
    let mut escaped = String::with_capacity(glob.len());
    for letter in glob.chars() {
        if matches!(letter, '[' | ']' | '{' | '}' | '!' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(glob: &str, matched: &[&str], others: &[&str]) {
        let glob: Glob = glob.parse().unwrap();
        for name in matched {
            assert!(glob.matches(name), "{glob} does not match {name}");
        }
        for name in others {
            assert!(!glob.matches(name), "{glob} matches {name}");
        }
    }

    #[test]
    fn a_star_reaches_over_dots_and_slashes() {
        check("cpu.*", &["cpu.busy", "cpu.10.busy", "cpu.a/b"], &["load.1m", "cpu"]);
        check("cpu.?.busy", &["cpu.0.busy"], &["cpu.10.busy"]);
    }

    #[test]
    fn everything_else_stands_for_itself() {
        check("net.[a-z]{b}\\x!.sent", &["net.[a-z]{b}\\x!.sent"], &["net.a.sent", "net.ab.sent"]);
    }

    #[test]
    fn an_empty_glob_is_refused() {
        assert_eq!("".parse::<Glob>().unwrap_err().given, "");
    }
}
