//! One player's controller and forecast, and what the numbers mean that go in and out.
//!
//! ```text
//! open    in    0 slowest ratio   1 fastest ratio   2 requested rate
//! decide  in    0 buffer   1 capacity   2 start-up buffer   3 left of the medium, infinite without an end
//!               4 whether the sender waits, 0 or 1   5 live offset, NaN on demand   6 its target
//!               7 requested rate   8 scale
//!         out   0 rate   1 cause   2 seconds until a break, infinite for none   3 mean rate
//!               4 greatest rate by arrival   5 least rate   6 reaches, 0 for no forecast
//!               7... of each reach: seconds, least, expected and greatest rate
//! ```
//!
//! The scale says how many seconds of what is fetched there are in one of what arrival is measured in: renditions
//! change, and a forecast of bytes stays true.

use playback::{Arrival, Arrivals, Cause, Controller, Law, Limits, LiveEdge, Reach, Situation, bounds};
use predict::Policy;

/// Numbers of the longest answer: five reaches.
pub const N_NUMBERS: usize = N_FIXED + 4 * 5;

const N_FIXED: usize = 7;

/// A controller and its forecast.
pub struct Pacer {
    controller: Controller,
    limits: Limits,
    /// None for laws that look at the buffer alone.
    arrivals: Option<Arrivals>,
}

impl Pacer {
    /// Builds a pacer from a text with a law and a model, on a line each.
    pub fn open(text: &str, numbers: &[f64; N_NUMBERS]) -> Result<Self, String> {
        let (law, model) =
            text.split_once('\n').ok_or_else(|| format!("`{text}` names no law and model, on a line each"))?;
        let law: Law = law.parse().map_err(|why| format!("{why}"))?;
        let policy: Policy = model.parse().map_err(|why| format!("the model `{model}`: {why}"))?;
        let limits = Limits::new(numbers[0], numbers[1]).map_err(|why| why.to_string())?;
        let requested = positive("requested rate", numbers[2])?;
        Ok(Self {
            controller: Controller::new(law, limits, requested),
            limits,
            arrivals: law.looks_ahead().then(|| Arrivals::new(policy)),
        })
    }

    pub fn arrived(&mut self, media_seconds: f64, elapsed_seconds: f64) -> Result<(), String> {
        let (media, elapsed) = (length("what arrived", media_seconds)?, length("its time", elapsed_seconds)?);
        if let Some(arrivals) = &mut self.arrivals {
            // Time in which nothing was asked for is left out by the caller.
            arrivals.step(media, elapsed, false);
        }
        Ok(())
    }

    pub fn decide(&mut self, numbers: &mut [f64; N_NUMBERS], elapsed_seconds: f64) -> Result<(), String> {
        let situation = self.situation(numbers)?;
        let decision = self.controller.step(&situation, length("elapsed time", elapsed_seconds)?);
        let bounds = bounds(&situation, self.limits);
        let cause = match decision.cause {
            None => 0.0,
            Some(Cause::Arrival) => 1.0,
            Some(Cause::Overflow) => 2.0,
            Some(Cause::Cpu) => 3.0,
            Some(Cause::LiveEdge) => 4.0,
            Some(Cause::Slew) => 5.0,
        };
        let reaches: &[Reach] = situation.arrival.as_ref().map_or(&[], |arrival| &arrival.reaches);
        let fixed = [
            decision.rate,
            cause,
            decision.until_break_seconds.unwrap_or(f64::INFINITY),
            decision.mean_rate,
            bounds.by_arrival,
            bounds.least_rate,
            reaches.len() as f64,
        ];
        let each = |reach: &Reach| [reach.seconds, reach.least_rate, reach.expected_rate, reach.greatest_rate];
        let said = fixed.into_iter().chain(reaches.iter().flat_map(each));
        numbers.iter_mut().zip(said).for_each(|(number, said)| *number = said);
        Ok(())
    }

    pub fn fall_silent(&mut self) {
        self.controller.fall_silent();
    }

    fn situation(&self, numbers: &[f64; N_NUMBERS]) -> Result<Situation, String> {
        let [buffer, capacity, start, left, waits, offset, target, requested, scale, ..] = *numbers;
        let scale = positive("scale", scale)?;
        let arrival = self.arrivals.as_ref().and_then(Arrivals::forecast).map(|arrival| scaled(arrival, scale));
        let live = (!offset.is_nan()).then(|| {
            Ok::<_, String>(LiveEdge {
                offset_seconds: length("live offset", offset)?,
                target_seconds: length("target of the live offset", target)?,
            })
        });
        Ok(Situation {
            buffer_seconds: length("buffer", buffer)?,
            capacity_seconds: positive("capacity of the buffer", capacity)?,
            start_seconds: positive("start-up buffer", start)?,
            left_seconds: if left == f64::INFINITY { None } else { Some(length("what is left", left)?) },
            arrival,
            does_sender_wait: waits != 0.0,
            // A page cannot see how fast decoding could be.
            decoding: None,
            live: live.transpose()?,
            requested_rate: positive("requested rate", requested)?,
        })
    }
}

fn scaled(arrival: Arrival, scale: f64) -> Arrival {
    Arrival {
        reaches: arrival.reaches.map(|reach| Reach {
            least_rate: reach.least_rate * scale,
            expected_rate: reach.expected_rate * scale,
            greatest_rate: reach.greatest_rate * scale,
            ..reach
        }),
    }
}

fn length(what: &str, seconds: f64) -> Result<f64, String> {
    let is_right = seconds.is_finite() && seconds >= 0.0;
    is_right.then_some(seconds).ok_or_else(|| format!("{what} of {seconds}: it has to be finite and at least 0"))
}

fn positive(what: &str, value: f64) -> Result<f64, String> {
    let is_right = value.is_finite() && value > 0.0;
    is_right.then_some(value).ok_or_else(|| format!("{what} of {value}: it has to be finite and above 0"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use playback::{Kind, Trace};

    use super::*;

    fn opened(text: &str, slowest: f64, requested: f64) -> Result<Pacer, String> {
        let mut numbers = [0.0; N_NUMBERS];
        numbers[..3].copy_from_slice(&[slowest, 1.1, requested]);
        Pacer::open(text, &numbers)
    }

    fn situation(buffer: f64) -> [f64; N_NUMBERS] {
        let mut numbers = [0.0; N_NUMBERS];
        numbers[..9].copy_from_slice(&[buffer, 30.0, 4.0, f64::INFINITY, 1.0, f64::NAN, 0.0, 1.0, 1.0]);
        numbers
    }

    /// Compares inputs and decisions with a file that the module has to reproduce in a browser as well, up to the last
    /// digits of an exponential.
    ///
    /// `UPDATE_EXPECT=1` writes the file anew.
    #[test]
    fn a_run_is_decided_as_it_was() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../unit/decisions.csv");
        let trace = Trace::made(Kind::Mobile, 240.0, 3);
        let mut pacer = opened("restricted\nAUTO", 0.8, 1.0).unwrap();
        let mut said =
            String::from("arrived,buffer,scale,rate,cause,until_break,mean_rate,by_arrival,least,expected\n");
        let mut buffer = 4.0_f64;
        for idx in 0..480 {
            let arrived = 0.5 * trace.rate_at(f64::from(idx) * 0.5);
            // After two minutes another rendition, of which less arrives in the same time.
            let scale = if idx < 240 { 1.0 } else { 0.8 };
            pacer.arrived(arrived, 0.5).unwrap();
            let mut numbers = situation(buffer);
            numbers[8] = scale;
            pacer.decide(&mut numbers, 0.5).unwrap();
            let far = if numbers[6] > 0.0 { N_FIXED + 4 * (numbers[6] as usize - 1) } else { N_FIXED };
            let forecast = |at: usize| if numbers[6] > 0.0 { numbers[far + at] } else { f64::NAN };
            let [rate, cause, until_break, mean, by_arrival, ..] = numbers;
            writeln!(
                said,
                "{arrived},{buffer},{scale},{rate},{cause},{until_break},{mean},{by_arrival},{},{}",
                forecast(1),
                forecast(2)
            )
            .unwrap();
            buffer = (buffer + arrived * scale - 0.5 * rate).max(0.0);
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(path, &said).unwrap();
        }
        let expected = std::fs::read_to_string(path).unwrap();
        for (line, (found, was)) in said.lines().zip(expected.lines()).enumerate().skip(1) {
            let numbers = |text: &str| text.split(',').map(|number| number.parse().unwrap()).collect::<Vec<f64>>();
            let are_near =
                |(found, was): (f64, f64)| (found - was).abs() < 1e-6 || found.to_string() == was.to_string();
            let is_same = numbers(found).into_iter().zip(numbers(was)).all(are_near);
            assert!(is_same, "line {}: {found}, and it was {was}; UPDATE_EXPECT=1 accepts it", line + 1);
        }
        assert_eq!(said.lines().count(), expected.lines().count());
    }

    #[test]
    fn what_no_player_can_have_is_refused_with_the_value() {
        let refusal = |text: &str, slowest, requested| opened(text, slowest, requested).err().unwrap_or_default();
        assert!(refusal("fast\nAUTO", 0.8, 1.0).contains("`fast` is no law"));
        assert!(refusal("restricted\nGUESS", 0.8, 1.0).contains("the model `GUESS`"));
        assert!(refusal("restricted", 0.8, 1.0).contains("names no law and model"));
        assert!(refusal("restricted\nAUTO", 1.2, 1.0).contains("limits of 1.2 to 1.1"));
        for requested in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refusal("restricted\nAUTO", 0.8, requested).contains("requested rate"));
        }
        let mut pacer = opened("restricted\nAUTO", 0.8, 1.0).unwrap();
        assert!(pacer.arrived(f64::NAN, 1.0).unwrap_err().contains("what arrived of NaN"));
        for (idx, value) in [(0, -1.0), (1, 0.0), (2, f64::NAN), (3, -1.0), (5, f64::INFINITY), (7, 0.0), (8, 0.0)] {
            let mut numbers = situation(5.0);
            numbers[idx] = value;
            assert!(pacer.decide(&mut numbers, 0.1).is_err(), "{idx}: {value}");
        }
        assert!(pacer.decide(&mut situation(5.0), f64::NAN).is_err());
        assert!(pacer.decide(&mut situation(5.0), 0.1).is_ok());
    }

    #[test]
    fn a_rendition_of_twice_the_bytes_is_carried_half_as_fast() {
        let mut pacer = opened("restricted\nLAST", 0.8, 1.0).unwrap();
        (0..100).for_each(|idx| pacer.arrived(1.2 + 0.01 * f64::from(idx % 2), 1.0).unwrap());
        let mut expected = |scale| {
            let mut numbers = situation(5.0);
            numbers[8] = scale;
            pacer.decide(&mut numbers, 0.1).unwrap();
            numbers[N_FIXED + 4 * 4 + 2]
        };
        assert!((expected(1.0) - 2.0 * expected(0.5)).abs() < 1e-12);
    }
}
