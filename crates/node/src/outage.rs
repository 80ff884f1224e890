//! Logs when something beside the node fails, and when it works again: once each.

/// Whether something fails, and was said to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outage {
    is_on: bool,
}

/// A change that is worth reporting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Began,
    Ended,
}

impl Outage {
    /// Takes how it is with `what` at this moment: a problem, which holds no secret, or none.
    pub(crate) fn note(&mut self, what: &str, problem: Option<&str>) {
        match self.change(problem.is_some()) {
            Some(Change::Began) => {
                tracing::warn!(what, problem = problem.unwrap_or_default(), "it fails, and is tried again")
            }
            Some(Change::Ended) => tracing::info!(what, "it works again"),
            None => {}
        }
    }

    fn change(&mut self, is_on: bool) -> Option<Change> {
        match (std::mem::replace(&mut self.is_on, is_on), is_on) {
            (false, true) => Some(Change::Began),
            (true, false) => Some(Change::Ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_said_when_it_begins_and_when_it_ends() {
        let mut outage = Outage::default();
        let said = [false, true, true, false, false, true].map(|is_on| outage.change(is_on));
        assert_eq!(said, [None, Some(Change::Began), None, Some(Change::Ended), None, Some(Change::Began)]);
    }
}
