//! A medium that is played: arrival, decoding, the controller, the stretcher and the output, tick by tick.

mod voice;

use std::time::Duration;

use clock::Clock;
use playback::stretch::{Format, RATES, Tier};
use playback::{
    AHEAD_SECONDS_MAX, Arrivals, BUSY_LEAD_SECONDS, Cause, Controller, Decision, Decoding, LEAD_SECONDS, Law, Lead,
    Limits, LiveEdge, Processor, Situation, Work,
};
use predict::Policy;
use program::{Failure, Interruption};

use crate::capture::{Capture, Level};
use crate::decode::{Decoded, Progress};
use crate::moment::{Moment, Request};
use crate::output::Output;
use crate::pace::Pace;
use crate::processor::Offered;
use crate::stretching::Asked;
use voice::{FADE_SECONDS, How, Voice};

/// Sound is made in blocks of this length.
pub const TICK: Duration = Duration::from_millis(20);

/// Multiple of the requested rate: if decoding is foreseen to keep up with less, sound is put out earlier.
const BUSY_RATIO: f64 = 1.5;

/// Factor from what was decoded of a medium up to which the stated length is accepted, once some seconds are decoded.
const LENGTH_FACTOR_MAX: f64 = 4.0;
const LENGTH_CHECKED_SECONDS: f64 = 5.0;

/// Settings by which a medium is to be played.
pub struct Wish {
    /// The law that chooses the rate.
    pub law: Law,
    /// The requested rate.
    pub speed: f64,
    /// The rates that are accepted instead.
    pub limits: Limits,
    /// Media to begin with, in seconds.
    pub start_seconds: f64,
    /// The forecaster; `None` for nobody.
    pub policy: Option<Policy>,
    /// Bytes that may be held.
    pub capacity_bytes: usize,
    /// Media of a live medium that should be waiting, in seconds.
    pub target_seconds: Option<f64>,
    /// The stretcher of the sound.
    pub stretcher: Asked,
}

/// Parts that a session plays with.
pub struct Parts {
    /// Bytes as they come.
    pub capture: Capture,
    /// Sound as it is decoded.
    pub decoded: Decoded,
    /// The output of the sound.
    pub output: Output,
    /// The pace of a file that arrives as a trace gives it.
    pub pace: Option<Pace>,
    /// Forecasts by others of the processor.
    pub offered: Option<Offered>,
    /// The part that a slow arrival is blamed on.
    pub blamed: &'static str,
    /// Whether the process is to end.
    pub interruption: Interruption,
}

/// A medium that is played.
pub struct Session {
    wish: Wish,
    parts: Parts,
    controller: Controller,
    arrivals: Option<Arrivals>,
    processor: Option<Processor>,
    voice: Voice,
    is_playing: bool,
    /// The request that is carried out once sound has faded out.
    pending: Option<Request>,
    lead: Lead,
    seen: Seen,
    moment: Moment,
}

/// Counts at the last tick.
#[derive(Default)]
struct Seen {
    n_received: u64,
    n_frames: u64,
    busy: Duration,
    processor: Duration,
    /// Wall time and processor time of stretching.
    stretching: (Duration, Duration),
    /// Bytes that came, and frames that were decoded, before play went to where it is.
    n_received_before: u64,
    n_frames_before: u64,
    /// Elapsed before it was known how many seconds a byte is.
    unmeasured_seconds: f64,
    /// Arrived and elapsed since the rate was told.
    arrived_seconds: f64,
    elapsed_seconds: f64,
}

impl Session {
    /// Builds the session of a medium that is played by the settings of `wish`.
    pub fn new(wish: Wish, parts: Parts) -> Self {
        Self {
            controller: Controller::new(wish.law, wish.limits, wish.speed),
            // For laws that do not look ahead it is shown all the same.
            arrivals: wish.policy.clone().map(Arrivals::new),
            processor: wish.policy.clone().map(Processor::new),
            moment: Moment { requested_rate: wish.speed, mean_rate: wish.speed, ..Moment::default() },
            voice: Voice::new(wish.stretcher),
            wish,
            parts,
            is_playing: false,
            pending: None,
            lead: Lead::new(TICK.as_secs_f64()),
            seen: Seen::default(),
        }
    }

    /// Plays to the end. Each tick is shown to `watch`, which says what the listener asks for meanwhile. Paced by
    /// `clock`, or as fast as it can be done without one.
    pub fn run(
        mut self,
        clock: Option<&dyn Clock>,
        watch: &mut dyn FnMut(&Moment) -> Result<Option<Request>, Failure>,
    ) -> Result<Moment, Failure> {
        let done = self.play(clock, watch);
        self.parts.capture.close();
        self.parts.decoded.close();
        self.parts.output.finish()?;
        done.map(|()| self.moment)
    }

    fn play(
        &mut self,
        clock: Option<&dyn Clock>,
        watch: &mut dyn FnMut(&Moment) -> Result<Option<Request>, Failure>,
    ) -> Result<(), Failure> {
        let began = clock.map_or(Duration::ZERO, Clock::monotonic);
        let mut tick = 0_u32;
        let mut before = Duration::ZERO;
        loop {
            let due = TICK * tick;
            let now = match clock {
                Some(clock) => {
                    let now = clock.monotonic() - began;
                    clock::sleep(due.saturating_sub(now));
                    clock.monotonic() - began
                }
                None => due,
            };
            // A process that was suspended goes on from now, and does not make up for it.
            tick = if now > due + 10 * TICK { (now.as_nanos() / TICK.as_nanos()) as u32 } else { tick } + 1;
            let goes_on = self.tick((now - before).as_secs_f64(), clock.is_none())?;
            before = now;
            self.moment.wall_seconds = now.as_secs_f64();
            if self.parts.interruption.has_come() {
                return Ok(());
            }
            match watch(&self.moment)? {
                Some(Request::Quit) => return Ok(()),
                // A sound that stops at an edge clicks: it fades out first.
                Some(request @ (Request::Pause | Request::Seek(_))) if self.moment.rate > 0.0 => {
                    self.pending = Some(request)
                }
                Some(request) => self.obey(request),
                None => {}
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    fn obey(&mut self, request: Request) {
        match request {
            Request::Pause => {
                self.moment.is_paused = !self.moment.is_paused;
                if !self.moment.is_paused {
                    self.voice.fade_in();
                }
                self.controller.fall_silent();
            }
            Request::Speed(by) => {
                self.wish.speed = (self.wish.speed + by).clamp(*RATES.start(), *RATES.end());
                self.moment.requested_rate = self.wish.speed;
                self.controller.fall_silent();
            }
            Request::Seek(by) => {
                let to = (self.moment.media_seconds + by).max(0.0);
                let to = self.moment.length_seconds.map_or(to, |length| to.min((length - 1.0).max(0.0)));
                self.fall_silent();
                self.voice.leave();
                self.parts.decoded.seek(to);
                self.moment.media_seconds = to;
            }
            Request::Volume(factor) => self.voice.turn(factor),
            Request::Quit => {}
        }
    }

    /// One block of time. `false` when all is played.
    fn tick(&mut self, elapsed: f64, is_virtual: bool) -> Result<bool, Failure> {
        let Parts { pace, capture, .. } = &mut self.parts;
        if let Some(pace) = pace {
            pace.bring(capture, elapsed)?;
        }
        if is_virtual {
            self.let_decode(self.parts.pace.is_some());
        }
        let (level, progress) = (self.parts.capture.level(), self.parts.decoded.progress());
        if let Some(failure) = progress.failure {
            return Err(Failure::work(failure));
        }
        let per_byte = seconds_per_byte(&level, &progress);
        self.measure(&level, &progress, per_byte, elapsed, is_virtual);
        let now = self.moment.wall_seconds + elapsed;
        let Some(format) = progress.format else {
            return Ok(!progress.has_ended);
        };
        if let Some(landed) = self.parts.decoded.landed() {
            self.voice.land(landed);
            self.seen.n_received_before = level.n_received - level.n_held as u64;
            self.seen.n_frames_before = progress.n_frames - progress.n_ready as u64;
        }
        let situation = self.situation(&level, &progress, per_byte);
        let has_all = level.has_ended || progress.has_ended;
        // The first blocks are wanted all at once: what has arrived is not enough, it has to be decoded.
        let first_seconds =
            self.wish.start_seconds.clamp(LEAD_SECONDS, BUSY_LEAD_SECONDS) * self.wish.speed + FADE_SECONDS;
        let ready_seconds = progress.n_ready as f64 / f64::from(format.sample_rate_hertz);
        if !self.is_playing
            && !self.moment.is_paused
            && (has_all || situation.buffer_seconds >= self.wish.start_seconds)
            && (ready_seconds >= first_seconds || progress.has_ended)
        {
            self.resume();
        }
        let plays = self.is_playing && !self.moment.is_paused;
        let decision = plays.then(|| self.controller.step(&situation, elapsed));
        self.provide(&situation, decision.as_ref());
        let n_out = (TICK.as_secs_f64() * f64::from(format.sample_rate_hertz)).round() as usize;
        let mut goes_on = true;
        let n_blocks = if is_virtual { 1 } else { self.n_wanted(&situation, now) };
        for _ in 0..n_blocks {
            match &decision {
                Some(decision) if goes_on && self.is_playing => goes_on = self.make(format, n_out, decision.rate)?,
                _ => self.parts.output.silence(format, n_out)?,
            }
        }
        self.tell(&situation, &progress, decision, elapsed);
        if let Some(request) = self.pending.take() {
            self.obey(request);
        }
        match level.failure {
            // All that came has been played.
            Some(failure) if !goes_on => Err(Failure::work(failure)),
            _ => Ok(goes_on),
        }
    }

    /// Chooses how sound is stretched, and how far ahead it is decoded.
    fn provide(&mut self, situation: &Situation, decision: Option<&Decision>) {
        let tier = *self.moment.tier.get_or_insert(Tier::Full);
        let Some(processor) = &self.processor else { return };
        let offered = self.parts.offered.as_ref().and_then(Offered::now);
        // Others have no tiers.
        if let Some(decision) = decision.filter(|_| self.wish.stretcher == Asked::Own) {
            let next = processor.next_tier(tier, decision.rate, situation.requested_rate, offered.as_ref());
            self.moment.tier = Some(next);
        }
        let forecast = processor.forecast(tier, offered.as_ref());
        let ahead = processor.ahead_seconds(forecast.as_ref(), situation.requested_rate);
        // In whole seconds: decoding does not have to be told of each forecast.
        self.parts.decoded.set_ahead(Duration::from_secs(ahead.ceil() as u64));
    }

    /// Returns the number of blocks that have to be put out now, so that enough is waiting to be heard.
    fn n_wanted(&mut self, situation: &Situation, now: f64) -> usize {
        let is_scarce = situation.decoding.is_some_and(|decoding| {
            decoding.rate.reaches.iter().any(|reach| reach.least_rate < BUSY_RATIO * situation.requested_rate)
        });
        let is_busy = is_scarce || self.processor.as_ref().is_some_and(Processor::is_in_a_hurry);
        let waiting = self.parts.output.waiting().map(|waiting| waiting.as_secs_f64());
        let wanted = self.lead.wanted(now, waiting, is_busy);
        if wanted.is_short && self.is_playing {
            self.processor.iter_mut().for_each(Processor::hurry);
        }
        self.moment.n_late = self.lead.n_late();
        wanted.n_blocks
    }

    /// Waits until nothing more can be decoded: by a virtual clock, decoding takes no time, and what is not paced is
    /// there at once.
    fn let_decode(&self, is_paced: bool) {
        loop {
            let (level, progress) = (self.parts.capture.level(), self.parts.decoded.progress());
            let is_starved = level.is_decoder_waiting && level.n_held == 0 && !level.has_ended;
            let has_all = level.has_ended || level.n_held >= self.wish.capacity_bytes;
            let is_far = if is_paced { is_starved || progress.is_full } else { has_all && progress.is_full };
            if is_far || progress.has_ended || self.parts.interruption.has_come() {
                return;
            }
            let at_most = Duration::from_millis(1);
            if is_paced { self.parts.capture.rest(at_most) } else { self.parts.decoded.rest(at_most) }
        }
    }

    fn measure(&mut self, level: &Level, progress: &Progress, per_byte: Option<f64>, elapsed: f64, is_virtual: bool) {
        self.seen.unmeasured_seconds += elapsed;
        let Some((per_byte, format)) = per_byte.zip(progress.format) else { return };
        let arrived = (level.n_received - self.seen.n_received) as f64 * per_byte;
        let waited = std::mem::take(&mut self.seen.unmeasured_seconds);
        self.seen.n_received = level.n_received;
        if let Some(arrivals) = &mut self.arrivals
            && !level.has_ended
        {
            arrivals.step(arrived, waited, level.was_full);
        }
        self.seen.arrived_seconds += arrived;
        self.seen.elapsed_seconds += waited;
        if self.seen.elapsed_seconds >= 1.0 {
            self.moment.arrival_rate = self.seen.arrived_seconds / self.seen.elapsed_seconds;
            (self.seen.arrived_seconds, self.seen.elapsed_seconds) = (0.0, 0.0);
        }
        let decoded = (progress.n_frames - self.seen.n_frames) as f64 / f64::from(format.sample_rate_hertz);
        let (stretching, stretched) = std::mem::take(&mut self.seen.stretching);
        let work = Work {
            processor_seconds: (progress.processor - self.seen.processor + stretched).as_secs_f64(),
            busy_seconds: (progress.busy - self.seen.busy + stretching).as_secs_f64(),
            media_seconds: decoded,
            tier: self.moment.tier.unwrap_or(Tier::Full),
        };
        (self.seen.n_frames, self.seen.busy, self.seen.processor) =
            (progress.n_frames, progress.busy, progress.processor);
        // By a virtual clock, work takes no time.
        if let Some(processor) = self.processor.as_mut().filter(|_| !is_virtual) {
            processor.step(&work, self.wish.speed, elapsed);
        }
    }

    fn situation(&self, level: &Level, progress: &Progress, per_byte: Option<f64>) -> Situation {
        let hertz = progress.format.map_or(1.0, |format| f64::from(format.sample_rate_hertz));
        let ahead_seconds = progress.n_ready as f64 / hertz;
        // Before anything is decoded, a byte is taken for what it is at 128 kbit/s.
        let per_byte = per_byte.unwrap_or(1.0 / 16_000.0);
        // Not what the capture buffer holds: the decoder has read on beyond what it has decoded.
        let arrived = (level.n_received - self.seen.n_received_before) as f64 * per_byte;
        let decoded = (progress.n_frames - self.seen.n_frames_before) as f64 / hertz;
        let waiting = if progress.has_ended { 0.0 } else { (arrived - decoded).max(0.0) };
        let left = progress.length_seconds.map(|length| (length - self.moment.media_seconds).max(0.0));
        // Bytes that the demuxer skipped or read twice are no media. A medium may be longer than it states.
        let at_most = left.filter(|left| *left > 0.0).unwrap_or(f64::INFINITY);
        let buffer_seconds = (ahead_seconds + waiting).min(at_most);
        let offered = self.parts.offered.as_ref().and_then(Offered::now);
        let rate = self.processor.as_ref().and_then(|processor| processor.most_forecast(offered.as_ref()));
        Situation {
            buffer_seconds,
            capacity_seconds: (self.wish.capacity_bytes as f64 * per_byte + AHEAD_SECONDS_MAX)
                .max(self.wish.start_seconds),
            start_seconds: self.wish.start_seconds,
            left_seconds: if level.has_ended { Some(buffer_seconds) } else { left },
            arrival: self.arrivals.as_ref().and_then(Arrivals::forecast),
            // Who sends what is made at this moment cannot wait.
            does_sender_wait: self.wish.target_seconds.is_none(),
            decoding: rate.map(|rate| Decoding { ahead_seconds, rate }),
            // What is on its way is not known: what waits here stands for all that play is behind.
            live: self
                .wish
                .target_seconds
                .map(|target_seconds| LiveEdge { offset_seconds: buffer_seconds, target_seconds }),
            requested_rate: self.wish.speed,
        }
    }

    /// Makes and puts out a block at this rate. `false` when all is out.
    fn make(&mut self, format: Format, n_out: usize, rate: f64) -> Result<bool, Failure> {
        let tier = self.moment.tier.unwrap_or(Tier::Full);
        let how = How { format, n_out, rate, tier, fades_out: self.pending.is_some() };
        let block = self.voice.make(&self.parts.decoded, &how)?;
        self.seen.stretching.0 += block.took.0;
        self.seen.stretching.1 += block.took.1;
        self.moment.media_seconds = self.voice.media_seconds();
        self.parts.output.write(format, &block.sound)?;
        if block.is_short && !block.has_ended {
            self.moment.n_breaks += 1;
            self.fall_silent();
        }
        Ok(!(block.is_short && block.has_ended))
    }

    fn fall_silent(&mut self) {
        self.is_playing = false;
        self.controller.fall_silent();
        self.voice.fall_silent();
    }

    /// Begins, or goes on from shortly before where it broke off.
    fn resume(&mut self) {
        self.is_playing = true;
        if self.moment.start_up_seconds.is_none() {
            self.moment.start_up_seconds = Some(self.moment.wall_seconds);
        }
        self.controller.fall_silent();
        self.voice.resume(&self.parts.decoded);
    }

    fn tell(&mut self, situation: &Situation, progress: &Progress, decision: Option<Decision>, elapsed: f64) {
        let moment = &mut self.moment;
        moment.length_seconds = progress.length_seconds;
        moment.buffer_seconds = situation.buffer_seconds;
        moment.forecast = situation
            .arrival
            .and_then(|arrival| arrival.reaches.last().copied())
            .map(|reach| (reach.least_rate, reach.expected_rate, reach.greatest_rate));
        moment.n_broken = progress.n_broken;
        moment.remark = progress.remark;
        let decision = decision.filter(|_| self.is_playing);
        let at_own_rate = moment.tier == Some(Tier::None);
        moment.rate = decision.map_or(0.0, |decision| if at_own_rate { 1.0 } else { decision.rate });
        moment.ahead_seconds = situation.decoding.map_or(0.0, |decoding| decoding.ahead_seconds);
        moment.processor_rate = situation.decoding.map(|decoding| decoding.rate.expected_rate());
        moment.problem = self.parts.offered.as_ref().and_then(Offered::problem);
        moment.until_break_seconds = decision.and_then(|decision| decision.until_break_seconds);
        if let Some(decision) = decision {
            moment.mean_rate = decision.mean_rate;
        }
        moment.cause = decision.and_then(|decision| decision.cause).map(|cause| match cause {
            Cause::Arrival => self.parts.blamed,
            Cause::Overflow => "full buffer",
            Cause::Cpu => "CPU",
            Cause::LiveEdge => "live edge",
            Cause::Slew => "on its way",
        });
        // What differs from the medium's own rate because somebody wants it so has a cause, too.
        if moment.is_paused || (moment.cause.is_none() && moment.rate != 1.0 && moment.rate > 0.0) {
            moment.cause = Some("listener");
        }
        if moment.start_up_seconds.is_some() && !self.is_playing && !moment.is_paused {
            moment.stalled_seconds += elapsed;
        }
    }
}

/// Media seconds that a byte is: by what the medium says of itself, or by what was decoded where that cannot be.
pub fn seconds_per_byte(level: &Level, progress: &Progress) -> Option<f64> {
    let told = progress.length_seconds.zip(level.medium.length).map(|(seconds, bytes)| seconds / bytes as f64);
    let told = told.filter(|told| told.is_finite() && *told > 0.0);
    let format = progress.format?;
    let decoded_seconds = progress.n_frames as f64 / f64::from(format.sample_rate_hertz);
    let decoded = (decoded_seconds >= 0.5 && level.n_taken > 0).then(|| decoded_seconds / level.n_taken as f64);
    match (told, decoded) {
        (Some(told), Some(decoded)) if decoded_seconds >= LENGTH_CHECKED_SECONDS => {
            let factor = told / decoded;
            Some(if (1.0 / LENGTH_FACTOR_MAX..=LENGTH_FACTOR_MAX).contains(&factor) { told } else { decoded })
        }
        (told, decoded) => told.or(decoded),
    }
}

#[cfg(test)]
mod tests {
    use clock::Manual;
    use units::Timestamp;

    use super::*;

    /// A second of a tone in a WAV file of one channel at 8 kHz, so many times.
    fn medium(n_seconds: u32) -> Vec<u8> {
        let n_bytes = 16_000 * n_seconds;
        let mut bytes = Vec::new();
        bytes.extend(b"RIFF");
        bytes.extend((36 + n_bytes).to_le_bytes());
        bytes.extend(b"WAVEfmt ");
        bytes.extend([16, 0, 0, 0, 1, 0, 1, 0]);
        bytes.extend([8_000_u32.to_le_bytes(), 16_000_u32.to_le_bytes()].concat());
        bytes.extend([2, 0, 16, 0]);
        bytes.extend(b"data");
        bytes.extend(n_bytes.to_le_bytes());
        bytes.extend((0..8_000 * n_seconds).flat_map(|idx| (((idx % 80) as i16 - 40) * 200).to_le_bytes()));
        bytes
    }

    fn session(n_seconds: u32) -> Session {
        let (bytes, capture) = (medium(n_seconds), Capture::new(8_000_000));
        capture.opened(crate::capture::Medium { length: Some(bytes.len() as u64), is_seekable: false });
        capture.bring_some(&bytes);
        capture.mark_end();
        let decoded = Decoded::start(capture.clone(), None, Duration::from_secs(4)).unwrap();
        let wish = Wish {
            law: Law::Restricted,
            speed: 1.0,
            limits: Limits::default().playable(RATES),
            start_seconds: 1.0,
            policy: Some("LAST".parse().unwrap()),
            capacity_bytes: 8_000_000,
            target_seconds: None,
            stretcher: Asked::Own,
        };
        let parts = Parts {
            capture,
            decoded,
            output: Output::Null,
            pace: None,
            offered: None,
            blamed: "disk",
            interruption: Interruption::watch().unwrap(),
        };
        Session::new(wish, parts)
    }

    /// Returns the moments that a listener who presses these keys at these ticks sees, tick by tick.
    fn seen(n_seconds: u32, pressed: &[(usize, Request)]) -> Vec<Moment> {
        let mut moments = Vec::new();
        let mut watch = |moment: &Moment| {
            moments.push(moment.clone());
            Ok(pressed.iter().find(|(at, _)| *at == moments.len()).map(|(_, request)| *request))
        };
        session(n_seconds).run(None, &mut watch).unwrap();
        moments
    }

    #[test]
    fn keys_pause_seek_and_change_the_speed_within_what_can_be_played() {
        let moments = seen(
            20,
            &[(50, Request::Pause), (150, Request::Pause), (200, Request::Speed(50.0)), (250, Request::Speed(-50.0))],
        );
        assert!(moments[60..150].iter().all(|moment| moment.rate == 0.0 && moment.cause == Some("listener")));
        assert_eq!(moments[149].media_seconds, moments[60].media_seconds);
        let asked: Vec<f64> = [220, 260].map(|at: usize| moments[at].requested_rate).into();
        assert_eq!(asked, [2.0, 0.5]);
        assert!(moments.iter().all(|moment| moment.rate == 0.0 || RATES.contains(&moment.rate)));
        assert_eq!(moments.last().unwrap().n_breaks, 0);
    }

    #[test]
    fn a_process_that_was_suspended_for_a_minute_goes_on_from_where_it_was() {
        let clock = Manual::at(Timestamp::from_nanos(0));
        let session = session(10);
        let decoded = session.parts.decoded.clone();
        let mut n_ticks = 0;
        let mut before = 0.0;
        let mut longest = 0.0_f64;
        let mut watch = |moment: &Moment| {
            n_ticks += 1;
            // The decoder is a thread by real time.
            while !decoded.progress().is_full && !decoded.progress().has_ended {
                decoded.rest(TICK);
            }
            if n_ticks == 100 {
                // Wall time goes back meanwhile, which nothing here looks at.
                clock.set_wall(Timestamp::from_nanos(-3_600_000_000_000));
                clock.pass(Duration::from_secs(60));
            } else {
                clock.pass(TICK);
            }
            longest = longest.max(moment.media_seconds - before);
            before = moment.media_seconds;
            Ok((n_ticks == 2_000).then_some(Request::Quit))
        };
        let last = session.run(Some(&clock), &mut watch).unwrap();
        assert!((last.media_seconds - 10.0).abs() < 0.05, "{}", last.media_seconds);
        assert!(longest < 1.0, "nothing is skipped or made up for: {longest} s at once");
        assert!(last.n_late <= 1 && last.n_breaks == 0, "{} late, {} breaks", last.n_late, last.n_breaks);
    }
}
