//! Admission control for connections: who may have one, and who has to go when there are too many.
//!
//! A connection begins as a stranger's and is a guest's from the first thing on that only a legitimate client says: a
//! token that is right, or a whole request where no token is wanted. Guests stay. Strangers share few places, and where
//! those are taken the newcomer gets the place of the one who has waited longest, of the address that holds most
//! (eviction): a client that says at once what it wants comes in, however many say nothing (slowloris).
//!
//! Knows no sockets and no clock; whoever accepts connections asks a [`Door`], and closes those that it turns out.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limits of the number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Guests and strangers together.
    pub total: usize,
    /// Strangers; at least 1.
    pub strangers: usize,
}

/// A door that several listeners can share.
#[derive(Clone)]
pub struct Door {
    limits: Limits,
    hall: Arc<Mutex<Hall>>,
}

/// The place of one connection; it is free again when this is dropped.
#[derive(Debug)]
pub struct Pass {
    door: Door,
    /// The number of the stranger; `None` for a guest.
    stranger: Option<u64>,
}

/// Every place is a guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The number of places.
    pub total: usize,
}

/// Counts of a door.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections of guests at this moment.
    pub n_guests: usize,
    /// Connections of strangers at this moment.
    pub n_strangers: usize,
    /// Strangers ever turned out for others.
    pub n_turned_out: u64,
    /// Newcomers ever refused because all places were guests'.
    pub n_refused: u64,
}

#[derive(Default)]
struct Hall {
    /// Strangers in the order in which they came.
    strangers: VecDeque<Stranger>,
    n_guests: usize,
    next: u64,
    n_turned_out: u64,
    n_refused: u64,
}

struct Stranger {
    number: u64,
    peer: Option<IpAddr>,
    turn_out: Box<dyn FnOnce() + Send>,
}

impl Limits {
    /// More connections than this are more than a process of ours can serve.
    const TOTAL_MAX: usize = 4096;

    /// A stranger costs as much memory as a guest.
    const STRANGERS_MAX: usize = 256;

    /// Returns the limits of a process that can have `n_connections` open, or fewer if that is more than it can serve.
    /// A quarter is for strangers.
    #[must_use]
    pub fn of(n_connections: usize) -> Self {
        let total = n_connections.min(Self::TOTAL_MAX);
        Self { total, strangers: (total / 4).clamp(1, Self::STRANGERS_MAX) }
    }
}

impl Door {
    /// A door with nobody inside.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, hall: Arc::default() }
    }

    /// Returns the limits of the door.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Lets a stranger in. `peer` is its address; `None` for one on this host that has none. `turn_out` is called, at
    /// most once and from whatever thread, when its place is given to another before it is a guest: it is to end the
    /// connection.
    ///
    /// # Errors
    /// [`Full`] when guests have all places.
    pub fn enter(&self, peer: Option<IpAddr>, turn_out: impl FnOnce() + Send + 'static) -> Result<Pass, Full> {
        let mut hall = self.hall();
        let n_strangers_max = self.limits.strangers.max(1).min(self.limits.total.saturating_sub(hall.n_guests));
        if n_strangers_max == 0 {
            hall.n_refused += 1;
            return Err(Full { total: self.limits.total });
        }
        let mut turned_out = Vec::new();
        while hall.strangers.len() >= n_strangers_max {
            turned_out.extend(hall.next_to_go());
        }
        hall.n_turned_out += turned_out.len() as u64;
        let number = hall.next;
        hall.next += 1;
        hall.strangers.push_back(Stranger { number, peer, turn_out: Box::new(turn_out) });
        drop(hall);
        turned_out.into_iter().for_each(|stranger| (stranger.turn_out)());
        Ok(Pass { door: self.clone(), stranger: Some(number) })
    }

    /// Returns the counts of the door.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let hall = self.hall();
        Counts {
            n_guests: hall.n_guests,
            n_strangers: hall.strangers.len(),
            n_turned_out: hall.n_turned_out,
            n_refused: hall.n_refused,
        }
    }

    fn hall(&self) -> MutexGuard<'_, Hall> {
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("limits", &self.limits).field("counts", &self.counts()).finish()
    }
}

impl Pass {
    /// Makes the stranger a guest, whom nobody turns out. `false` when its place is another's already: then the
    /// connection is to end.
    pub fn welcome(&mut self) -> bool {
        let Some(number) = self.stranger else { return true };
        let mut hall = self.door.hall();
        let is_inside = hall.remove(number);
        if is_inside {
            hall.n_guests += 1;
            self.stranger = None;
        }
        is_inside
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut hall = self.door.hall();
        match self.stranger {
            // One that was turned out is gone already.
            Some(number) => drop(hall.remove(number)),
            None => hall.n_guests -= 1,
        }
    }
}

impl Hall {
    /// Removes a stranger, and returns whether it was there.
    fn remove(&mut self, number: u64) -> bool {
        let found = self.strangers.binary_search_by_key(&number, |stranger| stranger.number);
        found.is_ok_and(|idx| self.strangers.remove(idx).is_some())
    }

    /// Removes the next stranger to go: of the address with most strangers, the one that came first.
    fn next_to_go(&mut self) -> Option<Stranger> {
        let mut peers: Vec<Option<IpAddr>> = self.strangers.iter().map(|stranger| stranger.peer).collect();
        peers.sort_unstable();
        let most = peers.chunk_by(|one, other| one == other).map(|same| (same.len(), same[0])).max()?.1;
        let first = self.strangers.iter().position(|stranger| stranger.peer == most)?;
        self.strangers.remove(first)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const HERE: [u8; 4] = [127, 0, 0, 1];
    const THERE: [u8; 4] = [192, 0, 2, 1];

    fn enter(door: &Door, peer: [u8; 4]) -> (Pass, Receiver<()>) {
        let (tell, told) = channel();
        let pass = door.enter(Some(peer.into()), move || tell.send(()).unwrap()).unwrap();
        (pass, told)
    }

    #[test]
    fn strangers_have_a_quarter_of_the_places_and_not_too_many() {
        assert_eq!(Limits::of(100), Limits { total: 100, strangers: 25 });
        assert_eq!(Limits::of(1_000_000), Limits { total: 4096, strangers: 256 });
        assert_eq!(Limits::of(3).strangers, 1);
    }

    #[test]
    fn the_newcomer_gets_the_place_of_whoever_waited_longest() {
        let door = Door::new(Limits { total: 10, strangers: 2 });
        let (mut first, out) = enter(&door, HERE);
        let (mut second, still_in) = enter(&door, HERE);
        let (_third, _) = enter(&door, HERE);
        assert_eq!((out.try_recv().is_ok(), still_in.try_recv().is_ok()), (true, false));
        assert!(!first.welcome() && second.welcome());
        drop(first);
        assert_eq!(door.counts(), Counts { n_guests: 1, n_strangers: 1, n_turned_out: 1, n_refused: 0 });
    }

    #[test]
    fn the_address_that_holds_most_gives_way() {
        let door = Door::new(Limits { total: 10, strangers: 3 });
        let (_one, alone) = enter(&door, THERE);
        let (_two, crowd) = enter(&door, HERE);
        let (_three, _) = enter(&door, HERE);
        let (_four, _) = enter(&door, THERE);
        assert!(alone.try_recv().is_err() && crowd.try_recv().is_ok());
    }

    #[test]
    fn guests_stay_and_leave_no_place_to_others() {
        let door = Door::new(Limits { total: 2, strangers: 2 });
        let mut guests = [enter(&door, HERE).0, enter(&door, HERE).0];
        assert!(guests.iter_mut().all(Pass::welcome) && guests.iter_mut().all(Pass::welcome));
        assert_eq!(door.enter(None, || ()).unwrap_err(), Full { total: 2 });
        drop(guests);
        assert_eq!(door.counts(), Counts { n_refused: 1, ..Counts::default() });
        assert!(door.enter(None, || ()).is_ok());
    }
}
