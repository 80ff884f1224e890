//! A connection as the door sees it: a stranger until its first request has the right to be answered.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use door::{Door, Full, Pass};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::api::ErrorCode;
use crate::http::refusal::Refusal;

/// The most guests at once, whatever the door allows: each may take some hundred kilobytes.
pub(super) const GUESTS_MAX: usize = 512;

/// How long a connection may take until its first request is there, a TLS handshake included.
pub(super) const FIRST_HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// Where visitors come in.
pub(super) struct Entrance {
    door: Door,
    places: Arc<Semaphore>,
}

/// A connection, for its task and for the requests on it.
#[derive(Clone)]
pub(in crate::http) struct Visitor(Arc<Inner>);

struct Inner {
    standing: Mutex<Standing>,
    /// Where it gets its place once it is a guest.
    places: Arc<Semaphore>,
    has_asked: AtomicBool,
    turned_out: Arc<Notify>,
}

struct Standing {
    pass: Pass,
    /// That of a guest.
    place: Option<OwnedSemaphorePermit>,
}

impl Entrance {
    pub(super) fn new(door: Door) -> Self {
        Self { door, places: Arc::new(Semaphore::new(GUESTS_MAX)) }
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
        let (places, has_asked) = (Arc::clone(&self.places), AtomicBool::new(false));
        Ok(Visitor(Arc::new(Inner { standing, places, has_asked, turned_out })))
    }

    /// The most visitors at once.
    pub(super) fn n_visitors_max(&self) -> usize {
        let limits = self.door.limits();
        limits.total.min(GUESTS_MAX + limits.strangers)
    }
}

impl Visitor {
    /// Notes that a whole head of a request is there.
    pub(super) fn ask(&self) {
        self.0.has_asked.store(true, Ordering::Relaxed);
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
        let Ok(place) = Arc::clone(&self.0.places).try_acquire_owned() else {
            let message = format!("{GUESTS_MAX} connections are open, which is the most there can be");
            return Err(Refusal::new(ErrorCode::TooMany, message));
        };
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
            () = self.0.turned_out.notified() => {}
            () = is_late => {}
        }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
