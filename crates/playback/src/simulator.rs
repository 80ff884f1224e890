//! Play of a trace by a virtual clock.

use predict::Policy;

use crate::optimum::{Given, best};
use crate::processor::{AHEAD_SECONDS_MAX, AHEAD_SECONDS_MIN, Processor, Work};
use crate::stretch::Tier;
use crate::{Arrival, Arrivals, Controller, Decoding, Law, Limits, LiveEdge, Situation, Trace};

/// The setting of a run: law, listener, buffer and medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The law.
    pub law: Law,
    /// The limits that the listener accepts.
    pub limits: Limits,
    /// The rate that the listener asks for.
    pub requested_rate: f64,
    /// Media that play starts with, and goes on with after a break.
    pub start_seconds: f64,
    /// Media that the buffer can hold.
    pub capacity_seconds: f64,
    /// The length of the medium; `None` for one without an end.
    pub media_seconds: Option<f64>,
    /// Whether the medium is made while it is played: nothing arrives before it is made.
    pub is_live: bool,
    /// The model that forecasts arrival and decoding; `None` for no forecast at all.
    pub policy: Option<Policy>,
    /// Whether a law that looks ahead looks at the processor, too.
    pub heeds_processor: bool,
    /// The costs of the stretcher's tiers.
    pub costs: TierCosts,
}

/// The costs of decoding and stretching by a tier, as shares of their cost by full search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierCosts {
    /// The cost by coarse search.
    pub coarse: f64,
    /// The cost by plain overlap-add.
    pub plain: f64,
    /// The cost without a stretch.
    pub none: f64,
}

impl TierCosts {
    /// The costs of a player of MP3 in stereo, where decoding costs most: a second of it takes 1.6 ms, and full search
    /// 0.1 ms.
    pub const PLAYER: Self = Self { coarse: 0.99, plain: 0.96, none: 0.94 };

    /// The costs of many streams that are stretched and need no decoding.
    pub const STREAMS: Self = Self { coarse: 0.83, plain: 0.3, none: 0.05 };

    fn of(self, tier: Tier) -> f64 {
        match tier {
            Tier::Full => 1.0,
            Tier::Coarse => self.coarse,
            Tier::Plain => self.plain,
            Tier::None => self.none,
        }
    }
}

impl Setting {
    /// Builds a setting on demand, without an end, with a start-up buffer of 5 s in one of 30.
    #[must_use]
    pub fn new(law: Law, policy: Policy) -> Self {
        Self {
            law,
            limits: Limits::default(),
            requested_rate: 1.0,
            start_seconds: 5.0,
            capacity_seconds: 30.0,
            media_seconds: None,
            is_live: false,
            policy: Some(policy),
            heeds_processor: true,
            costs: TierCosts::PLAYER,
        }
    }
}

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Time since the beginning.
    pub seconds: f64,
    /// The rate at which media could arrive.
    pub arrival_rate: f64,
    /// Media that the buffer held in the end.
    pub buffer_seconds: f64,
    /// The rate of play, 0 while it stood still.
    pub rate: f64,
    /// The forecast of arrival over the look-ahead: bad luck and what was expected; NaN where there was none.
    pub forecast: (f64, f64),
    /// Media that were decoded and stretched ahead of play.
    pub ahead_seconds: f64,
    /// The tier at which they are stretched.
    pub tier: Tier,
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Time until sound began.
    pub start_up_seconds: f64,
    /// Time without sound after that.
    pub stalled_seconds: f64,
    /// Times that play stopped.
    pub n_stalls: usize,
    /// Time since sound began.
    pub seconds: f64,
    /// Media that were lost because the buffer was full.
    pub lost_seconds: f64,
    /// Mean of the distance between the rate and the requested one, as a share of that; a stall is a rate of 0.
    pub mean_deviation: f64,
    /// Root of the mean of its square.
    pub rms_deviation: f64,
    /// The greatest change of the rate within a second of unbroken play.
    pub slew_per_second: f64,
    /// The least time without sound that any law could have within the same limits and with the same start, were it to
    /// know what comes.
    pub least_stalled_seconds: f64,
    /// And with that the least mean deviation.
    pub least_mean_deviation: f64,
    /// All moments, a tenth of a second apart.
    pub steps: Vec<Step>,
}

/// Seconds of a step.
const STEP_SECONDS: f64 = 0.1;

/// Steps of a second.
const N_STEPS_A_SECOND: usize = 10;

/// Plays a trace to its end, or to the medium's.
#[must_use]
pub fn simulate(trace: &Trace, setting: &Setting) -> Outcome {
    simulate_with(trace, setting, &mut |known| known)
}

/// The same with other forecasts of arrival than those that were made.
fn simulate_with(
    trace: &Trace,
    setting: &Setting,
    foretold: &mut dyn FnMut(Option<Arrival>) -> Option<Arrival>,
) -> Outcome {
    let mut player = Player::new(setting);
    let n_steps = (trace.seconds() / STEP_SECONDS) as usize;
    for idx in 0..n_steps {
        if player.left_seconds().is_some_and(|left| left <= 0.0) {
            break;
        }
        player.step(trace, idx as f64 * STEP_SECONDS, foretold);
    }
    player.outcome(trace)
}

struct Player<'a> {
    setting: &'a Setting,
    controller: Controller,
    arrivals: Option<Arrivals>,
    processor: Option<Processor>,
    tier: Tier,
    /// Media that are not played, decoded or not.
    buffer_seconds: f64,
    decoded_seconds: f64,
    arrived_seconds: f64,
    played_seconds: f64,
    lost_seconds: f64,
    is_playing: bool,
    n_stalls: usize,
    steps: Vec<Step>,
}

impl<'a> Player<'a> {
    fn new(setting: &'a Setting) -> Self {
        let policy = setting.policy.clone().filter(|_| setting.law.looks_ahead());
        Self {
            setting,
            controller: Controller::new(setting.law, setting.limits, setting.requested_rate),
            arrivals: policy.clone().map(Arrivals::new),
            processor: policy.filter(|_| setting.heeds_processor).map(Processor::new),
            tier: Tier::Full,
            buffer_seconds: 0.0,
            decoded_seconds: 0.0,
            arrived_seconds: 0.0,
            played_seconds: 0.0,
            lost_seconds: 0.0,
            is_playing: false,
            n_stalls: 0,
            steps: Vec::new(),
        }
    }

    fn left_seconds(&self) -> Option<f64> {
        self.setting.media_seconds.map(|media| media - self.played_seconds)
    }

    fn step(&mut self, trace: &Trace, at: f64, foretold: &mut dyn FnMut(Option<Arrival>) -> Option<Arrival>) {
        let arrival_rate = trace.rate_at(at);
        self.take_in(arrival_rate * STEP_SECONDS, at);
        let arrival = foretold(self.arrivals.as_ref().and_then(Arrivals::forecast));
        let decoding = self.processor.as_ref().and_then(|processor| processor.forecast(self.tier, None));
        self.decode(trace, at, decoding.as_ref());
        let has_all = self.setting.media_seconds.is_some_and(|media| self.arrived_seconds >= media - 1e-9);
        if !self.is_playing && (self.buffer_seconds >= self.setting.start_seconds || has_all) {
            self.is_playing = true;
            self.controller.fall_silent();
        }
        let mut rate = 0.0;
        if self.is_playing {
            let most = self.processor.as_ref().and_then(|processor| processor.most_forecast(None));
            let situation = self.situation(at, arrival, most);
            let decided = self.controller.step(&situation, STEP_SECONDS);
            if let Some(processor) = &self.processor {
                self.tier = processor.next_tier(self.tier, decided.rate, self.setting.requested_rate, None);
            }
            rate = self.play(if self.tier == Tier::None { 1.0 } else { decided.rate });
        }
        let forecast = arrival.map_or((f64::NAN, f64::NAN), |arrival| {
            (arrival.reaches.last().map_or(f64::NAN, |reach| reach.least_rate), arrival.expected_rate())
        });
        self.steps.push(Step {
            seconds: at,
            arrival_rate,
            buffer_seconds: self.buffer_seconds,
            rate,
            forecast,
            ahead_seconds: self.decoded_seconds,
            tier: self.tier,
        });
    }

    fn take_in(&mut self, offered: f64, at: f64) {
        let mut offered = offered;
        if let Some(media) = self.setting.media_seconds {
            offered = offered.min((media - self.arrived_seconds).max(0.0));
        }
        if self.setting.is_live {
            offered = offered.min((self.made_seconds(at) - self.arrived_seconds - self.lost_seconds).max(0.0));
        }
        let taken = offered.min(self.setting.capacity_seconds - self.buffer_seconds).max(0.0);
        self.buffer_seconds += taken;
        self.arrived_seconds += taken;
        if self.setting.is_live {
            self.lost_seconds += offered - taken;
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.step(taken, STEP_SECONDS, taken < offered);
        }
    }

    /// Decodes ahead as far as a player does, and as fast as the processor lets it.
    fn decode(&mut self, trace: &Trace, at: f64, forecast: Option<&Arrival>) {
        let by_full_search = trace.decoding_rate_at(at);
        let could = by_full_search / self.setting.costs.of(self.tier) * STEP_SECONDS;
        let requested = self.setting.requested_rate;
        let ahead =
            self.processor.as_ref().map_or(AHEAD_SECONDS_MIN, |processor| processor.ahead_seconds(forecast, requested));
        let room = (ahead.min(self.buffer_seconds) - self.decoded_seconds).max(0.0);
        self.decoded_seconds += could.min(room);
        if let Some(processor) = &mut self.processor
            && trace.limits_decoding()
        {
            // A processor second is what full search takes for a media second; whether there was more to do or not does
            // not matter to the share.
            let work = Work {
                processor_seconds: by_full_search * STEP_SECONDS,
                busy_seconds: STEP_SECONDS,
                media_seconds: could,
                tier: self.tier,
            };
            processor.step(&work, requested, STEP_SECONDS);
        }
    }

    /// A live medium was being made before anybody listened, for as long as its target is behind.
    fn made_seconds(&self, at: f64) -> f64 {
        self.target_seconds() + at
    }

    /// The buffer's start and a second on the way.
    fn target_seconds(&self) -> f64 {
        self.setting.start_seconds + 1.0
    }

    fn situation(&self, at: f64, arrival: Option<Arrival>, decoding: Option<Arrival>) -> Situation {
        Situation {
            buffer_seconds: self.buffer_seconds,
            capacity_seconds: self.setting.capacity_seconds,
            start_seconds: self.setting.start_seconds,
            left_seconds: self.left_seconds(),
            arrival,
            does_sender_wait: !self.setting.is_live,
            decoding: decoding.map(|rate| Decoding { ahead_seconds: self.decoded_seconds, rate }),
            live: self.setting.is_live.then(|| LiveEdge {
                offset_seconds: (self.made_seconds(at) - self.played_seconds - self.lost_seconds).max(0.0),
                target_seconds: self.target_seconds(),
            }),
            requested_rate: self.setting.requested_rate,
        }
    }

    /// Plays a step, and returns its rate: 0 for a break.
    fn play(&mut self, rate: f64) -> f64 {
        let wanted = (rate * STEP_SECONDS).min(self.left_seconds().unwrap_or(f64::INFINITY));
        if self.decoded_seconds + 1e-9 < wanted {
            self.is_playing = false;
            self.n_stalls += 1;
            return 0.0;
        }
        self.buffer_seconds = (self.buffer_seconds - wanted).max(0.0);
        self.decoded_seconds = (self.decoded_seconds - wanted).max(0.0);
        self.played_seconds += wanted;
        rate
    }

    /// Returns the best that somebody who knows all that comes would do: bound by what arrives, or by what can be
    /// decoded, whichever is worse.
    fn best(&self, trace: &Trace, played: &[Step]) -> (f64, f64) {
        let given = Given {
            step_seconds: STEP_SECONDS,
            held_seconds: self.setting.start_seconds,
            capacity_seconds: self.setting.capacity_seconds,
            slowest: self.setting.limits.slowest(self.setting.requested_rate),
            requested: self.setting.requested_rate,
        };
        let mut arrived = given.held_seconds;
        let arriving = played.iter().map(|step| {
            let mut arriving = step.arrival_rate * STEP_SECONDS;
            if self.setting.is_live {
                arriving = arriving.min(self.made_seconds(step.seconds) - arrived).max(0.0);
                arrived += arriving;
            }
            arriving
        });
        let by_arrival = best(&arriving.collect::<Vec<_>>(), &given);
        // Without a stretch, nobody would play slower; plain overlap-add is the least that does.
        let decoded = |step: &Step| trace.decoding_rate_at(step.seconds) / self.setting.costs.plain * STEP_SECONDS;
        let ahead = Given {
            held_seconds: given.held_seconds.min(AHEAD_SECONDS_MIN),
            capacity_seconds: AHEAD_SECONDS_MAX,
            ..given
        };
        let by_decoding = best(&played.iter().map(decoded).collect::<Vec<_>>(), &ahead);
        (
            by_arrival.stalled_seconds.max(by_decoding.stalled_seconds),
            by_arrival.mean_deviation.max(by_decoding.mean_deviation),
        )
    }

    fn outcome(self, trace: &Trace) -> Outcome {
        let began = self.steps.iter().position(|step| step.rate > 0.0).unwrap_or(self.steps.len());
        let played = &self.steps[began..];
        let requested = self.setting.requested_rate;
        let n_played = played.len().max(1) as f64;
        let deviations = || played.iter().map(|step| (step.rate - requested).abs() / requested);
        let (least_stalled_seconds, least_mean_deviation) = self.best(trace, played);
        let slew = played.windows(N_STEPS_A_SECOND + 1).filter(|second| second.iter().all(|step| step.rate > 0.0));
        Outcome {
            start_up_seconds: began as f64 * STEP_SECONDS,
            stalled_seconds: played.iter().filter(|step| step.rate == 0.0).count() as f64 * STEP_SECONDS,
            n_stalls: self.n_stalls,
            seconds: played.len() as f64 * STEP_SECONDS,
            lost_seconds: self.lost_seconds,
            mean_deviation: deviations().sum::<f64>() / n_played,
            rms_deviation: (deviations().map(|deviation| deviation * deviation).sum::<f64>() / n_played).sqrt(),
            slew_per_second: slew
                .map(|second| (second[N_STEPS_A_SECOND].rate - second[0].rate).abs())
                .fold(0.0, f64::max),
            least_stalled_seconds,
            least_mean_deviation,
            steps: self.steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Kind;

    fn run(law: Law, kind: Kind) -> Outcome {
        simulate(&Trace::made(kind, 900.0, 1), &Setting::new(law, "AR(4)".parse().unwrap()))
    }

    #[test]
    fn a_link_that_is_just_too_slow_breaks_two_speeds_and_one_but_not_the_restricted_law() {
        assert_eq!(run(Law::Restricted, Kind::Steady).n_stalls, 0);
        assert!(run(Law::Off, Kind::Steady).n_stalls > 5);
        assert!(run(Law::Shaka, Kind::Step).n_stalls > 0, "0.95 is faster than 0.85");
        assert_eq!(run(Law::Restricted, Kind::Step).n_stalls, 0);
    }

    #[test]
    fn nothing_deviates_less_than_the_least_deviation() {
        for kind in Kind::ALL {
            for law in Law::ALL {
                let outcome = run(law, kind);
                // Breaks take whole steps, and start-up somewhat more than it needs.
                assert!(outcome.mean_deviation >= outcome.least_mean_deviation - 1e-3, "{law} on {kind}: {outcome:?}");
            }
        }
    }

    /// 32 streams that are stretched and not decoded. A core keeps up with full search at twice the rate, and for 20 s
    /// of each minute at 0.6.
    fn streams_in_bursts(heeds_processor: bool) -> Outcome {
        let shares: Vec<f64> = (0..60).map(|second| if second >= 40 { 0.3 } else { 1.0 }).collect();
        let shares = Trace::of_rates("shares", 1.0, &shares).unwrap();
        let trace = Trace::of_rates("link", 1.0, &[1.5; 600]).unwrap().on_processor(&shares, 2.0);
        let policy = "AUTO".parse().unwrap();
        let setting = Setting { heeds_processor, costs: TierCosts::STREAMS, ..Setting::new(Law::Restricted, policy) };
        simulate(&trace, &setting)
    }

    #[test]
    fn where_full_search_falls_behind_the_tier_is_lower_before_the_first_block_is_late() {
        let outcome = streams_in_bursts(true);
        assert_eq!(outcome.n_stalls, 0, "no block is late");
        // Until plain overlap-add was used, nobody knows how much it saves.
        assert!(outcome.mean_deviation < 0.003, "{}", outcome.mean_deviation);
        let lowered = outcome.steps.iter().find(|step| step.tier > Tier::Full).unwrap();
        assert!((40.0..45.0).contains(&lowered.seconds) && lowered.ahead_seconds > 2.0, "{lowered:?}");
        assert!(outcome.steps.iter().any(|step| step.tier == Tier::Plain));
        let blind = streams_in_bursts(false);
        assert!(blind.n_stalls > 10 && blind.steps.iter().all(|step| step.tier == Tier::Full), "{}", blind.n_stalls);
    }

    #[test]
    fn a_medium_that_ends_is_played_to_its_end() {
        let setting = Setting { media_seconds: Some(300.0), ..Setting::new(Law::Restricted, "LAST".parse().unwrap()) };
        let outcome = simulate(&Trace::made(Kind::Steady, 900.0, 1), &setting);
        let played: f64 = outcome.steps.iter().map(|step| step.rate * STEP_SECONDS).sum();
        assert!((played - 300.0).abs() < 0.2, "{played}");
        assert_eq!(outcome.n_stalls, 0);
    }

    proptest! {
        #[test]
        fn buffers_limits_and_slew_hold_on_any_trace(
            rates in prop::collection::vec(0.0..3.0_f64, 2..200),
            requested_rate in 0.5..2.0_f64,
            is_live: bool,
        ) {
            let timed = rates.iter().enumerate().map(|(idx, rate)| (units::Timestamp::from_nanos(idx as i64 * 1_000_000_000), *rate));
            let series = series::Series::from_timed(&timed.collect::<Vec<_>>()).unwrap();
            let trace = Trace::new("drawn", &series).unwrap();
            for law in [Law::Restricted, Law::Arrival] {
                let setting = Setting { requested_rate, is_live, ..Setting::new(law, "LAST".parse().unwrap()) };
                let outcome = simulate(&trace, &setting);
                let limits = setting.limits;
                prop_assert!(outcome.steps.iter().all(|step| (0.0..=30.0).contains(&step.buffer_seconds)));
                let played = outcome.steps.iter().map(|step| step.rate).filter(|rate| *rate > 0.0);
                let (slowest, fastest) = (limits.slowest(requested_rate), limits.fastest(requested_rate));
                prop_assert!(played.clone().all(|rate| (slowest..=fastest).contains(&rate)));
                prop_assert!(outcome.slew_per_second <= 0.02 + 1e-9, "{}", outcome.slew_per_second);
            }
        }

        /// However wrong forecasts are, the player stalls no longer than by its buffer alone.
        #[test]
        fn forecasts_that_are_wrong_by_any_amount_stall_no_longer_than_none(
            rates in prop::collection::vec(0.0..2.0_f64, 20..120),
            foretold in prop::collection::vec(prop::option::of(prop::array::uniform3(0.0..4.0_f64)), 1..40),
            is_live: bool,
        ) {
            let trace = Trace::of_rates("drawn", 5.0, &rates).unwrap();
            let setting = Setting { is_live, ..Setting::new(Law::Restricted, "LAST".parse().unwrap()) };
            let mut n_asked = 0;
            let mut foretell = |_| {
                n_asked += 1;
                // Another one every four seconds.
                foretold[n_asked / 40 % foretold.len()].map(|rates| Arrival::of(|_| rates))
            };
            let misled = simulate_with(&trace, &setting, &mut foretell);
            let alone = simulate_with(&trace, &setting, &mut |_| None);
            let limits = setting.limits;
            for step in &misled.steps {
                prop_assert!((0.0..=30.0).contains(&step.buffer_seconds), "{step:?}");
                prop_assert!(step.rate == 0.0 || (limits.slowest(1.0)..=limits.fastest(1.0)).contains(&step.rate), "{step:?}");
            }
            prop_assert!(misled.slew_per_second <= 0.02 + 1e-9, "{}", misled.slew_per_second);
            // Played slower, a break falls elsewhere, and its start-up buffer may fill while less arrives: at most so
            // often as there are breaks less.
            let most = alone.stalled_seconds + FILL_SECONDS_MAX;
            prop_assert!(misled.stalled_seconds <= most, "{} s and {} s", misled.stalled_seconds, alone.stalled_seconds);
        }
    }

    /// Tolerated of one start-up buffer of 5 s, at a fifth of the rate.
    const FILL_SECONDS_MAX: f64 = 5.0 / 0.2;
}
