//! The places of guests, and who gives one up if all are taken.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::outage::Outage;

/// The most guests at once, whatever the door allows: each may take some hundred kilobytes.
pub(super) const GUESTS_MAX: usize = 512;

/// The name of this work in the log.
const ANSWERING: &str = "answering HTTP connections";

/// The places. If all are taken, a newcomer gets that of a guest who asks for nothing, first of the address that has
/// most of them. An address with less than half as many gets one of theirs in any case.
#[derive(Default)]
pub(super) struct Guests(Mutex<Seated>);

#[derive(Default)]
struct Seated {
    /// Guests in the order in which they came.
    guests: BTreeMap<u64, Guest>,
    n_so_far: u64,
    outage: Outage,
}

/// A connection that may have a place.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) address: IpAddr,
    /// Requests of it that are being answered.
    pub(super) n_requests: Arc<AtomicUsize>,
    /// Notified when it has to go.
    pub(super) turned_out: Arc<Notify>,
}

/// The place of one guest, free again once it is dropped.
pub(super) struct Place {
    guests: Arc<Guests>,
    number: u64,
}

impl Guests {
    /// Gives the guest a place.
    ///
    /// # Errors
    /// If all are taken and nobody has to go; with the reason, which is in the log as well.
    pub(super) fn seat(self: &Arc<Self>, guest: Guest) -> Result<Place, String> {
        let mut seated = self.seated();
        let leaves = (seated.guests.len() >= GUESTS_MAX).then(|| seated.who_leaves(guest.address));
        let is_full = leaves == Some(None);
        let problem =
            is_full.then(|| format!("all {GUESTS_MAX} connections that there can be are asking for something"));
        seated.outage.note(ANSWERING, problem.as_deref());
        if let Some(problem) = problem {
            return Err(problem);
        }
        if let Some(gone) = leaves.flatten().and_then(|number| seated.guests.remove(&number)) {
            gone.turned_out.notify_one();
        }
        let number = seated.n_so_far;
        seated.n_so_far += 1;
        seated.guests.insert(number, guest);
        Ok(Place { guests: Arc::clone(self), number })
    }

    fn seated(&self) -> MutexGuard<'_, Seated> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seated {
    /// The guest who leaves for a newcomer from this address.
    fn who_leaves(&self, newcomer: IpAddr) -> Option<u64> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        self.guests.values().for_each(|guest| *counts.entry(guest.address).or_default() += 1);
        let (most, n_most) = counts.iter().max_by_key(|(address, n)| (**n, **address))?;
        let n_own = counts.get(&newcomer).copied().unwrap_or(0);
        let is_idle = |guest: &Guest| guest.n_requests.load(Ordering::Relaxed) == 0;
        let first = |leaves: &dyn Fn(&Guest) -> bool| Some(*self.guests.iter().find(|(_, guest)| leaves(guest))?.0);
        first(&|guest| guest.address == *most && is_idle(guest))
            .or_else(|| first(&is_idle))
            .or_else(|| (2 * n_own < *n_most).then(|| first(&|guest| guest.address == *most)).flatten())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.guests.seated().guests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn guest(host: u8, n_requests: usize) -> Guest {
        let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, host));
        Guest { address, n_requests: Arc::new(AtomicUsize::new(n_requests)), turned_out: Arc::default() }
    }

    fn seat(guests: &Arc<Guests>, n: usize, guest: &Guest) -> Vec<Place> {
        (0..n).map(|_| guests.seat(guest.clone()).unwrap()).collect()
    }

    fn count(guests: &Guests, host: &Guest) -> usize {
        guests.seated().guests.values().filter(|guest| guest.address == host.address).count()
    }

    #[test]
    fn who_asks_for_nothing_makes_room_first() {
        let guests = Arc::<Guests>::default();
        let (busy, idle) = (guest(1, 1), guest(2, 0));
        let _places = (seat(&guests, 400, &busy), seat(&guests, GUESTS_MAX - 400, &idle));
        let more = seat(&guests, 10, &guest(3, 1));
        assert_eq!((count(&guests, &busy), count(&guests, &idle), more.len()), (400, GUESTS_MAX - 410, 10));
        drop(more);
        assert_eq!(guests.seated().guests.len(), GUESTS_MAX - 10);
    }

    #[test]
    fn one_address_does_not_keep_others_out() {
        let guests = Arc::<Guests>::default();
        let (greedy, other) = (guest(1, 1), guest(2, 1));
        let places = seat(&guests, GUESTS_MAX, &greedy);
        assert!(guests.seat(greedy.clone()).is_err());
        let of_other: Vec<Place> = std::iter::from_fn(|| guests.seat(other.clone()).ok()).collect();
        // A third for the one, two thirds for the other.
        assert_eq!((of_other.len(), count(&guests, &greedy)), (171, 341));
        drop((places, of_other));
        assert!(guests.seated().guests.is_empty());
    }

    #[tokio::test]
    async fn a_guest_who_has_to_go_is_notified() {
        let guests = Arc::<Guests>::default();
        let idle = guest(1, 0);
        let _places = seat(&guests, GUESTS_MAX, &idle);
        let _newcomer = guests.seat(guest(2, 1)).unwrap();
        idle.turned_out.notified().await;
    }
}
