//! Figures of a moment for a listener, and the listener's requests in it.

use playback::stretch::Tier;

/// Figures of a moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Time since the beginning, by the clock that paces play.
    pub wall_seconds: f64,
    /// Position of play in the medium.
    pub media_seconds: f64,
    /// The length of the medium, if the medium states it.
    pub length_seconds: Option<f64>,
    /// Media held, in seconds.
    pub buffer_seconds: f64,
    /// Media that arrive, per second.
    pub arrival_rate: f64,
    /// The forecast of that: bad luck, expected, good luck.
    pub forecast: Option<(f64, f64, f64)>,
    /// The requested rate.
    pub requested_rate: f64,
    /// The rate, 0 while play stands still.
    pub rate: f64,
    /// The mean of recent rates.
    pub mean_rate: f64,
    /// The reason why the rate is not the requested one.
    pub cause: Option<&'static str>,
    /// Time until the buffer is empty, if that is foreseen.
    pub until_break_seconds: Option<f64>,
    /// Breaks so far, and the time without sound in them.
    pub n_breaks: usize,
    /// Time without sound, in seconds.
    pub stalled_seconds: f64,
    /// Time until sound began.
    pub start_up_seconds: Option<f64>,
    /// The way in which the sound is stretched.
    pub tier: Option<Tier>,
    /// Media that are decoded ahead of play, in seconds.
    pub ahead_seconds: f64,
    /// The rate that decoding and stretching are expected to keep up with.
    pub processor_rate: Option<f64>,
    /// Times that sound was put out after it was due.
    pub n_late: usize,
    /// The reason why nobody forecasts the processor, if somebody was asked.
    pub problem: Option<String>,
    /// Whether the listener has stopped play.
    pub is_paused: bool,
    /// Packets that could not be decoded.
    pub n_broken: usize,
    /// The part of the medium that is not played.
    pub remark: Option<&'static str>,
}

/// Requests of a listener while sound plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request {
    /// Stops play, or goes on.
    Pause,
    /// So much faster, or slower.
    Speed(f64),
    /// So many seconds on, or back.
    Seek(f64),
    /// Louder or softer, as a factor.
    Volume(f32),
    /// Ends.
    Quit,
}
