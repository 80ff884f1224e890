//! Selection of signals: those that match one of several globs and none of several others.

use crate::{Glob, GlobError};

/// Signals by globs on their ids: those that match `only`, if there is any, and do not match `without`.
///
/// The default takes every signal.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    only: Vec<Glob>,
    without: Vec<Glob>,
}

impl Selection {
    /// Builds a selection from globs; an empty `only` means every signal.
    ///
    /// # Errors
    /// [`GlobError`] for an empty glob, or one too large to be compiled.
    pub fn new<S: AsRef<str>>(only: &[S], without: &[S]) -> Result<Self, GlobError> {
        let parse = |globs: &[S]| globs.iter().map(|glob| glob.as_ref().parse()).collect::<Result<_, _>>();
        Ok(Self { only: parse(only)?, without: parse(without)? })
    }

    /// Whether the signal called `id` is meant.
    #[must_use]
    pub fn takes(&self, id: &str) -> bool {
        let is_wanted = self.only.is_empty() || self.only.iter().any(|glob| glob.matches(id));
        is_wanted && !self.leaves_out(id)
    }

    /// Whether `without` matches the signal called `id`.
    #[must_use]
    pub fn leaves_out(&self, id: &str) -> bool {
        self.without.iter().any(|glob| glob.matches(id))
    }

    /// Whether `only` speaks of one of these. If it does not, whoever asks for them by other means wants them all the
    /// same.
    #[must_use]
    pub fn names_any<'a>(&self, mut ids: impl Iterator<Item = &'a str>) -> bool {
        ids.any(|id| self.only.iter().any(|glob| glob.matches(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_takes_everything() {
        let all = Selection::default();
        assert!(all.takes("load.1m") && all.takes(""));
    }

    #[test]
    fn what_is_left_out_is_left_out_of_what_was_asked_for() {
        let selection = Selection::new(&["cpu.*", "load.1m"], &["cpu.?.busy"]).unwrap();
        assert!(["cpu.busy", "cpu.10.busy", "load.1m"].iter().all(|id| selection.takes(id)));
        assert!(["cpu.0.busy", "load.5m"].iter().all(|id| !selection.takes(id)));
    }

    #[test]
    fn what_nobody_speaks_of_is_told_from_what_is_left_out() {
        let selection = Selection::new(&["load.*"], &["*.5m"]).unwrap();
        assert!(selection.names_any(["cpu.busy", "load.1m"].into_iter()));
        assert!(!selection.names_any(["cpu.busy", "node_load1"].into_iter()));
        assert!(selection.leaves_out("load.5m") && !selection.leaves_out("cpu.busy"));
    }

    #[test]
    fn an_empty_glob_is_refused() {
        assert!(Selection::new(&["load.*", ""], &[]).is_err());
    }
}
