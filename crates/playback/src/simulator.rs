//! Play of a trace by a virtual clock.

use predict::Policy;

use crate::{Arrivals, Controller, Decoding, Law, Limits, LiveEdge, Situation, Trace};

/// Who plays what, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The law.
    pub law: Law,
    /// What the listener accepts.
    pub limits: Limits,
    /// What the listener asks for.
    pub requested_rate: f64,
    /// Media that play starts with, and goes on with after a break.
    pub start_seconds: f64,
    /// Media that the buffer can hold.
    pub capacity_seconds: f64,
    /// How long the medium is; `None` for one without an end.
    pub media_seconds: Option<f64>,
    /// Whether the medium is made while it is played: nothing arrives before it is made.
    pub is_live: bool,
    /// The model that forecasts arrival and decoding; `None` for no forecast at all.
    pub policy: Option<Policy>,
}

impl Setting {
    /// On demand, without an end, with a start-up buffer of 5 s in one of 30.
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
        }
    }
}

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Since the beginning.
    pub seconds: f64,
    /// The rate at which media could arrive.
    pub arrival_rate: f64,
    /// What the buffer held in the end.
    pub buffer_seconds: f64,
    /// The rate of play, 0 while it stood still.
    pub rate: f64,
    /// The forecast of arrival over the look-ahead: bad luck and what was expected; NaN where there was none.
    pub forecast: (f64, f64),
}

/// What became of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Until sound began.
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
    /// The least mean deviation that any law could have with the same start, were it to know what comes: what is missing for the requested rate
    /// at the worst moment has to come from somewhere.
    pub least_mean_deviation: f64,
    /// All moments, a tenth of a second apart.
    pub steps: Vec<Step>,
}

/// Seconds of a step.
const STEP_SECONDS: f64 = 0.1;

/// Media that are decoded ahead of play.
const DECODED_AHEAD_SECONDS: f64 = 4.0;

/// Steps of a second.
const N_STEPS_A_SECOND: usize = 10;

/// Plays a trace to its end, or to the medium's.
#[must_use]
pub fn simulate(trace: &Trace, setting: &Setting) -> Outcome {
    let mut player = Player::new(setting);
    let n_steps = (trace.seconds() / STEP_SECONDS) as usize;
    for idx in 0..n_steps {
        if player.left_seconds().is_some_and(|left| left <= 0.0) {
            break;
        }
        player.step(trace, idx as f64 * STEP_SECONDS);
    }
    player.outcome()
}

struct Player<'a> {
    setting: &'a Setting,
    controller: Controller,
    arrivals: Option<Arrivals>,
    decoding: Option<Arrivals>,
    /// What is not played, decoded or not.
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
        let forecaster = || setting.policy.clone().filter(|_| setting.law.looks_ahead()).map(Arrivals::new);
        Self {
            setting,
            controller: Controller::new(setting.law, setting.limits, setting.requested_rate),
            arrivals: forecaster(),
            decoding: forecaster(),
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

    fn step(&mut self, trace: &Trace, at: f64) {
        let arrival_rate = trace.rate_at(at);
        self.take_in(arrival_rate * STEP_SECONDS, at);
        self.decode(trace, at);
        let has_all = self.setting.media_seconds.is_some_and(|media| self.arrived_seconds >= media - 1e-9);
        if !self.is_playing && (self.buffer_seconds >= self.setting.start_seconds || has_all) {
            self.is_playing = true;
            self.controller.fall_silent();
        }
        let mut rate = 0.0;
        if self.is_playing {
            let situation = self.situation(trace, at);
            let decided = self.controller.step(&situation, STEP_SECONDS);
            rate = self.play(decided.rate);
        }
        let forecast = self.arrivals.as_ref().and_then(Arrivals::forecast);
        let forecast = forecast.map_or((f64::NAN, f64::NAN), |arrival| {
            (arrival.reaches.last().map_or(f64::NAN, |reach| reach.least_rate), arrival.expected_rate())
        });
        self.steps.push(Step { seconds: at, arrival_rate, buffer_seconds: self.buffer_seconds, rate, forecast });
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

    /// Decodes ahead as far as a player does, and as fast as the CPU lets it.
    fn decode(&mut self, trace: &Trace, at: f64) {
        let could = trace.decoding_rate_at(at) * STEP_SECONDS;
        let room = (DECODED_AHEAD_SECONDS.min(self.buffer_seconds) - self.decoded_seconds).max(0.0);
        self.decoded_seconds += could.min(room);
        if let Some(decoding) = &mut self.decoding
            && trace.limits_decoding()
        {
            // What the CPU could do is measured by the time that decoding took, whether there was more to do or not.
            decoding.step(could, STEP_SECONDS, false);
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

    fn situation(&self, trace: &Trace, at: f64) -> Situation {
        let decoding = self.decoding.as_ref().filter(|_| trace.limits_decoding()).and_then(Arrivals::forecast);
        Situation {
            buffer_seconds: self.buffer_seconds,
            capacity_seconds: self.setting.capacity_seconds,
            start_seconds: self.setting.start_seconds,
            left_seconds: self.left_seconds(),
            arrival: self.arrivals.as_ref().and_then(Arrivals::forecast),
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

    /// Media that nobody could have played at the requested rate: what is missing when all is played as soon as it can be.
    fn least_shortage(&self, played: &[Step]) -> f64 {
        let wanted = self.setting.requested_rate * STEP_SECONDS;
        let (mut held, mut shortage) = (self.setting.start_seconds, 0.0);
        let mut arrived = held;
        for step in played {
            let mut arriving = step.arrival_rate * STEP_SECONDS;
            if self.setting.is_live {
                arriving = arriving.min(self.made_seconds(step.seconds) - arrived);
                arrived += arriving;
            }
            held = (held + arriving).min(self.setting.capacity_seconds) - wanted;
            shortage += (-held).max(0.0);
            held = held.max(0.0);
        }
        shortage
    }

    fn outcome(self) -> Outcome {
        let began = self.steps.iter().position(|step| step.rate > 0.0).unwrap_or(self.steps.len());
        let played = &self.steps[began..];
        let requested = self.setting.requested_rate;
        let n_played = played.len().max(1) as f64;
        let deviations = || played.iter().map(|step| (step.rate - requested).abs() / requested);
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
            least_mean_deviation: self.least_shortage(played) / (requested * n_played * STEP_SECONDS),
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

        /// However wrong the forecast is, what the buffer alone would have played is played.
        #[test]
        fn no_forecast_stalls_longer_than_no_forecast_at_all(
            rates in prop::collection::vec(0.0..2.0_f64, 20..120),
        ) {
            let timed = rates.iter().enumerate().map(|(idx, rate)| (units::Timestamp::from_nanos(idx as i64 * 5_000_000_000), *rate));
            let series = series::Series::from_timed(&timed.collect::<Vec<_>>()).unwrap();
            let trace = Trace::new("drawn", &series).unwrap();
            let stalled = |law| simulate(&trace, &Setting::new(law, "LAST".parse().unwrap())).stalled_seconds;
            // One start-up buffer can be filled more often, where a break falls otherwise.
            prop_assert!(stalled(Law::Restricted) <= stalled(Law::Off) + 5.0 / 0.2);
        }
    }
}
