//! One host's signals: their last samples, their models, and when those are fitted.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use predict::Fleet;
use stream::{Carries, Description, Forecast, Measurement, Payload};
use units::Timestamp;

use super::server::Config;
use super::subjects::refit_offset;

/// From here on a young series is tried at each doubling of its length, so that it need not wait for a whole window.
const FIRST_FIT_AT: u64 = 32;

/// A jump of more than this many steps is no gap but another series.
const GAP_MAX: u64 = 1000;

/// Whether models are fitted right after the sample of this number (from 0): at lengths 32, 64, … while the window is not full, then
/// whenever `every` more have come, shifted by `offset` so that not all hosts fit at once.
///
/// It depends on nothing else, so that a server that takes a host over fits at the same samples as the one before did.
#[must_use]
pub fn is_refit_due(number: u64, (window, every): (u64, u64), offset: u64) -> bool {
    let length = number + 1;
    (length < window && length >= FIRST_FIT_AT && length.is_power_of_two())
        || length == window
        || (length > window && (length + offset).is_multiple_of(every))
}

/// What is known of one host.
pub(crate) struct Host {
    offset: u64,
    description: Option<Description>,
    /// The frame that it came in, to be compared with the next.
    described_by: Bytes,
    /// The frame that forecasts begin with.
    forecast_description: Bytes,
    n_signals: usize,
    /// Rows of samples, the newest last; as many as a fit and the steps since may need.
    rows: VecDeque<Vec<f64>>,
    number: Option<u64>,
    fleet: Fleet,
    /// How many of the newest rows the fleet has not seen; only while history is replayed.
    is_behind: bool,
    means: Vec<f64>,
    standard_errors: Vec<f64>,
}

impl Host {
    pub(crate) fn new(subject: &str, config: &Config) -> Self {
        Self {
            offset: refit_offset(subject, config.refit_every),
            description: None,
            described_by: Bytes::new(),
            forecast_description: Bytes::new(),
            n_signals: 0,
            rows: VecDeque::new(),
            number: None,
            fleet: Fleet::vacant(&config.model, 0),
            is_behind: false,
            means: Vec::new(),
            standard_errors: Vec::new(),
        }
    }

    /// Takes a description, unless it is the one that is known.
    pub(crate) fn describe(&mut self, frame: &Bytes, config: &Config) -> Result<(), stream::MessageError> {
        if self.described_by == *frame {
            return Ok(());
        }
        let description = Description::read(&frame[stream::HEADER_BYTES..])?;
        let forecasts = Description {
            carries: Carries::Forecast,
            model: Some(config.model.to_string()),
            horizon: Some(config.horizon),
            ..description.clone()
        };
        let mut bytes = BytesMut::new();
        forecasts.encode(&mut bytes);
        self.forecast_description = bytes.freeze();
        // A copy, so that the message that it stood in can go.
        self.described_by = Bytes::copy_from_slice(frame);
        self.description = Some(description);
        Ok(())
    }

    /// Takes samples that were measured while others served the host.
    pub(crate) fn replay(&mut self, measurement: Measurement, config: &Config) {
        self.take(measurement, config, |host, _| host.is_behind = true);
    }

    /// Takes samples, and moves the models on. `false` for what is known already.
    pub(crate) fn step(&mut self, measurement: Measurement, config: &Config) -> bool {
        if self.is_behind {
            self.catch_up(config);
        }
        self.take(measurement, config, |host, number| host.advance(number, host.rows.len(), config))
    }

    /// Adds a row, and one of gaps for each that is missing before it, with `then` after each.
    fn take(&mut self, measurement: Measurement, config: &Config, mut then: impl FnMut(&mut Self, u64)) -> bool {
        let Measurement { number, values, .. } = measurement;
        let is_new = values.len() != self.n_signals
            || self.number.is_none_or(|last| number > last + GAP_MAX || number + GAP_MAX < last);
        if is_new {
            self.begin(values.len(), config);
        } else if self.number.is_some_and(|last| number <= last) {
            return false;
        }
        let first_missing = self.number.map_or(number, |last| last + 1);
        for missing in first_missing..number {
            self.push(vec![f64::NAN; self.n_signals], config);
            then(self, missing);
        }
        self.push(values, config);
        self.number = Some(number);
        then(self, number);
        true
    }

    fn begin(&mut self, n_signals: usize, config: &Config) {
        self.n_signals = n_signals;
        self.rows.clear();
        self.number = None;
        self.is_behind = false;
        self.fleet = Fleet::vacant(&config.model, n_signals);
    }

    fn push(&mut self, row: Vec<f64>, config: &Config) {
        // While nothing is fitted yet, all that a fit and the steps after it need has to be there.
        let n_max = if self.is_behind { config.n_replayed() } else { config.window };
        while self.rows.len() as u64 >= n_max {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    /// Steps the models by the newest of the first `n_rows` rows, whose number this is, or fits them to these rows.
    fn advance(&mut self, number: u64, n_rows: usize, config: &Config) {
        self.fleet.step(self.rows[n_rows - 1].as_slice());
        if !is_refit_due(number, (config.window, config.refit_every), self.offset) {
            return;
        }
        let first = n_rows.saturating_sub(usize::try_from(config.window).unwrap_or(usize::MAX));
        let mut column = Vec::with_capacity(n_rows - first);
        for signal in 0..self.n_signals {
            column.clear();
            column.extend(self.rows.range(first..n_rows).map(|row| row[signal]));
            // A signal that cannot be fitted keeps the model that it has; without one its forecasts are NaN.
            let _ = self.fleet.refit(signal, &column);
        }
    }

    /// After a replay: the last fits that were due, and the steps since.
    fn catch_up(&mut self, config: &Config) {
        self.is_behind = false;
        let (Some(last), n_rows) = (self.number, self.rows.len()) else {
            return;
        };
        let number_of = |at: usize| last - (n_rows - 1 - at) as u64;
        let is_due = |at: &usize| is_refit_due(number_of(*at), (config.window, config.refit_every), self.offset);
        let from = (0..n_rows).rev().find(is_due).unwrap_or(0);
        for at in from..n_rows {
            self.advance(number_of(at), at + 1, config);
        }
        let n_max = usize::try_from(config.window).unwrap_or(usize::MAX);
        self.rows.drain(..n_rows.saturating_sub(n_max));
    }

    /// Appends the forecasts of all signals, and before them what they are; `false` while it is not known what they are.
    pub(crate) fn forecast(&mut self, number: u64, time: Timestamp, config: &Config, out: &mut BytesMut) -> bool {
        if self.description.as_ref().is_none_or(|description| description.signals.len() != self.n_signals) {
            return false;
        }
        out.extend_from_slice(&self.forecast_description);
        let n_leads = config.horizon as usize;
        self.means.resize(self.n_signals * n_leads, 0.0);
        self.standard_errors.resize(self.n_signals * n_leads, 0.0);
        self.fleet.forecast_into(n_leads, &mut self.means, &mut self.standard_errors);
        let completed = clock::now();
        let rows = self.means.chunks_exact(n_leads).zip(self.standard_errors.chunks_exact(n_leads));
        for (signal, (means, standard_errors)) in (0..).zip(rows) {
            // One that was never fitted is told nothing of.
            if self.fleet.failure(signal as usize).is_none() {
                let (means, standard_errors) = (means.to_vec(), standard_errors.to_vec());
                Forecast { number, time, completed, signal, means, standard_errors }.encode(out);
            }
        }
        true
    }

    pub(crate) fn n_forecasts(&self) -> u64 {
        (0..self.n_signals).filter(|signal| self.fleet.failure(*signal).is_none()).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config { window: 100, refit_every: 40, horizon: 5, ..Config::new("AR(4)".parse().unwrap()) }
    }

    fn value(number: u64, signal: u64) -> f64 {
        (number as f64 / (3.0 + signal as f64)).sin() + (number * 7919 % 13) as f64 / 40.0
    }

    fn measurement(number: u64) -> Measurement {
        let values = (0..3).map(|signal| value(number, signal)).collect();
        Measurement { number, time: Timestamp::from_nanos(0), values }
    }

    fn forecasts(host: &mut Host) -> Vec<f64> {
        let (mut means, mut errors) = (vec![0.0; 15], vec![0.0; 15]);
        host.fleet.forecast_into(5, &mut means, &mut errors);
        [means, errors].concat()
    }

    #[test]
    fn fits_are_due_at_the_same_numbers_for_all() {
        let due: Vec<u64> =
            (0..300).filter(|number| is_refit_due(*number, (100, 40), 7)).map(|number| number + 1).collect();
        assert_eq!(due, [32, 64, 100, 113, 153, 193, 233, 273]);
    }

    #[test]
    fn whoever_takes_over_forecasts_what_the_one_before_would() {
        let config = config();
        for n_before in [10, 33, 70, 99, 100, 101, 139, 140, 555] {
            let mut first = Host::new("a", &config);
            (0..n_before).for_each(|number| assert!(first.step(measurement(number), &config)));
            let mut second = Host::new("a", &config);
            let n_kept = config.n_replayed().min(n_before);
            (n_before - n_kept..n_before).for_each(|number| second.replay(measurement(number), &config));
            for host in [&mut first, &mut second] {
                assert!(host.step(measurement(n_before), &config));
                // What comes twice changes nothing.
                assert!(!host.step(measurement(n_before), &config));
            }
            let [first, second] = [forecasts(&mut first), forecasts(&mut second)];
            assert_eq!(
                first.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                second.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                "after {n_before}"
            );
            assert_eq!(first[0].is_nan(), n_before + 1 < 32);
        }
    }

    #[test]
    fn a_jump_is_a_gap_and_a_step_back_another_series() {
        let config = config();
        let mut host = Host::new("a", &config);
        (0..50).for_each(|number| assert!(host.step(measurement(number), &config)));
        host.step(measurement(60), &config);
        assert_eq!((host.rows.len(), host.rows[55][0].is_nan()), (61, true));
        host.step(measurement(5000), &config);
        assert_eq!(host.rows.len(), 1);
    }
}
