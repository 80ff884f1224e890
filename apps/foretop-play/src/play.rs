//! `foretop play MEDIUM`: sound, played.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use clock::{Clock, System};
use component::{Origin, Publisher};
use playback::stretch::RATES;
use playback::{AHEAD_SECONDS_MIN, Law};
use program::{Failure, Interruption, written};
use stream::{Endpoint, Security};
use text::figure::span_ns;

use crate::capture::Capture;
use crate::decode::Decoded;
use crate::laws::{Accepted, within};
use crate::moment::{Moment, Request};
use crate::output::Output;
use crate::pace::Pace;
use crate::processor::{Asked, Offered};
use crate::session::{Parts, Session, TICK, Wish};
use crate::simulate::trace;
use crate::source::Source;
use crate::stretching;
use crate::view::{Keys, line, moment_csv};

/// Arguments of a medium that is played.
#[derive(Args)]
pub struct Play {
    /// The medium: a file, an address that begins with http:// or https://, or - for standard input; WAV, FLAC, MP3,
    /// AAC or Vorbis
    #[arg(value_name = "MEDIUM", required = true)]
    medium: Option<String>,

    /// The law that sets the rate
    #[arg(long, value_enum, default_value_t = Mode::Restricted)]
    mode: Mode,

    /// Another law that sets the rate, for comparison: shaka, dash.js, hls.js, media3, neteq, us2004, slowest
    #[arg(long, value_name = "LAW", conflicts_with = "mode")]
    law: Option<Law>,

    #[command(flatten)]
    accepted: Accepted,

    /// Play a medium that is made at the same time: buffer this much of it, in seconds, and play faster if there is
    /// more
    #[arg(long, value_name = "SECONDS")]
    target: Option<f64>,

    /// The source of processor forecasts: own (the time that decoding got so far), sensor (of CPU availability, in this
    /// process), or the address of a node
    #[arg(long, value_name = "WHO", default_value = "own")]
    cpu: Asked,

    /// The stretcher of sound; signalsmith is available if the program was built with it
    #[arg(long, value_enum, default_value_t = stretching::Asked::Own)]
    stretcher: stretching::Asked,

    /// The capacity for undecoded media, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 8.0)]
    capacity: f64,

    /// Write the sound to this WAV file
    #[arg(long, value_name = "FILE.wav")]
    out: Option<PathBuf>,

    /// Play without sound, for a trial
    #[arg(long, conflicts_with = "out")]
    null: bool,

    /// Do not wait for the clock: play as fast as possible, with the same result
    #[arg(long = "virtual")]
    is_virtual: bool,

    /// Let a file arrive as in a trace instead of at once: a CSV file with a column `arrival_rate`, or the name of a
    /// generated trace, such as `mobile`
    #[arg(long, value_name = "TRACE")]
    arrival: Option<PathBuf>,

    /// Seed for a generated trace
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the state to this CSV file, ten times a second
    #[arg(long, value_name = "FILE.csv")]
    trace: Option<PathBuf>,

    /// Send buffer, arrival and rate as a stream of one measurement a second, for a node to show and forecast; may be
    /// repeated
    #[arg(long, value_name = "ENDPOINT")]
    publish: Vec<Endpoint>,
}

/// The law that sets the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The requested rate, as long as arrivals allow play without a break
    Restricted,
    /// The rate of arrival: a sender that sends faster or slower controls the player
    Arrival,
    /// The requested rate alone
    Off,
}

/// Ticks between two moments of a trace, and between two lines on a terminal.
const N_TICKS_A_MOMENT: u64 = 5;
const N_TICKS_A_LINE: u64 = 10;

/// Ticks between two measurements of a stream: a second.
const N_TICKS_A_MEASUREMENT: u64 = 50;

impl Play {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let medium = self.medium.clone().unwrap_or_default();
        let wish = self.wish()?;
        let output = match (&self.out, self.null) {
            (Some(path), _) => Output::wav(path),
            (None, true) => Output::Null,
            (None, false) => Output::device()?,
        };
        if self.is_virtual && self.out.is_none() && !self.null {
            return Err(Failure::usage(
                "`--virtual` waits for no clock, and a sound device has one: give --out FILE.wav or --null",
            ));
        }
        let source = Source::of(&medium)?;
        let (blamed, capture) = (source.blamed(), Capture::new(wish.capacity_bytes));
        let pace = self.pace(&medium, &source, &capture)?;
        if pace.is_none() {
            source.start(capture.clone())?;
        }
        let hint = Path::new(&medium).extension().map(|extension| extension.to_string_lossy().into_owned());
        let decoded = Decoded::start(capture.clone(), hint, Duration::from_secs_f64(AHEAD_SECONDS_MIN))?;
        let offered = Offered::start(self.cpu.clone(), wish.policy.clone())?;
        let interruption = Interruption::watch()?;
        let keys = Keys::open(medium != "-" && std::io::stderr().is_terminal());
        let mut record = self.trace.as_deref().map(Record::create).transpose()?;
        let mut publisher = self.publisher()?;
        let clock = (!self.is_virtual).then(System::start);
        let session = Session::new(wish, Parts { capture, decoded, output, pace, offered, blamed, interruption });
        let (mut tick, mut told) = (0_u64, None);
        let mut watch = |moment: &Moment| -> Result<Option<Request>, Failure> {
            if let Some(record) = &mut record
                && tick.is_multiple_of(N_TICKS_A_MOMENT)
            {
                record.take(moment)?;
            }
            if let Some(publisher) = &mut publisher
                && tick.is_multiple_of(N_TICKS_A_MEASUREMENT)
            {
                publisher.send(measured(moment));
            }
            let is_due = tick.is_multiple_of(N_TICKS_A_LINE);
            tick += 1;
            if keys.is_open() {
                if is_due {
                    keys.show(moment);
                }
            } else if told != Some(state(moment)) {
                // Without a terminal, a line when something changes.
                told = Some(state(moment));
                // Nothing is lost when nobody reads what standard error says.
                let _ = writeln!(std::io::stderr(), "{}", line(moment, usize::MAX));
            }
            Ok(keys.pressed())
        };
        let last = session.run(clock.as_ref().map(|clock| clock as &dyn Clock), &mut watch)?;
        drop(keys);
        if let Some(record) = record {
            record.finish()?;
        }
        written(writeln!(out, "{}", summary(&last)))
    }

    fn wish(&self) -> Result<Wish, Failure> {
        let law = self.law.unwrap_or(match self.mode {
            Mode::Restricted => Law::Restricted,
            Mode::Arrival => Law::Arrival,
            Mode::Off => Law::Off,
        });
        let (speed, rates) = (self.accepted.speed, RATES);
        if !rates.contains(&speed) {
            return Err(Failure::usage(format!(
                "`--speed {speed}`: sound can be played at {} to {} times its rate",
                rates.start(),
                rates.end()
            )));
        }
        let limits = self.accepted.limits()?.playable(rates);
        let capacity = within("capacity", self.capacity, 0.0, 4_096.0)?;
        Ok(Wish {
            law,
            speed,
            limits,
            start_seconds: within("start", self.accepted.start, 0.0, 3_600.0)?,
            policy: self.accepted.policy()?,
            capacity_bytes: (capacity * 1e6) as usize,
            target_seconds: self.target.map(|target| within("target", target, 0.0, 3_600.0)).transpose()?,
            stretcher: self.stretcher.checked()?,
        })
    }

    fn publisher(&self) -> Result<Option<Publisher>, Failure> {
        if self.publish.is_empty() {
            return Ok(None);
        }
        if self.is_virtual {
            return Err(Failure::usage("`--publish` sends what is measured now, and `--virtual` has no now"));
        }
        let host = sensor::host_name(Path::new("/")).unwrap_or_default();
        let step = TICK * N_TICKS_A_MEASUREMENT as u32;
        let origin = Origin { component: "play", stream: "play", host: &host, step };
        let started = Publisher::start(origin, &self.publish, &Security::default());
        started.map(Some).map_err(|error| Failure::work(text::with_causes(&error)))
    }

    fn pace(&self, medium: &str, source: &Source, capture: &Capture) -> Result<Option<Pace>, Failure> {
        let Some(arrival) = &self.arrival else { return Ok(None) };
        if !matches!(source, Source::File(_)) {
            return Err(Failure::usage("`--arrival` is for files: what comes from elsewhere arrives as it does"));
        }
        // Made traces go on as their last sample does; an hour is longer than a medium that arrives at once.
        let trace = trace(arrival, "arrival_rate", 3_600.0, self.seed)?;
        Pace::new(Path::new(medium), trace, capture).map(Some)
    }
}

/// Returns the values of a moment that a stream carries.
fn measured(moment: &Moment) -> [(String, &'static str, f64); 3] {
    let signal = |name: &str, unit, value| (format!("play.{name}"), unit, value);
    [
        signal("buffer", "s", moment.buffer_seconds),
        signal("arrival", "ratio", moment.arrival_rate),
        signal("rate", "ratio", moment.rate),
    ]
}

/// Returns the state whose changes are worth a line if there is no terminal.
fn state(moment: &Moment) -> (bool, bool, usize) {
    (moment.rate > 0.0, moment.cause.is_some(), moment.n_breaks)
}

/// Moments in a CSV file, which `foretop play simulate` reads.
struct Record {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Record {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Self::cannot(path, &error))?;
        let mut record = Self { path: path.to_owned(), file: BufWriter::new(file) };
        record.line(&moment_csv(None))?;
        Ok(record)
    }

    fn cannot(path: &Path, error: &std::io::Error) -> Failure {
        Failure::work(format!("cannot write `{}`: {error}", path.display()))
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.file, "{line}").map_err(|error| Self::cannot(&self.path, &error))
    }

    fn take(&mut self, moment: &Moment) -> Result<(), Failure> {
        self.line(&moment_csv(Some(moment)))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| Self::cannot(&self.path, &error))
    }
}

fn summary(moment: &Moment) -> String {
    let span = |seconds: f64| span_ns(seconds * 1e9);
    let start = match moment.start_up_seconds {
        None => "nothing was played".to_owned(),
        Some(start) if start < 0.001 => "sound at once".to_owned(),
        Some(start) => format!("sound after {}", span(start)),
    };
    let breaks = match moment.n_breaks {
        0 => "no break".to_owned(),
        1 => format!("1 break of {}", span(moment.stalled_seconds)),
        n => format!("{n} breaks, {} without sound", span(moment.stalled_seconds)),
    };
    let broken = match moment.n_broken {
        0 => String::new(),
        n => format!(", {n} packets could not be decoded"),
    };
    let late = match moment.n_late {
        0 => String::new(),
        1 => ", sound was late once".to_owned(),
        n => format!(", sound was late {n} times"),
    };
    let problem = moment
        .problem
        .as_ref()
        .map_or(String::new(), |problem| format!("\nnobody says what the processor will do: {problem}"));
    let remark = moment.remark.map_or(String::new(), |remark| format!("\n{remark}"));
    let played = span(moment.media_seconds);
    format!(
        "{played} of the medium in {}, {start}, {breaks}, mean rate of the last minute {:.2}{broken}{late}{remark}{problem}",
        span(moment.wall_seconds),
        moment.mean_rate
    )
}
