//! Telling the registry what this mirror gives, for as long as it does.

use std::rc::Rc;

use super::{Core, Handler, Opened};
use crate::endpoint::{Endpoint, Place, Role};
use crate::message::Description;
use crate::registry::{Announcement, Announcer, HEARTBEAT};
use crate::security::Security;

/// Announces the stream until this future is dropped, which ends the announcement.
pub(super) async fn run<H: Handler>(core: Core<H>, security: Rc<Security>) {
    let (mut described, places, name) = {
        let core = core.borrow();
        (core.outputs.described(), core.places.clone(), core.name.clone())
    };
    drop(core);
    let mut announcer = Announcer::new(&security);
    loop {
        let description = described.borrow_and_update().clone();
        if let Some(announcement) = description.and_then(|description| announcement(&name, description, &places)) {
            let announced = announcer.announce(announcement).await;
            if let (Err(error), Some(place)) = (announced, places.first()) {
                place.counters.note(&error);
            }
        }
        tokio::select! {
            // The outputs are there for as long as this task is.
            _ = described.changed() => {}
            () = tokio::time::sleep(HEARTBEAT) => {}
        }
    }
}

/// Builds the announcement of all that can be read or asked here; `None` if there is nothing.
fn announcement(name: &str, description: Description, places: &[Opened]) -> Option<Announcement> {
    let endpoints = places.iter().filter_map(|place| Some((place.endpoint.parse::<Endpoint>().ok()?, place)));
    let (mut addresses, mut servers) = (Vec::new(), Vec::new());
    for (endpoint, place) in endpoints {
        match (endpoint.role, &endpoint.place) {
            (Role::Connect, _) => addresses.extend(place.address.clone()),
            (Role::Target, place @ (Place::Nats(_) | Place::Udp { .. })) => addresses.push(place.to_string()),
            (Role::Server, _) => servers.extend(place.address.clone()),
            _ => {}
        }
    }
    let is_something = !addresses.is_empty() || !servers.is_empty();
    is_something.then(|| Announcement::new(name.to_owned(), description, addresses, servers))
}
