//! A connection as the door sees it: a stranger until its first request has the right to be answered.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use door::{Door, Full, Pass};
use tokio::sync::Notify;

use super::guests::{GUESTS_MAX, Guest, Guests, Place};
use crate::api::ErrorCode;
use crate::http::refusal::Refusal;

/// Time limit of a connection until its first request is there, a TLS handshake included.
pub(super) const FIRST_HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// The entrance of visitors.
pub(super) struct Entrance {
    door: Door,
    guests: Arc<Guests>,
}

/// A connection, for its task and for the requests on it.
#[derive(Clone)]
pub(in crate::http) struct Visitor(Arc<Inner>);

struct Inner {
    standing: Mutex<Standing>,
    /// The guests among which the visitor gets its place.
    guests: Arc<Guests>,
    guest: Guest,
    has_asked: AtomicBool,
}

/// A request that is being answered, until it is dropped.
pub(super) struct UnderWay(Arc<AtomicUsize>);

struct Standing {
    pass: Pass,
    /// The place of a guest.
    place: Option<Place>,
}

impl Entrance {
    pub(super) fn new(door: Door) -> Self {
        Self { door, guests: Arc::default() }
    }

    /// Lets a stranger in.
    ///
    /// # Errors
    /// When guests have all places.
    pub(super) fn enter(&self, peer: IpAddr) -> Result<Visitor, Full> {
        let turned_out = Arc::new(Notify::new());
        let tell = Arc::clone(&turned_out);
        let pass = self.door.enter(Some(peer), move || tell.notify_one())?;
        let standing = Mutex::new(Standing { pass, place: None });
        let guest = Guest { address: peer, n_requests: Arc::default(), turned_out };
        let (guests, has_asked) = (Arc::clone(&self.guests), AtomicBool::new(false));
        Ok(Visitor(Arc::new(Inner { standing, guests, guest, has_asked })))
    }

    /// The most visitors at once.
    pub(super) fn n_visitors_max(&self) -> usize {
        let limits = self.door.limits();
        limits.total.min(GUESTS_MAX + limits.strangers)
    }
}

impl Visitor {
    /// Notes that a whole head of a request is there, to be answered until what this returns is dropped.
    pub(super) fn ask(&self) -> UnderWay {
        self.0.has_asked.store(true, Ordering::Relaxed);
        let n_requests = Arc::clone(&self.0.guest.n_requests);
        n_requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(n_requests)
    }

    /// Makes it a guest, because its request has the right to be answered. Nothing happens to one that is.
    ///
    /// # Errors
    /// When guests have all places, or its place is another's already.
    pub(in crate::http) fn welcome(&self) -> Result<(), Refusal> {
        let mut standing = self.standing();
        if standing.place.is_some() {
            return Ok(());
        }
        let place =
            self.0.guests.seat(self.0.guest.clone()).map_err(|message| Refusal::new(ErrorCode::TooMany, message))?;
        if !standing.pass.welcome() {
            return Err(Refusal::new(ErrorCode::TooMany, "too many connections were made at once; try again"));
        }
        standing.place = Some(place);
        Ok(())
    }

    /// Returns when the connection has to end: its place is another's, or it took too long to ask for something.
    pub(super) async fn outstays(&self) {
        let is_late = async {
            tokio::time::sleep(FIRST_HEAD_TIME_MAX).await;
            if self.0.has_asked.load(Ordering::Relaxed) {
                std::future::pending().await
            }
        };
        tokio::select! {
            () = self.0.guest.turned_out.notified() => {}
            () = is_late => {}
        }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
