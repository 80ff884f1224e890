//! Rate with which the processor lets a player keep up, and how far ahead sound has to be made for that.
//!
//! ```text
//! rate  = share / cost                  share: of a core; cost: processor seconds that a media second takes at this tier
//! ahead = min(LEAST + max(lost, max over h of (q - rate_h) h), MOST)      q: the requested rate; rate_h: bad luck over the next h seconds
//! lost  = WORSE * what the worst busy stretch took, remembered for minutes
//! ```
//!
//! Busy stretches come back, later than any forecast of half a minute sees: so what the last ones took is made ahead,
//! too. The share is what the work itself got while it ran, forecast; where somebody else measures or forecasts what a
//! process would get (a sensor, a node), the lower of both counts. A busy stretch that is foreseen is lived through
//! from what was made before it.

use predict::Policy;

use crate::stretch::Tier;
use crate::{Arrival, Arrivals};

/// Media that are made ahead where the processor has time to spare. A seek throws them away.
pub const AHEAD_SECONDS_MIN: f64 = 4.0;

/// The most media that are made ahead: half a minute at 0.4 of the rate.
pub const AHEAD_SECONDS_MAX: f64 = 20.0;

/// Decoding and stretching should be forecast to be so much faster than play, also if it goes badly; less, and the tier
/// goes down before a block is late.
const SPARE_MIN: f64 = 1.5;

/// And so much of that before it goes up again, at the higher tier's cost: tiers that change back and forth are heard.
const SPARE_AMPLE: f64 = 1.25;

/// Cost that is assumed for a tier that was never used, as a share of the next higher one: plain overlap-add takes that
/// of coarse search.
const COST_GUESSED: f64 = 0.4;

/// A lower tier costs at most this share of a higher one, or is not worth its sound.
const SAVING: f64 = 0.9;

/// Rates this near to 1 are 1, but for rounding.
const NEAR_ONE: f64 = 1e-9;

/// The next busy stretch may be so much worse than the last: bounds that do not know when it ends keep something in
/// hand.
const WORSE: f64 = 1.5;

/// Memory of the worst busy stretch, in seconds: after ten minutes a third of it is left.
const LOST_SECONDS: f64 = 600.0;

/// Time after sound was nearly late before a higher tier is tried: shares are measured and forecast by then.
const HURRY_SECONDS: f64 = 12.0;

/// Memory of the cost, in seconds of work's media: codecs spend more on some seconds than on others.
const COST_MEDIA_SECONDS: f64 = 10.0;

/// Measures and forecasts the share of a core that decoding and stretching get, and what they cost.
#[derive(Clone, Debug)]
pub struct Processor {
    shares: Arrivals,
    /// The last one that was measured.
    share: Option<f64>,
    /// Processor seconds of a media second, of each tier that was used.
    costs: [Option<f64>; Tier::ALL.len()],
    /// The media made ahead that this busy stretch took, and those that the worst one took.
    losing_seconds: f64,
    lost_seconds: f64,
    /// Time until a higher tier may be tried again.
    hurry_seconds: f64,
}

/// Work that was done since it was told of last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Processor time.
    pub processor_seconds: f64,
    /// Wall time that it took, from beginnings to ends.
    pub busy_seconds: f64,
    /// Media that were decoded and stretched.
    pub media_seconds: f64,
    /// The tier at which they were stretched.
    pub tier: Tier,
}

impl Processor {
    /// Forecasts by a model's policy.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            shares: Arrivals::new(policy),
            share: None,
            costs: [None; Tier::ALL.len()],
            losing_seconds: 0.0,
            lost_seconds: 0.0,
            hurry_seconds: 0.0,
        }
    }

    /// Takes the work of the last `elapsed_seconds`, of a listener who asked for `requested_rate`.
    pub fn step(&mut self, work: &Work, requested_rate: f64, elapsed_seconds: f64) {
        let is_measured = work.busy_seconds > 0.0 && work.media_seconds > 0.0;
        if is_measured {
            self.share = Some(work.processor_seconds / work.busy_seconds);
        }
        // Between two packets there is nothing to do: the last share stands for the next.
        if let Some(share) = self.share {
            self.shares.step(share * elapsed_seconds, elapsed_seconds, false);
        }
        if is_measured {
            let cost = &mut self.costs[work.tier as usize];
            let measured = work.processor_seconds / work.media_seconds;
            let weight = 1.0 - (-work.media_seconds / COST_MEDIA_SECONDS).exp();
            *cost = Some(cost.map_or(measured, |cost| cost + weight * (measured - cost)));
            let rate = work.media_seconds / work.busy_seconds;
            self.losing_seconds = (self.losing_seconds + (requested_rate - rate) * elapsed_seconds).max(0.0);
        }
        self.hurry_seconds = (self.hurry_seconds - elapsed_seconds).max(0.0);
        self.lost_seconds *= (-elapsed_seconds / LOST_SECONDS).exp();
        self.lost_seconds = self.lost_seconds.max(self.losing_seconds.min(AHEAD_SECONDS_MAX));
    }

    /// Sound is nearly late, sooner than any forecast could say: the lowest tier that saves anything is next.
    pub fn hurry(&mut self) {
        self.hurry_seconds = HURRY_SECONDS;
    }

    /// Whether that was lately.
    #[must_use]
    pub fn is_in_a_hurry(&self) -> bool {
        self.hurry_seconds > 0.0
    }

    /// Returns how far ahead of play sound should be made, given the forecast of the rate that decoding keeps up with.
    #[must_use]
    pub fn ahead_seconds(&self, decoding: Option<&Arrival>, requested_rate: f64) -> f64 {
        let losses = decoding.into_iter().flat_map(|rate| rate.reaches);
        let losses = losses.map(|reach| (requested_rate - reach.least_rate) * reach.seconds);
        (AHEAD_SECONDS_MIN + losses.fold(WORSE * self.lost_seconds, f64::max)).min(AHEAD_SECONDS_MAX)
    }

    /// Processor seconds that a media second takes at this tier, as far as it was measured: at the next lower one that
    /// was, otherwise.
    #[must_use]
    pub fn cost_seconds(&self, tier: Tier) -> Option<f64> {
        let known = |idx: &usize| self.costs[*idx].is_some_and(|cost| cost > 0.0);
        let nearest = (tier as usize..Tier::ALL.len()).find(known).or_else(|| (0..tier as usize).rev().find(known));
        nearest.and_then(|idx| self.costs[idx])
    }

    /// The rate that decoding and stretching will keep up with at this tier. `offered` is what others say of the share
    /// of a core that there will be.
    #[must_use]
    pub fn forecast(&self, tier: Tier, offered: Option<&Arrival>) -> Option<Arrival> {
        self.forecast_at(self.cost_seconds(tier)?, offered)
    }

    /// The same at the cheapest tier that stretches, as far as it was used: play has to slow down only where that is
    /// too slow.
    #[must_use]
    pub fn most_forecast(&self, offered: Option<&Arrival>) -> Option<Arrival> {
        let costs = self.costs[..Tier::None as usize].iter().flatten();
        let least = costs.copied().filter(|cost| *cost > 0.0).reduce(f64::min);
        self.forecast_at(least?, offered)
    }

    fn forecast_at(&self, cost: f64, offered: Option<&Arrival>) -> Option<Arrival> {
        let own = self.shares.forecast();
        let share = match (own, offered) {
            (Some(own), Some(offered)) => own.at_most(offered),
            (own, offered) => own.or(offered.copied())?,
        };
        Some(share.times(1.0 / cost))
    }

    /// The tier to go on with where `rate` is played and `requested_rate` was asked for. A lower one is tried where the
    /// tier in use is foreseen to fall behind, and kept where it costs less. None is for rates near 1 alone, which it
    /// plays at 1.
    #[must_use]
    pub fn next_tier(&self, tier: Tier, rate: f64, requested_rate: f64, offered: Option<&Arrival>) -> Tier {
        let is_near_one = (rate - 1.0).abs() <= NEAR_ONE;
        if tier == Tier::None && !is_near_one {
            return Tier::Plain;
        }
        let saves = |from: Tier, to: Tier| {
            let (from, to) = (self.costs[from as usize], self.costs[to as usize]);
            from.zip(to).is_none_or(|(from, to)| to <= SAVING * from)
        };
        if self.is_in_a_hurry() {
            let lower = Tier::ALL.into_iter().rev().filter(|lower| *lower < Tier::None && *lower > tier);
            return lower.into_iter().find(|lower| saves(tier, *lower)).unwrap_or(tier);
        }
        let Some(forecast) = self.forecast(tier, offered) else { return tier };
        let least = forecast.reaches.iter().map(|reach| reach.least_rate).fold(f64::INFINITY, f64::min);
        let spare = least / requested_rate;
        if spare < SPARE_MIN {
            let lower = Tier::ALL.into_iter().filter(|lower| *lower > tier && (*lower < Tier::None || is_near_one));
            if let Some(lower) = lower.into_iter().find(|lower| saves(tier, *lower)) {
                return lower;
            }
        }
        let Some(higher) = Tier::ALL.into_iter().rev().find(|higher| *higher < tier) else { return tier };
        let costs = self.costs[tier as usize].zip(self.costs[higher as usize]);
        let share = costs.map_or(COST_GUESSED, |(own, higher)| own / higher);
        let is_affordable = spare * share > SPARE_AMPLE * SPARE_MIN;
        if is_affordable || !saves(higher, tier) { higher } else { tier }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(share: f64, tier: Tier, cost: f64) -> Work {
        Work { processor_seconds: share * 0.01, busy_seconds: 0.01, media_seconds: share * 0.01 / cost, tier }
    }

    #[test]
    fn a_rate_is_a_share_over_its_cost() {
        let mut processor = Processor::new("AR(4)".parse().unwrap());
        assert_eq!(processor.forecast(Tier::Full, None), None);
        (0..400).for_each(|idx| processor.step(&work(0.6 + 0.01 * f64::from(idx % 3), Tier::Full, 0.4), 1.0, 1.0));
        let rate = processor.forecast(Tier::Full, None).unwrap().expected_rate();
        assert!((rate - 0.61 / 0.4).abs() < 0.05, "{rate}");
        // Somebody else foresees less.
        let offered = Arrival::steady(0.2);
        let rate = processor.forecast(Tier::Full, Some(&offered)).unwrap().expected_rate();
        assert!((rate - 0.5).abs() < 0.01, "{rate}");
        // What a lower tier costs is known once it was used.
        (0..60).for_each(|_| processor.step(&work(0.6, Tier::Plain, 0.1), 1.0, 1.0));
        assert!((processor.cost_seconds(Tier::Plain).unwrap() - 0.1).abs() < 1e-3);
        assert!((processor.cost_seconds(Tier::Full).unwrap() - 0.4).abs() < 1e-3);
        assert!((processor.cost_seconds(Tier::None).unwrap() - 0.1).abs() < 1e-3);
    }

    #[test]
    fn tiers_go_down_before_play_is_reached_and_up_with_room_to_spare() {
        let mut processor = Processor::new("LAST".parse().unwrap());
        let costs = [0.4, 0.33, 0.12, 0.02];
        let mut tier = Tier::Full;
        let mut seen = Vec::new();
        let mut live = |share: f64, rate: f64, seen: &mut Vec<Tier>| {
            for idx in 0..120 {
                processor.step(&work(share + 0.001 * f64::from(idx % 3), tier, costs[tier as usize]), 1.0, 1.0);
                tier = processor.next_tier(tier, rate, 1.0, None);
                if seen.last() != Some(&tier) {
                    seen.push(tier);
                }
            }
        };
        live(0.9, 0.95, &mut seen);
        live(0.3, 0.95, &mut seen);
        assert_eq!(seen, [Tier::Full, Tier::Coarse, Tier::Plain], "0.3 / 0.12 is enough");
        live(0.1, 1.0, &mut seen);
        assert_eq!(seen[3..], [Tier::None]);
        live(0.1, 0.95, &mut seen);
        assert_eq!(seen[4..], [Tier::Plain], "none would play at 1");
        live(0.9, 0.95, &mut seen);
        assert_eq!(seen[5..], [Tier::Coarse, Tier::Full]);
    }

    #[test]
    fn a_tier_that_saves_nothing_is_left_again() {
        let mut processor = Processor::new("AR(4)".parse().unwrap());
        let mut tier = Tier::Full;
        for idx in 0..240 {
            processor.step(
                &work(0.5 + 0.001 * f64::from(idx % 3), tier, 0.45 - 0.01 * f64::from(tier as u8)),
                1.0,
                1.0,
            );
            tier = processor.next_tier(tier, 0.9, 1.0, None);
        }
        assert_eq!(tier, Tier::Full, "decoding costs most here");
    }

    #[test]
    fn more_is_made_ahead_where_less_is_foreseen_or_was_seen() {
        let mut processor = Processor::new("LAST".parse().unwrap());
        let ahead = |processor: &Processor, rate: f64| processor.ahead_seconds(Some(&Arrival::steady(rate)), 1.0);
        assert_eq!(processor.ahead_seconds(None, 1.0), AHEAD_SECONDS_MIN);
        assert_eq!(ahead(&processor, 1.5), AHEAD_SECONDS_MIN);
        // A tenth of 32 s beside the usual.
        assert!((ahead(&processor, 0.9) - AHEAD_SECONDS_MIN - 3.2).abs() < 1e-9);
        assert_eq!(ahead(&processor, 0.1), AHEAD_SECONDS_MAX);
        // A busy stretch that took 4 s, and a quiet one after it.
        (0..20).for_each(|_| processor.step(&work(0.4, Tier::Full, 0.5), 1.0, 1.0));
        (0..60).for_each(|_| processor.step(&work(1.0, Tier::Full, 0.5), 1.0, 1.0));
        let kept = 6.0 * (-60.0_f64 / LOST_SECONDS).exp();
        assert!((ahead(&processor, 1.5) - AHEAD_SECONDS_MIN - kept).abs() < 1e-6, "{}", ahead(&processor, 1.5));
    }
}
