//! The group that this process is in, and so the newcomer, who is a child of it.

use std::time::Duration;

use super::{
    core_set::CoreSet,
    group::{Groups, Place},
    recent::Recent,
};

/// The time for which the group is taken as known.
const HOME_KEPT: Duration = Duration::from_secs(10);

/// The group that this process is in, and what it uses.
#[derive(Debug)]
pub(crate) struct Home {
    place: Place,
    known_at: Option<Duration>,
    last_used_s: Option<(Duration, f64)>,
    used: Recent<1>,
    core_set: Option<CoreSet>,
}

impl Default for Home {
    fn default() -> Home {
        Home { place: Place::Root, known_at: None, last_used_s: None, used: Recent::new(), core_set: None }
    }
}

impl Home {
    pub(crate) fn read(&mut self, at: Duration, groups: &mut Groups) {
        if self.known_at.is_none_or(|known_at| at.saturating_sub(known_at) >= HOME_KEPT) {
            let place = groups.place_of("self", at);
            if place != self.place {
                *self = Home { place, ..Home::default() };
            }
            self.known_at = Some(at);
            self.core_set = groups.status_of("self").as_deref().and_then(CoreSet::parse_status);
        }
        let Some(used_s) = groups.used_s(&self.place) else { return };
        if let Some((last_at, last_s)) = self.last_used_s.replace((at, used_s)) {
            self.used.add(at.saturating_sub(last_at), [(used_s - last_s).max(0.0)]);
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The cores that this process may run on, and so its children, if that is known.
    pub(crate) fn core_set(&self) -> Option<&CoreSet> {
        self.core_set.as_ref()
    }

    /// Cores that the group used lately; none if it does not count them.
    pub(crate) fn used(&self) -> Option<f64> {
        self.used.rates().map(|[used]| used)
    }
}
