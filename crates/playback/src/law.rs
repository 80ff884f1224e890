//! Laws that choose the rate, one file each. Each is a pure function of the state before, the situation and the time
//! between them.

mod arrival;
mod dash_js;
mod hls_js;
mod media3;
mod net_eq;
mod ramp;
mod restricted;
mod shaka;
mod us2004;

use std::fmt;
use std::str::FromStr;

use crate::{Limits, Situation};

/// A law by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// The requested rate inside the bounds of what arrives.
    Restricted,
    /// The rate at which media arrive.
    Arrival,
    /// Shaka Player's two speeds.
    Shaka,
    /// dash.js, LoL+.
    DashJs,
    /// hls.js, which only speeds up.
    HlsJs,
    /// Android's Media3.
    Media3,
    /// The thresholds of WebRTC's NetEq.
    NetEq,
    /// The law published as US 2004/0064576.
    Us2004,
    /// Always as slow as the listener accepts: what comes of it is the least stalled time there can be.
    Slowest,
    /// The requested rate, whatever the buffer holds.
    Off,
}

/// A text that names no law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no law: {known}", known = Law::ALL.map(Law::name).join(", "))]
pub struct UnknownLaw(pub String);

/// State that a law carries from one step to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The rate in force.
    pub rate: f64,
    /// Time since the rate changed; infinite before play, and after a break, when a change is not heard.
    pub unchanged_seconds: f64,
}

impl State {
    /// Returns the state before play, and after a break.
    #[must_use]
    pub fn silent(rate: f64) -> Self {
        Self { rate, unchanged_seconds: f64::INFINITY }
    }
}

impl Law {
    /// All laws, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Restricted,
        Self::Arrival,
        Self::Shaka,
        Self::DashJs,
        Self::HlsJs,
        Self::Media3,
        Self::NetEq,
        Self::Us2004,
        Self::Slowest,
        Self::Off,
    ];

    /// Returns the law as it is written on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Arrival => "arrival",
            Self::Shaka => "shaka",
            Self::DashJs => "dash.js",
            Self::HlsJs => "hls.js",
            Self::Media3 => "media3",
            Self::NetEq => "neteq",
            Self::Us2004 => "us2004",
            Self::Slowest => "slowest",
            Self::Off => "off",
        }
    }

    /// Whether it looks at what will arrive.
    #[must_use]
    pub fn looks_ahead(self) -> bool {
        matches!(self, Self::Restricted | Self::Arrival)
    }

    /// The state after `elapsed_seconds`, at least 0, in which `state` was in force and that led to `situation`. The
    /// rate is within the limits, whatever the law says.
    #[must_use]
    pub fn step(self, state: State, situation: &Situation, limits: Limits, elapsed_seconds: f64) -> State {
        // Infinity means that no rate was heard, and no sum of times may become it.
        let longest = if state.unchanged_seconds.is_finite() { f64::MAX } else { f64::INFINITY };
        let state = State { unchanged_seconds: (state.unchanged_seconds + elapsed_seconds).min(longest), ..state };
        let requested = situation.requested_rate;
        let rate = match self {
            Self::Restricted => restricted::rate(state, situation, limits),
            Self::Arrival => arrival::rate(state, situation, limits),
            Self::Shaka => shaka::rate(state, situation),
            Self::DashJs => dash_js::rate(state, situation, limits),
            Self::HlsJs => hls_js::rate(situation, limits),
            Self::Media3 => media3::rate(state, situation),
            Self::NetEq => net_eq::rate(situation, limits),
            Self::Us2004 => us2004::rate(situation),
            Self::Slowest => limits.slowest(requested),
            Self::Off => requested,
        };
        let rate = limits.clamp(rate, requested);
        if rate == state.rate && state.unchanged_seconds.is_finite() {
            state
        } else {
            State { rate, unchanged_seconds: 0.0 }
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Law {
    type Err = UnknownLaw;

    fn from_str(text: &str) -> Result<Self, UnknownLaw> {
        Self::ALL.into_iter().find(|law| law.name() == text).ok_or_else(|| UnknownLaw(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, LiveEdge};

    fn situation(buffer_seconds: f64, offset_seconds: f64) -> Situation {
        Situation {
            buffer_seconds,
            capacity_seconds: 30.0,
            start_seconds: 4.0,
            left_seconds: None,
            arrival: Some(Arrival::steady(1.0)),
            does_sender_wait: true,
            decoding: None,
            live: Some(LiveEdge { offset_seconds, target_seconds: 4.0 }),
            requested_rate: 1.0,
        }
    }

    #[track_caller]
    fn check(law: Law, buffer_seconds: f64, offset_seconds: f64, expected: f64) {
        let wide = Limits::new(0.5, 1.5).unwrap();
        let state = law.step(State::silent(1.0), &situation(buffer_seconds, offset_seconds), wide, 1.0);
        assert!((state.rate - expected).abs() < 0.002, "{law} says {}", state.rate);
    }

    #[test]
    fn each_law_says_what_its_player_would() {
        check(Law::Shaka, 1.9, 3.6, 1.0);
        check(Law::Shaka, 1.9, 3.4, 0.95);
        check(Law::Shaka, 1.9, 4.6, 1.1);
        // 1 - 0.5 + 1 / (1 + e^1): 0.2 s short of half a second.
        check(Law::DashJs, 0.3, 4.0, 0.769);
        check(Law::DashJs, 4.0, 4.05, 1.0);
        check(Law::DashJs, 4.0, 4.5, 1.424);
        // 2 / (1 + e^(-0.75)) in twentieths.
        check(Law::HlsJs, 4.0, 5.0, 1.35);
        check(Law::HlsJs, 4.0, 3.0, 1.0);
        check(Law::HlsJs, 4.0, 9.2, 1.5);
        check(Law::HlsJs, 4.0, 9.4, 1.0);
        check(Law::Media3, 4.0, 4.2, 1.02);
        check(Law::Media3, 4.0, 9.0, 1.03);
        check(Law::Media3, 4.0, 4.01, 1.0);
        check(Law::NetEq, 2.9, 4.0, 0.5);
        check(Law::NetEq, 3.5, 4.0, 1.0);
        check(Law::NetEq, 4.1, 4.0, 1.5);
        check(Law::Us2004, 2.0, 4.0, 1.0 + 0.1 * (-0.5_f64).atanh());
    }

    #[test]
    fn however_long_nobody_looked_the_rate_does_not_jump() {
        let step = |state, arrival| {
            let situation = Situation { arrival: Some(Arrival::steady(arrival)), live: None, ..situation(0.0, 0.0) };
            Law::Restricted.step(state, &situation, Limits::new(0.5, 1.5).unwrap(), f64::MAX)
        };
        // Held for so long, and then for as long again.
        let held = step(step(State::silent(1.0), 1.0), 1.0);
        let slower = step(held, 0.0);
        assert!((held.rate - slower.rate - 0.01).abs() < 1e-9, "{held:?}, then {slower:?}");
    }

    #[test]
    fn a_buffer_beyond_its_capacity_plays_by_us2004_as_fast_as_it_may() {
        let situation = Situation { capacity_seconds: 3.0, does_sender_wait: false, ..situation(5.0, 4.0) };
        let state = Law::Us2004.step(State::silent(1.0), &situation, Limits::default(), 1.0);
        assert_eq!(state.rate, 1.1);
    }

    #[test]
    fn shaka_slows_down_below_half_of_what_it_wants_ahead_until_it_has_all_of_it() {
        let mut state = State::silent(1.0);
        let mut at = |buffer_seconds, left_seconds| {
            let situation = Situation { live: None, left_seconds, ..situation(buffer_seconds, 0.0) };
            state = Law::Shaka.step(state, &situation, Limits::default(), 1.0);
            state.rate
        };
        assert_eq!([at(16.0, None), at(15.0, None), at(29.0, None), at(30.0, None)], [1.0, 0.95, 0.95, 1.0]);
        assert_eq!([at(15.0, None), at(20.0, Some(20.0))], [0.95, 1.0], "nothing more is to come");
    }

    #[test]
    fn names_are_read_back() {
        for law in Law::ALL {
            assert_eq!(law.name().parse(), Ok(law));
        }
        assert!("fast".parse::<Law>().unwrap_err().to_string().contains("restricted, arrival, shaka"));
    }
}
