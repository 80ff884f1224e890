//! Admission control of transfers, and the order of their turns.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    message::{Request, Verdict},
    responder::ResponderSettings,
};

/// Connections from one origin at once, in whatever state. A peer that measures needs one, beside its last, whose end
/// may not have been seen here; and several peers may share an address.
const FROM_ONE_ORIGIN_MAX: usize = 8;

/// The time over which transfers are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// A host, or the network of one: of an IPv6 address the first 64 bits, because whoever has one of them has all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin(IpAddr);

impl Origin {
    pub(super) fn of(address: IpAddr) -> Origin {
        Origin(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        })
    }
}

/// The number of connections by origin, with a limit.
#[derive(Debug)]
pub(super) struct Connections {
    max: usize,
    from: BTreeMap<Origin, usize>,
}

impl Connections {
    pub(super) fn new(max: usize) -> Connections {
        Connections { max, from: BTreeMap::new() }
    }

    /// Counts another one from `origin`, unless there are too many.
    pub(super) fn try_add(&mut self, origin: Origin) -> bool {
        let is_full = self.from.values().sum::<usize>() >= self.max;
        if is_full || self.from.get(&origin).is_some_and(|n| *n >= FROM_ONE_ORIGIN_MAX) {
            return false;
        }
        *self.from.entry(origin).or_default() += 1;
        true
    }

    /// Counts one less from `origin`.
    pub(super) fn remove(&mut self, origin: Origin) {
        if let Some(n) = self.from.get_mut(&origin) {
            *n -= 1;
        }
        self.from.retain(|_, n| *n > 0);
    }
}

/// The transfers that run and those of the last minute.
#[derive(Debug)]
pub(super) struct Admission {
    settings: ResponderSettings,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    n_running: usize,
    started: BTreeMap<Origin, VecDeque<Instant>>,
    has_ended: bool,
}

/// The right to one transfer, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    admission: &'a Admission,
}

impl Admission {
    pub(super) fn new(settings: ResponderSettings) -> Admission {
        Admission { settings, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Decides on `request`: returns the turn, or the verdict that refuses the request. Waits for the turn, for as long
    /// as the settings allow.
    pub(super) fn decide(&self, request: Request, origin: Origin) -> Result<Turn<'_>, Verdict> {
        let ResponderSettings { n_bytes_max, span_max, per_minute_max, n_at_once_max, turn_wait, .. } = self.settings;
        if request.n_bytes > n_bytes_max {
            return Err(Verdict::TooManyBytes { limit: n_bytes_max });
        }
        if request.span > span_max {
            return Err(Verdict::TooLong { limit: span_max });
        }
        let mut state = self.state();
        if !state.count(origin, clock::instant(), per_minute_max) {
            return Err(Verdict::TooOften { per_minute: per_minute_max as u64 });
        }
        let must_wait = |state: &mut State| state.n_running >= n_at_once_max && !state.has_ended;
        let waited = self.changed.wait_timeout_while(state, turn_wait, must_wait);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.has_ended || state.n_running >= n_at_once_max {
            return Err(Verdict::Busy);
        }
        state.n_running += 1;
        Ok(Turn { admission: self })
    }

    /// Nobody waits any longer.
    pub(super) fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.admission.state().n_running -= 1;
        self.admission.changed.notify_one();
    }
}

impl State {
    /// Counts a transfer from `origin`, unless there were `max` of them in the minute before `now`.
    fn count(&mut self, origin: Origin, now: Instant, max: usize) -> bool {
        self.started.retain(|_, times| {
            times.retain(|time| now.saturating_duration_since(*time) < MINUTE);
            !times.is_empty()
        });
        let times = self.started.entry(origin).or_default();
        let is_counted = times.len() < max;
        if is_counted {
            times.push_back(now);
        }
        is_counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        Origin::of(text.parse().unwrap())
    }

    #[test]
    fn a_minute_s_transfers_are_counted_for_each_origin() {
        let mut state = State::default();
        let start = clock::instant();
        let mut count = |from: &str, after_s: u64| state.count(origin(from), start + Duration::from_secs(after_s), 2);
        let outcomes = [count("10.0.0.1", 0), count("10.0.0.1", 30), count("10.0.0.1", 59), count("10.0.0.2", 59)];
        assert_eq!(outcomes, [true, true, false, true]);
        assert_eq!([count("10.0.0.1", 60), count("10.0.0.1", 61)], [true, false]);
    }

    #[test]
    fn a_network_of_version_6_and_a_mapped_address_are_one_origin() {
        assert_eq!(origin("2001:db8:1:2:3::4"), origin("2001:db8:1:2::99"));
        assert_ne!(origin("2001:db8:1:2::"), origin("2001:db8:1:3::"));
        assert_eq!(origin("::ffff:192.0.2.7"), origin("192.0.2.7"));
        assert_ne!(origin("192.0.2.7"), origin("192.0.2.8"));
    }

    #[test]
    fn one_origin_cannot_take_all_connections() {
        let mut connections = Connections::new(FROM_ONE_ORIGIN_MAX + 1);
        let [one, other, third] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(origin);
        for _ in 0..FROM_ONE_ORIGIN_MAX {
            assert!(connections.try_add(one));
        }
        assert!(!connections.try_add(one));
        assert!(connections.try_add(other));
        assert!(!connections.try_add(third), "all are taken");
        connections.remove(other);
        assert!(connections.try_add(third));
    }
}
