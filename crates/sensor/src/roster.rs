//! Things that come and go between ticks: cores, interfaces, disks.

use std::collections::HashMap;

/// Things by the names that the kernel gives them. One that is not called at a tick is forgotten.
#[derive(Debug)]
pub(crate) struct Roster<T> {
    members: HashMap<Box<[u8]>, Member<T>>,
    round: u64,
}

#[derive(Debug)]
struct Member<T> {
    thing: T,
    last_round: u64,
}

impl<T> Roster<T> {
    pub(crate) fn new() -> Roster<T> {
        Roster { members: HashMap::new(), round: 0 }
    }

    /// The one called `name`, made with `make` if it was not there at the last tick.
    pub(crate) fn call(&mut self, name: &[u8], make: impl FnOnce() -> T) -> &mut T {
        if !self.members.contains_key(name) {
            self.members.insert(name.into(), Member { thing: make(), last_round: self.round });
        }
        let member = self.members.get_mut(name).expect("it is there or was just inserted");
        member.last_round = self.round;
        &mut member.thing
    }

    /// Ends the tick: forgets whatever was not called since the last one ended.
    ///
    /// Left out when the file broke off half-way, so that the things after the break are not taken for gone.
    pub(crate) fn forget_uncalled(&mut self) {
        let round = self.round;
        self.members.retain(|_, member| member.last_round == round);
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_kept_while_it_is_called() {
        let mut roster = Roster::new();
        *roster.call(b"eth0", || 0) += 1;
        roster.forget_uncalled();
        assert_eq!(*roster.call(b"eth0", || 0), 1);
    }

    #[test]
    fn a_thing_that_is_not_called_is_forgotten() {
        let mut roster = Roster::new();
        roster.call(b"eth0", || 1);
        roster.forget_uncalled();
        roster.forget_uncalled();
        assert_eq!(*roster.call(b"eth0", || 0), 0);
    }
}
