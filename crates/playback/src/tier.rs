//! Which tier of the stretcher the CPU will let keep up.

use crate::stretch::Tier;
use crate::{Arrival, Situation};

/// Decoding and stretching should be forecast to be so much faster than play, also if it goes badly; less, and the tier goes down before a
/// block is late.
const SPARE_MIN: f64 = 1.5;

/// And so much before it goes up again: a higher tier takes a few times as long.
const SPARE_AMPLE: f64 = 3.5;

/// The tier to go on with, given the forecast of decoding at this one; one step at a time.
#[must_use]
pub fn next_tier(tier: Tier, situation: &Situation) -> Tier {
    let Some(decoding) = situation.decoding else { return tier };
    let least = least(&decoding.rate) / situation.requested_rate;
    match tier {
        Tier::Full if least < SPARE_MIN => Tier::Coarse,
        Tier::Coarse if least < SPARE_MIN => Tier::Plain,
        Tier::Plain if least < SPARE_MIN => Tier::None,
        Tier::None if least > SPARE_AMPLE => Tier::Plain,
        Tier::Plain if least > SPARE_AMPLE => Tier::Coarse,
        Tier::Coarse if least > SPARE_AMPLE => Tier::Full,
        tier => tier,
    }
}

fn least(rate: &Arrival) -> f64 {
    rate.reaches.iter().map(|reach| reach.least_rate).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decoding;

    #[test]
    fn tiers_go_down_before_play_is_reached_and_up_with_room_to_spare() {
        let at = |tier, rate| {
            let decoding = Some(Decoding { ahead_seconds: 4.0, rate: Arrival::steady(rate) });
            let situation = Situation {
                buffer_seconds: 8.0,
                capacity_seconds: 30.0,
                start_seconds: 5.0,
                left_seconds: None,
                arrival: None,
                does_sender_wait: true,
                decoding,
                live: None,
                requested_rate: 1.0,
            };
            next_tier(tier, &situation)
        };
        assert_eq!(at(Tier::Full, 1.2), Tier::Coarse);
        assert_eq!(at(Tier::Coarse, 1.2), Tier::Plain);
        assert_eq!(at(Tier::Plain, 2.0), Tier::Plain);
        assert_eq!(at(Tier::Plain, 4.0), Tier::Coarse);
        assert_eq!(at(Tier::Full, 4.0), Tier::Full);
    }
}
