//! Who may change things: one controller at a time, in the order in which they asked.

use std::collections::VecDeque;

/// So many may wait.
const QUEUE_MAX: usize = 16;

/// So long a lease lasts at most.
const SECONDS_MAX: u32 = 3600;

/// The right to change things.
#[derive(Clone, Debug, Default)]
pub struct Lease {
    /// The first of them has it, once `until_ns` is set.
    queue: VecDeque<Asker>,
    until_ns: u64,
}

#[derive(Clone, Debug)]
struct Asker {
    name: String,
    token: String,
    seconds: u32,
}

/// Why a controller may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Somebody else may.
    #[error("`{holder}` has the lease for {seconds} s more; wait for it with `foretop kernel lease --wait`")]
    Held {
        /// Who.
        holder: String,
        /// For how long.
        seconds: u32,
    },
    /// Too many wait.
    #[error("{QUEUE_MAX} controllers wait for the lease already; try again later")]
    QueueFull,
    /// Nobody has this token, or no longer.
    #[error("this lease is over, or never was; ask for another")]
    NoSuchToken,
}

impl Lease {
    /// Asks for it. `token` is a new secret. Says whether it is given at once, and who is before the asker.
    ///
    /// # Errors
    /// Where somebody has it and the asker does not wait, or too many do.
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
    /// With who may.
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

    /// Gives it back, or leaves the queue.
    ///
    /// # Errors
    /// Where nobody has this token.
    pub fn release(&mut self, token: &str, now_ns: u64) -> Result<(), Refused> {
        self.pass_on(now_ns);
        let place = self.queue.iter().position(|asker| asker.token == token).ok_or(Refused::NoSuchToken)?;
        self.queue.remove(place);
        if place == 0 {
            self.start(now_ns);
        }
        Ok(())
    }

    /// Who has it, and for how many seconds more.
    #[must_use]
    pub fn holder(&self, now_ns: u64) -> Option<(String, u32)> {
        let first = self.queue.front()?;
        let left = self.until_ns.saturating_sub(now_ns).div_ceil(1_000_000_000);
        Some((first.name.clone(), u32::try_from(left).unwrap_or(u32::MAX)))
    }

    /// Who waits for it.
    #[must_use]
    pub fn waiting(&self) -> Vec<String> {
        self.queue.iter().skip(1).map(|asker| asker.name.clone()).collect()
    }

    /// Those whose time is over lose it to the next.
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
