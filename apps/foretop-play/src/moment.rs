//! What a listener is told of a moment, and can ask for in it.

use playback::stretch::Tier;

/// What can be told of a moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Time since the beginning, by the clock that paces play.
    pub wall_seconds: f64,
    /// Where in the medium play is.
    pub media_seconds: f64,
    /// How long the medium is, where it says.
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
    /// Why the rate is not the requested one.
    pub cause: Option<&'static str>,
    /// How long until the buffer is empty, if that is foreseen.
    pub until_break_seconds: Option<f64>,
    /// Breaks so far, and the time without sound in them.
    pub n_breaks: usize,
    /// Time without sound, in seconds.
    pub stalled_seconds: f64,
    /// Time until sound began.
    pub start_up_seconds: Option<f64>,
    /// How the sound is stretched.
    pub tier: Option<Tier>,
    /// Media that are decoded ahead of play, in seconds.
    pub ahead_seconds: f64,
    /// The rate that decoding and stretching are expected to keep up with.
    pub processor_rate: Option<f64>,
    /// Times that sound was put out after it was due.
    pub n_late: usize,
    /// Why nobody says what the processor will do, where somebody was asked.
    pub problem: Option<String>,
    /// Whether the listener has stopped play.
    pub is_paused: bool,
    /// Packets that could not be decoded.
    pub n_broken: usize,
    /// The part of the medium that is not played.
    pub remark: Option<&'static str>,
}

/// What a listener can ask for while sound plays.
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
