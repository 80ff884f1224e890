//! Which signals of the host are measured.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Signals by globs on their ids: those that match `only`, if there is any, and do not match `without`.
///
/// In a glob `*` stands for any text, dots included, and `?` for one character; everything else stands for itself.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    only: Option<GlobSet>,
    without: GlobSet,
}

/// Text that is no glob.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{given}` does not select signals: write an id such as load.1m, with `*` for any text and `?` for one character"
)]
pub struct SelectionError {
    /// What was given, as it was given.
    pub given: String,
}

impl Selection {
    /// From globs; an empty `only` means everything.
    ///
    /// # Errors
    /// [`SelectionError`] for an empty glob, or one too large to be compiled.
    pub fn new<S: AsRef<str>>(only: &[S], without: &[S]) -> Result<Self, SelectionError> {
        let only = if only.is_empty() { None } else { Some(compile(only)?) };
        Ok(Self { only, without: compile(without)? })
    }

    /// Whether the signal called `id` is to be measured.
    #[must_use]
    pub fn takes(&self, id: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.is_match(id)) && !self.without.is_match(id)
    }
}

fn compile<S: AsRef<str>>(globs: &[S]) -> Result<GlobSet, SelectionError> {
    let mut set = GlobSetBuilder::new();
    for glob in globs.iter().map(AsRef::as_ref) {
        let refused = |_| SelectionError { given: glob.to_owned() };
        if glob.is_empty() {
            return Err(SelectionError { given: String::new() });
        }
        set.add(Glob::new(&escape(glob)).map_err(refused)?);
    }
    set.build().map_err(|_| SelectionError { given: globs.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ") })
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
    fn check(only: &[&str], without: &[&str], taken: &[&str], refused: &[&str]) {
        let selection = Selection::new(only, without).unwrap();
        for id in taken {
            assert!(selection.takes(id), "{id} was refused");
        }
        for id in refused {
            assert!(!selection.takes(id), "{id} was taken");
        }
    }

    #[test]
    fn nothing_said_takes_everything() {
        check(&[], &[], &["load.1m", ""], &[]);
    }

    #[test]
    fn a_star_reaches_over_dots() {
        check(
            &["cpu.*"],
            &["cpu.?.busy"],
            &["cpu.busy", "cpu.10.busy", "cpu.0.user"],
            &["cpu.0.busy", "load.1m", "cpu"],
        );
    }

    #[test]
    fn everything_else_stands_for_itself() {
        check(&["net.[a-z]{b}\\x!.sent"], &[], &["net.[a-z]{b}\\x!.sent"], &["net.a.sent", "net.ab.sent"]);
    }

    #[test]
    fn an_empty_glob_is_refused() {
        assert!(Selection::new(&[""], &[]).is_err());
    }
}
