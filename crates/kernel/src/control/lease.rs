//! The lease: the right to change things, for one controller at a time, in the order in which they asked.

use std::collections::VecDeque;

/// Greatest number of controllers that may wait.
const QUEUE_MAX: usize = 16;

/// Longest time of a lease, in seconds.
const SECONDS_MAX: u32 = 3600;

/// The right to change things.
#[derive(Clone, Debug, Default)]
pub struct Lease {
    /// The controllers that asked; the first has the lease, once `until_ns` is set.
    queue: VecDeque<Asker>,
    until_ns: u64,
}

#[derive(Clone, Debug)]
struct Asker {
    name: String,
    token: String,
    seconds: u32,
}

/// The reason why a controller may not change things.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Another controller has the lease.
    #[error("`{holder}` has the lease for {seconds} s more; wait for it with `foretop kernel lease --wait`")]
    Held {
        /// Name of the controller that has the lease.
        holder: String,
        /// Seconds for which that controller still has the lease.
        seconds: u32,
    },
    /// Too many controllers wait.
    #[error("{QUEUE_MAX} controllers wait for the lease already; try again later")]
    QueueFull,
    /// A token that no controller has, or none any longer.
    #[error("this lease is over, or never was; ask for another")]
    NoSuchToken,
}

impl Lease {
    /// Asks for the lease. `token` is a new secret. Returns whether it is given at once, and who is before the asker.
    ///
    /// # Errors
    /// If somebody has the lease and the asker does not wait, or too many wait.
    pub fn ask(
        &mut self,
        name: &str,
        token: &str,
        seconds: u32,
        wait: bool,
        now_ns: u64,
    ) -> Result<(bool, Vec<String>), Refused> {
        self.pass_on(now_ns);
        if let Some((holder, seconds)) = self.holder(now_ns)
            && !wait
        {
            return Err(Refused::Held { holder, seconds });
        }
        if self.queue.len() > QUEUE_MAX {
            return Err(Refused::QueueFull);
        }
        let ahead: Vec<String> = self.queue.iter().map(|asker| asker.name.clone()).collect();
        self.queue.push_back(Asker { name: name.into(), token: token.into(), seconds: seconds.clamp(1, SECONDS_MAX) });
        if ahead.is_empty() {
            self.start(now_ns);
        }
        Ok((ahead.is_empty(), ahead))
    }

    /// Whether a controller with this token, or without any, may change things.
    ///
    /// # Errors
    /// With the controller that may.
    pub fn check(&mut self, token: Option<&str>, now_ns: u64) -> Result<(), Refused> {
        self.pass_on(now_ns);
        match (self.queue.front(), token) {
            (None, None) => Ok(()),
            (Some(first), Some(token)) if first.token == token => Ok(()),
            (_, Some(token)) if !self.queue.iter().any(|asker| asker.token == token) => Err(Refused::NoSuchToken),
            _ => {
                let (holder, seconds) = self.holder(now_ns).unwrap_or_default();
                Err(Refused::Held { holder, seconds })
            }
        }
    }

    /// Gives the lease back, or leaves the queue.
    ///
    /// # Errors
    /// If nobody has this token.
    pub fn release(&mut self, token: &str, now_ns: u64) -> Result<(), Refused> {
        self.pass_on(now_ns);
        let place = self.queue.iter().position(|asker| asker.token == token).ok_or(Refused::NoSuchToken)?;
        self.queue.remove(place);
        if place == 0 {
            self.start(now_ns);
        }
        Ok(())
    }

    /// Returns the name of the controller that has the lease, and the number of seconds for which it still has it.
    #[must_use]
    pub fn holder(&self, now_ns: u64) -> Option<(String, u32)> {
        let first = self.queue.front()?;
        let left = self.until_ns.saturating_sub(now_ns).div_ceil(1_000_000_000);
        Some((first.name.clone(), u32::try_from(left).unwrap_or(u32::MAX)))
    }

    /// Returns the names of the controllers that wait for the lease.
    #[must_use]
    pub fn waiting(&self) -> Vec<String> {
        self.queue.iter().skip(1).map(|asker| asker.name.clone()).collect()
    }

    /// Passes the lease on to the next if the time of its holder is over.
    fn pass_on(&mut self, now_ns: u64) {
        while !self.queue.is_empty() && now_ns >= self.until_ns {
            let over_ns = self.until_ns;
            self.queue.pop_front();
            self.start(over_ns);
        }
    }

    fn start(&mut self, now_ns: u64) {
        let seconds = self.queue.front().map_or(0, |first| first.seconds);
        self.until_ns = now_ns + u64::from(seconds) * 1_000_000_000;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_loser_is_told_who_holds_it_and_for_how_long() {
        let mut lease = Lease::default();
        assert_eq!(lease.ask("ann", "a", 60, false, 0), Ok((true, vec![])));
        let refused = Refused::Held { holder: "ann".into(), seconds: 50 };
        assert_eq!(lease.ask("bob", "b", 60, false, 10 * S), Err(refused.clone()));
        assert_eq!(lease.check(None, 10 * S), Err(refused));
        assert_eq!(lease.check(Some("a"), 10 * S), Ok(()));
    }

    #[test]
    fn who_waits_gets_it_when_the_time_of_the_first_is_over() {
        let mut lease = Lease::default();
        lease.ask("ann", "a", 60, false, 0).unwrap();
        assert_eq!(lease.ask("bob", "b", 30, true, 10 * S), Ok((false, vec!["ann".into()])));
        assert_eq!(lease.waiting(), ["bob"]);
        assert!(lease.check(Some("b"), 59 * S).is_err());
        assert_eq!(lease.check(Some("b"), 60 * S), Ok(()));
        assert_eq!(lease.check(Some("a"), 61 * S), Err(Refused::NoSuchToken));
        assert_eq!(lease.check(None, 90 * S), Ok(()));
    }

    #[test]
    fn what_is_given_back_is_the_next_ones() {
        let mut lease = Lease::default();
        lease.ask("ann", "a", 60, false, 0).unwrap();
        lease.ask("bob", "b", 60, true, 0).unwrap();
        lease.release("a", S).unwrap();
        assert_eq!(lease.holder(S), Some(("bob".into(), 60)));
        lease.release("b", S).unwrap();
        assert_eq!(lease.check(None, S), Ok(()));
    }
}
