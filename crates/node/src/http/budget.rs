//! Limits of the work that clients may ask for at once: each by itself, and all together.
//!
//! Work is counted in operations, as [`predict::Spec::fit_cost`] does, from when it is asked for until it is done or
//! given up.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::refusal::Refusal;
use crate::api::ErrorCode;

/// Limit of the work of one address, running and waiting: about 20 seconds of a core.
const CLIENT_MAX: u64 = 20_000_000_000;

/// Limit of the work of all clients together.
const NODE_MAX: u64 = 60_000_000_000;

/// The work that is running and waiting, by the address that asked for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Arc<Mutex<BTreeMap<Option<IpAddr>, u64>>>);

/// Work that is counted until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    client: Option<IpAddr>,
    cost: u64,
}

impl Budget {
    /// Counts so much more work for `client`.
    ///
    /// # Errors
    /// `too_many`, with the numbers, when that is more than it, or all, may have.
    pub(super) fn take(&self, client: Option<IpAddr>, cost: u64) -> Result<Share, Refusal> {
        let mut shares = self.lock();
        let of_client = shares.get(&client).copied().unwrap_or(0);
        let of_all = shares.values().fold(0_u64, |sum, share| sum.saturating_add(*share));
        for (whose, before, max) in
            [("your address has", of_client, CLIENT_MAX), ("all clients have", of_all, NODE_MAX)]
        {
            if before.saturating_add(cost) > max {
                let message = format!(
                    "this takes about {cost} operations; {whose} {before} running and waiting, and the limit is {max}: \
                     ask for less at once, or with a simpler model"
                );
                return Err(Refusal::new(ErrorCode::TooMany, message));
            }
        }
        shares.insert(client, of_client + cost);
        Ok(Share { budget: self.clone(), client, cost })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Option<IpAddr>, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut shares = self.budget.lock();
        if let Some(left) = shares.get_mut(&self.client) {
            *left -= self.cost;
            if *left == 0 {
                shares.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_share_and_all_together_no_more_than_the_node_gives() {
        let budget = Budget::default();
        let client = |idx: u8| Some(IpAddr::from([192, 0, 2, idx]));
        let first = budget.take(client(1), CLIENT_MAX).unwrap();
        assert!(budget.take(client(1), 1).is_err());
        let others = [2, 3].map(|idx| budget.take(client(idx), CLIENT_MAX).unwrap());
        assert!(budget.take(client(4), 1).is_err(), "three have all there is");
        drop(first);
        assert!(budget.take(client(4), 1).is_ok() && budget.take(client(1), CLIENT_MAX).is_ok());
        drop(others);
        assert!(budget.lock().is_empty());
    }
}
