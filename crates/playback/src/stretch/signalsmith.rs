//! Time-scale modification by the phase vocoder of Signalsmith Audio, for those who have its C++ built in.
//!
//! Spectra of 120 ms are taken at one pace and put out at another, so it waits for several times as much input as
//! WSOLA. There are no tiers, and output depends, if little, on how input is cut.

use std::collections::VecDeque;

use signalsmith_stretch::Stretch;

use super::{CHANNELS, Error, Format, RATES, SAMPLE_RATES_HERTZ};

/// Samples are held within this. What is not finite would stay in the phases for ever.
const LOUDEST: f32 = 1e6;

/// Changes the speed of sound as it comes, without changing its pitch; used like [`super::Stretcher`].
///
/// # Examples
/// ```
/// use playback::stretch::{Format, Signalsmith};
///
/// let mut stretcher = Signalsmith::new(Format { sample_rate_hertz: 48_000, n_channels: 1 })?;
/// let mut output = Vec::new();
/// stretcher.push(&[0.0; 48_000], 0.8)?;
/// stretcher.finish();
/// assert_eq!(stretcher.pull(&mut output), 60_000);
/// # Ok::<(), playback::stretch::Error>(())
/// ```
pub struct Signalsmith {
    format: Format,
    stretch: Stretch,
    /// The first input, until there is enough of it to begin with.
    beginning: Option<Vec<f32>>,
    /// Frames of input that are not played, with their rates: what the vocoder has heard is ahead of what it plays.
    due: VecDeque<(usize, f64)>,
    /// Output that was made and not pulled.
    made: Vec<f32>,
    /// Output that is due, less than a frame.
    part_frames: f64,
    /// Output from before the first frame of input.
    n_early: usize,
    is_finished: bool,
    played_frames: u64,
    reached_frames: f64,
}

impl Signalsmith {
    /// A stretcher that has heard nothing.
    ///
    /// # Errors
    /// If the format is out of the range of its fields.
    pub fn new(format: Format) -> Result<Self, Error> {
        let Format { sample_rate_hertz, n_channels } = format;
        if !SAMPLE_RATES_HERTZ.contains(&sample_rate_hertz) {
            return Err(Error::SampleRate { sample_rate_hertz });
        }
        if !CHANNELS.contains(&n_channels) {
            return Err(Error::Channels { n_channels });
        }
        let stretch = Stretch::preset_default(n_channels.into(), sample_rate_hertz);
        Ok(Self {
            n_early: stretch.output_latency(),
            format,
            stretch,
            beginning: Some(Vec::new()),
            due: VecDeque::new(),
            made: Vec::new(),
            part_frames: 0.0,
            is_finished: false,
            played_frames: 0,
            reached_frames: 0.0,
        })
    }

    /// Returns the format of the samples.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The most input that can wait for more, in seconds.
    #[must_use]
    pub fn latency_seconds(&self) -> f64 {
        let frames = self.stretch.input_latency() as f64 + RATES.end() * self.stretch.output_latency() as f64;
        frames / f64::from(self.format.sample_rate_hertz)
    }

    /// The media time that the output has reached, in seconds from the start. It never decreases.
    #[must_use]
    pub fn media_seconds(&self) -> f64 {
        self.reached_frames / f64::from(self.format.sample_rate_hertz)
    }

    /// Takes samples to be played at `rate`.
    ///
    /// # Errors
    /// If the rate is not one of [`RATES`], if the last frame is not whole, or after [`Signalsmith::finish`]. No sample
    /// is taken then.
    pub fn push(&mut self, samples: &[f32], rate: f64) -> Result<(), Error> {
        let n_channels = self.n_channels();
        if !RATES.contains(&rate) {
            return Err(Error::Rate { rate });
        }
        if !samples.len().is_multiple_of(n_channels) {
            return Err(Error::PartialFrame { n_samples: samples.len(), n_channels: self.format.n_channels });
        }
        if self.is_finished {
            return Err(Error::Finished);
        }
        if samples.is_empty() {
            return Ok(());
        }
        self.due.push_back((samples.len() / n_channels, rate));
        let heard = |sample: &f32| if sample.is_nan() { 0.0 } else { sample.clamp(-LOUDEST, LOUDEST) };
        let mut samples: Vec<f32> = samples.iter().map(heard).collect();
        if let Some(mut beginning) = self.beginning.take() {
            beginning.append(&mut samples);
            let n_needed = self.stretch.input_latency() * n_channels;
            if beginning.len() < n_needed {
                self.beginning = Some(beginning);
                return Ok(());
            }
            samples = beginning.split_off(n_needed);
            self.begin(&beginning);
        }
        self.hear(&samples);
        Ok(())
    }

    /// Says that no more samples will come, so that the next [`Signalsmith::pull`] plays all that is left.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.is_finished, true) || self.due.is_empty() {
            return;
        }
        let n_channels = self.n_channels();
        if let Some(mut beginning) = self.beginning.take() {
            beginning.resize(self.stretch.input_latency() * n_channels, 0.0);
            self.begin(&beginning);
        }
        let n_due: usize = self.due.iter().map(|(n_frames, _)| n_frames).sum();
        self.hear(&vec![0.0; n_due * n_channels]);
        let mut rest = vec![0.0; self.stretch.output_latency() * n_channels];
        self.stretch.flush(&mut rest);
        self.keep(&rest);
        self.reached_frames = self.played_frames as f64;
    }

    /// Appends all that can be played so far to `output`, and returns its number of frames.
    pub fn pull(&mut self, output: &mut Vec<f32>) -> usize {
        let n_frames = self.made.len() / self.n_channels();
        output.append(&mut self.made);
        n_frames
    }

    /// Has the middle of the first spectrum on the first frame.
    fn begin(&mut self, beginning: &[f32]) {
        let rate = self.due.front().map_or(1.0, |(_, rate)| *rate);
        self.stretch.seek(beginning, rate);
    }

    /// Takes samples in, and plays as many frames as they are.
    fn hear(&mut self, samples: &[f32]) {
        let n_channels = self.n_channels();
        let mut samples = samples;
        while !samples.is_empty()
            && let Some((n_due, rate)) = self.due.pop_front()
        {
            let n_frames = n_due.min(samples.len() / n_channels);
            let (now, later) = samples.split_at(n_frames * n_channels);
            samples = later;
            if n_frames < n_due {
                self.due.push_front((n_due - n_frames, rate));
            }
            self.part_frames += n_frames as f64 / rate;
            let mut output = vec![0.0; self.part_frames as usize * n_channels];
            self.part_frames = self.part_frames.fract();
            self.stretch.process(now, &mut output);
            self.keep(&output);
            self.played_frames += n_frames as u64;
            let heard = self.played_frames as f64 - rate * self.stretch.output_latency() as f64;
            self.reached_frames = self.reached_frames.max(heard);
        }
    }

    fn keep(&mut self, output: &[f32]) {
        let n_channels = self.n_channels();
        let n_early = self.n_early.min(output.len() / n_channels);
        self.n_early -= n_early;
        self.made.extend_from_slice(&output[n_early * n_channels..]);
    }

    fn n_channels(&self) -> usize {
        usize::from(self.format.n_channels)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MONO, STEREO, noise, pitch_hertz, sine};
    use super::*;

    fn stretched<'a>(format: Format, pieces: impl IntoIterator<Item = (&'a [f32], f64)>) -> Vec<f32> {
        let mut stretcher = Signalsmith::new(format).unwrap();
        let (mut output, mut reached, mut n_pushed) = (Vec::new(), 0.0, 0);
        let seconds = |n_samples: usize| {
            (n_samples / usize::from(format.n_channels)) as f64 / f64::from(format.sample_rate_hertz)
        };
        for (samples, rate) in pieces {
            stretcher.push(samples, rate).unwrap();
            stretcher.pull(&mut output);
            n_pushed += samples.len();
            let media_seconds = stretcher.media_seconds();
            assert!(
                media_seconds >= reached && seconds(n_pushed) - media_seconds <= stretcher.latency_seconds() + 1e-9
            );
            reached = media_seconds;
        }
        stretcher.finish();
        stretcher.pull(&mut output);
        assert_eq!(stretcher.media_seconds(), seconds(n_pushed));
        output
    }

    #[test]
    fn a_sine_keeps_its_pitch_its_place_and_the_length_that_its_rates_say() {
        for sample_rate_hertz in [8_000, 48_000] {
            for rate in [0.5, 0.8, 1.0, 1.25, 2.0] {
                let format = Format { sample_rate_hertz, n_channels: 1 };
                let input = sine(format, 440.0, 2.0);
                let output = stretched(format, input.chunks(700).map(|block| (block, rate)));
                let expected = input.len() as f64 / rate;
                assert!((output.len() as f64 - expected).abs() <= 1.0, "{}, not {expected}", output.len());
                // Ends are where it fades.
                let n_end = sample_rate_hertz as usize / 5;
                let cents =
                    1_200.0 * (pitch_hertz(&output[n_end..output.len() - n_end], sample_rate_hertz) / 440.0).log2();
                assert!(cents.abs() < 2.0, "{sample_rate_hertz} Hz at {rate}: {cents} cents");
            }
        }
    }

    #[test]
    fn a_burst_comes_when_it_is_due() {
        for rate in [0.5, 0.9, 1.0, 1.5, 2.0] {
            let mut input = vec![0.0; 96_000];
            input[47_000..49_000].copy_from_slice(&noise(2_000));
            let output = stretched(MONO, input.chunks(960).map(|block| (block, rate)));
            let energy =
                |(idx, sample): (usize, &f32)| (idx as f64 * f64::from(sample * sample), f64::from(sample * sample));
            let (moment, sum) = output.iter().enumerate().map(energy).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            let off_seconds = (moment / sum - 48_000.0 / rate) / 48_000.0;
            assert!(off_seconds.abs() < 0.02, "at {rate}: {off_seconds} s off");
        }
    }

    #[test]
    fn short_hostile_and_changing_sounds_have_their_length_and_stay_finite() {
        let mut input = noise(9_600);
        for (at, hostile) in [f32::NAN, f32::INFINITY, f32::MAX].into_iter().enumerate() {
            input[500 + 1_000 * at..][..300].fill(hostile);
        }
        for n_samples in [0, 2, 200, 9_600] {
            let pieces = input[..n_samples].chunks(600).zip([0.5, 1.0, 2.0].into_iter().cycle());
            let expected: f64 = pieces.clone().map(|(piece, rate)| piece.len() as f64 / 2.0 / rate).sum();
            let output = stretched(STEREO, pieces);
            assert!((output.len() as f64 / 2.0 - expected).abs() <= 1.0, "{} for {expected}", output.len() / 2);
            assert!(output.iter().all(|sample| sample.is_finite()));
        }
    }

    #[test]
    fn what_cannot_be_stretched_is_refused() {
        let format = |sample_rate_hertz, n_channels| Signalsmith::new(Format { sample_rate_hertz, n_channels }).err();
        assert_eq!(format(7_999, 1), Some(Error::SampleRate { sample_rate_hertz: 7_999 }));
        assert_eq!(format(48_000, 65), Some(Error::Channels { n_channels: 65 }));
        let mut stretcher = Signalsmith::new(STEREO).unwrap();
        for rate in [0.0, -1.0, 0.49, 2.01, 50.0, f64::INFINITY] {
            assert_eq!(stretcher.push(&[0.0; 2], rate), Err(Error::Rate { rate }));
        }
        assert!(matches!(stretcher.push(&[0.0; 2], f64::NAN), Err(Error::Rate { .. })));
        assert_eq!(stretcher.push(&[0.0; 3], 1.0), Err(Error::PartialFrame { n_samples: 3, n_channels: 2 }));
        stretcher.finish();
        assert_eq!(stretcher.push(&[0.0; 2], 1.0), Err(Error::Finished));
        assert_eq!(stretcher.pull(&mut Vec::new()), 0);
    }
}
