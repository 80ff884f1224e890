//! Plays a recorded stream: the frames of a file at their recorded spacing, or faster.

use std::io::{self, Read};
use std::str::FromStr;
use std::time::{Duration, Instant};

use stream::{Decoder, Inlet, Message};
use units::Timestamp;

/// Bytes that one read takes.
const READ_BYTES: usize = 64 << 10;

/// Speed at which a recording is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Multiple of the speed at which it was recorded.
    Times(f64),
    /// Greatest speed: as fast as messages are taken.
    Max,
}

/// A text that is no speed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a speed: it must be a number above 0 as in 10x, or as-recorded, or max")]
pub struct SpeedError {
    given: String,
}

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(given: &str) -> Result<Self, SpeedError> {
        match given {
            "max" => Ok(Self::Max),
            "as-recorded" => Ok(Self::Times(1.0)),
            _ => {
                let factor = given.strip_suffix('x').unwrap_or(given).parse().ok();
                let factor = factor.filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
                factor.map(Self::Times).ok_or_else(|| SpeedError { given: given.to_owned() })
            }
        }
    }
}

/// Counts of a recording that was played to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Messages that were sent.
    pub n_messages: u64,
    /// Bytes that are no frames, and were left out.
    pub n_bytes_left_out: u64,
}

/// Puts the messages of a recording into a mirror, each when it is due, until the recording or the mirror ends.
/// Messages keep the times that they were recorded with: a time that goes back, as at the start of another recording,
/// is where the spacing begins anew.
///
/// # Errors
/// When the recording cannot be read.
pub fn play(mut recording: impl Read, speed: Speed, inlet: &Inlet) -> io::Result<Played> {
    let (mut decoder, mut pace, mut played) = (Decoder::default(), Pace { speed, began: None }, Played::default());
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let n_read = recording.read(&mut bytes)?;
        if n_read == 0 {
            played.n_bytes_left_out += decoder.buffer().len() as u64;
            return Ok(played);
        }
        decoder.buffer().extend_from_slice(&bytes[..n_read]);
        loop {
            let frame = match decoder.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => {
                    played.n_bytes_left_out += decoder.resume();
                    continue;
                }
            };
            let Ok(message) = Message::decode(&frame) else {
                played.n_bytes_left_out += frame.as_bytes().len() as u64;
                continue;
            };
            if let Some(time) = message.time() {
                clock::sleep(pace.until(time, clock::instant()));
            }
            if inlet.send_waiting(message).is_err() {
                return Ok(played);
            }
            played.n_messages += 1;
        }
    }
}

/// Due times of recorded messages.
struct Pace {
    speed: Speed,
    /// A recorded moment and when that was played, and the last one that was.
    began: Option<(Timestamp, Instant, Timestamp)>,
}

impl Pace {
    fn until(&mut self, time: Timestamp, now: Instant) -> Duration {
        let Speed::Times(factor) = self.speed else { return Duration::ZERO };
        let (first, at, last) = self.began.filter(|(_, _, last)| time >= *last).unwrap_or((time, now, time));
        debug_assert!(last <= time);
        self.began = Some((first, at, time));
        let due = Duration::try_from_secs_f64(time.saturating_since(first).as_secs_f64() / factor);
        due.unwrap_or(Duration::MAX).saturating_sub(now.saturating_duration_since(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_spacing_is_kept_and_divided_by_the_speed() {
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let mut pace = Pace { speed: "10x".parse().unwrap(), began: None };
        let start = clock::instant();
        assert_eq!(pace.until(at(100), start), Duration::ZERO);
        assert_eq!(pace.until(at(130), start), Duration::from_secs(3));
        assert_eq!(pace.until(at(130), start + Duration::from_secs(1)), Duration::from_secs(2));
        assert_eq!(pace.until(at(50), start + Duration::from_secs(4)), Duration::ZERO, "the spacing begins anew");
        assert_eq!(pace.until(at(60), start + Duration::from_secs(4)), Duration::from_secs(1));
    }

    #[test]
    fn a_speed_is_a_number_above_zero() {
        assert_eq!(("max".parse(), "as-recorded".parse()), (Ok(Speed::Max), Ok(Speed::Times(1.0))));
        for refused in ["", "x", "0x", "-1x", "NaNx", "infx", "fast"] {
            assert!(refused.parse::<Speed>().is_err(), "{refused} was taken");
        }
    }
}
