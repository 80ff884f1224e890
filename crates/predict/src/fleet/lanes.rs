//! Linear predictors side by side: the same number of each of four series in one row, so that a step and a recursion
//! over leads run over rows, and the compiler keeps a row in vector registers.

#[cfg(feature = "rayon")]
use rayon::prelude::*;

#[cfg(not(feature = "rayon"))]
use super::one_thread::{InTurn, SliceInTurn, SliceMutInTurn};
use crate::fit::FitError;
use crate::predictor::{N_MISSING_MAX, Predictor};

/// Series in a block. A sum of products runs in four parts, as it does for a single predictor; four parts of four lanes
/// are half of the vector registers that every x86-64 has, and all chains of additions that its two adders can have
/// under way.
const LANES: usize = 4;

/// A step of a block takes some ten nanoseconds; below this many blocks to a worker, waking workers costs more.
const N_BLOCKS_PER_STEP_JOB: usize = 512;

/// Forecasts of a block take about a microsecond.
const N_BLOCKS_PER_FORECAST_JOB: usize = 16;

/// One number of each series of a block.
type Row = [f64; LANES];

/// The moving parts of many linear predictors of one specification.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    blocks: Vec<Block>,
    place: Place,
}

/// Position of the oldest row in the rings, the same in all blocks since all step together.
#[derive(Clone, Copy, Debug)]
struct Place {
    history: usize,
    errors: usize,
}

/// Coefficients and state of [`LANES`] series, as [`Filter`](crate::model::linear::Filter) has them of one. A lane
/// without a series, or whose series has no model, has coefficients of 0 and a mean of NaN, so that it forecasts NaN.
#[derive(Clone, Debug)]
struct Block {
    eta: Vec<Row>,
    theta: Vec<Row>,
    mean: Row,
    /// Written twice, as in [`Ring`](crate::model::ring::Ring).
    history: Vec<Row>,
    errors: Vec<Row>,
    n_missing: [usize; LANES],
}

impl Lanes {
    /// Builds the lanes of models with `n_eta` and `n_theta` coefficients.
    pub(super) fn new(slots: &[Result<Predictor, FitError>], n_eta: usize, n_theta: usize) -> Self {
        let place = Place { history: 0, errors: 0 };
        let blocks = slots.par_chunks(LANES).map(|slots| {
            let mut block = Block::new(n_eta, n_theta);
            for (lane, slot) in slots.iter().enumerate() {
                if let Ok(predictor) = slot {
                    block.take_over(lane, predictor, place);
                }
            }
            block
        });
        Self { blocks: blocks.collect(), place }
    }

    /// Puts another predictor into the place of one series.
    pub(super) fn replace(&mut self, idx: usize, predictor: &Predictor) {
        self.blocks[idx / LANES].take_over(idx % LANES, predictor, self.place);
    }

    /// Leaves one series without a model.
    pub(super) fn vacate(&mut self, idx: usize) {
        self.blocks[idx / LANES].mean[idx % LANES] = f64::NAN;
    }

    /// Gives a predictor the state that this series has reached.
    pub(super) fn hand_over(&self, idx: usize, predictor: &mut Predictor) {
        let (block, lane) = (&self.blocks[idx / LANES], idx % LANES);
        let Some((linear, n_missing)) = predictor.linear_mut() else {
            return;
        };
        let (history, errors) = (block.history(self.place), block.errors(self.place));
        linear.set_state(history.iter().map(|row| row[lane]), errors.iter().map(|row| row[lane]));
        *n_missing = block.n_missing[lane];
    }

    /// One sample for each series.
    pub(super) fn step(&mut self, samples: &[f64]) {
        let place = self.place;
        let blocks = self.blocks.par_iter_mut().zip(samples.par_chunks(LANES));
        blocks.with_min_len(N_BLOCKS_PER_STEP_JOB).for_each(|(block, samples)| block.step(samples, place));
        if let Some(block) = self.blocks.first() {
            self.place = Place {
                history: next_place(place.history, block.eta.len()),
                errors: next_place(place.errors, block.theta.len()),
            };
        }
    }

    /// `n_leads` is at least 1; both outputs hold a row of so many for each slot.
    pub(super) fn forecast_into(
        &self,
        slots: &[Result<Predictor, FitError>],
        n_leads: usize,
        means: &mut [f64],
        standard_errors: &mut [f64],
    ) {
        let outputs = means.par_chunks_mut(LANES * n_leads).zip(standard_errors.par_chunks_mut(LANES * n_leads));
        let blocks = self.blocks.par_iter().zip(slots.par_chunks(LANES)).zip(outputs);
        blocks.with_min_len(N_BLOCKS_PER_FORECAST_JOB).for_each_init(
            Vec::new,
            |scratch, ((block, slots), (means, standard_errors))| {
                block.means_into(self.place, n_leads, scratch, means);
                block.standard_errors_into(slots, n_leads, standard_errors);
            },
        );
    }
}

fn next_place(place: usize, n: usize) -> usize {
    if place + 1 >= n { 0 } else { place + 1 }
}

impl Block {
    fn new(n_eta: usize, n_theta: usize) -> Self {
        let rows = |n| vec![[0.0; LANES]; n];
        Self {
            eta: rows(n_eta),
            theta: rows(n_theta),
            mean: [f64::NAN; LANES],
            history: rows(2 * n_eta),
            errors: rows(2 * n_theta),
            n_missing: [0; LANES],
        }
    }

    fn history(&self, place: Place) -> &[Row] {
        &self.history[place.history..place.history + self.eta.len()]
    }

    fn errors(&self, place: Place) -> &[Row] {
        &self.errors[place.errors..place.errors + self.theta.len()]
    }

    fn take_over(&mut self, lane: usize, predictor: &Predictor, place: Place) {
        let Some((linear, n_missing)) = predictor.linear() else {
            return;
        };
        let filter = linear.filter();
        put(lane, &mut self.eta, filter.eta);
        put(lane, &mut self.theta, filter.theta);
        self.mean[lane] = filter.mean;
        self.n_missing[lane] = n_missing;
        put_twice(lane, &mut self.history, place.history, filter.history);
        put_twice(lane, &mut self.errors, place.errors, filter.errors);
    }

    /// Steps all lanes, as `Linear::step` does one series.
    fn step(&mut self, samples: &[f64], place: Place) {
        let mut deviations = [f64::NAN; LANES];
        for (lane, sample) in samples.iter().enumerate() {
            if sample.is_finite() {
                deviations[lane] = sample - self.mean[lane];
                self.n_missing[lane] = 0;
            } else {
                self.n_missing[lane] = (self.n_missing[lane] + 1).min(N_MISSING_MAX);
            }
        }
        if !self.theta.is_empty() || deviations.iter().any(|deviation| deviation.is_nan()) {
            let predicted = sum(dot(&self.eta, self.history(place)), dot(&self.theta, self.errors(place)));
            let mut errors = [0.0; LANES];
            for lane in 0..LANES {
                let is_known = !deviations[lane].is_nan();
                deviations[lane] = if is_known { deviations[lane] } else { predicted[lane] };
                errors[lane] = deviations[lane] - predicted[lane];
            }
            push(&mut self.errors, place.errors, errors);
        }
        push(&mut self.history, place.history, deviations);
    }

    /// Computes the means of all lanes, as `Linear::means_into` does; then each lane goes to its row of `means`.
    fn means_into(&self, place: Place, n_leads: usize, scratch: &mut Vec<Row>, means: &mut [f64]) {
        let (order, n_theta) = (self.eta.len(), self.theta.len());
        scratch.clear();
        scratch.extend_from_slice(self.history(place));
        scratch.resize(order + n_leads, [0.0; LANES]);
        for lead_idx in 0..n_leads {
            let mut predicted = dot(&self.eta, &scratch[lead_idx..]);
            if lead_idx < n_theta {
                let known = dot(&self.theta[..n_theta - lead_idx], &self.errors(place)[lead_idx..]);
                predicted = sum(predicted, known);
            }
            scratch[order + lead_idx] = predicted;
        }
        for (lane, means) in means.chunks_exact_mut(n_leads).enumerate() {
            let deviations = scratch[order..].iter().map(|row| row[lane]);
            means.iter_mut().zip(deviations).for_each(|(mean, deviation)| *mean = deviation + self.mean[lane]);
        }
    }

    fn standard_errors_into(&self, slots: &[Result<Predictor, FitError>], n_leads: usize, standard_errors: &mut [f64]) {
        for (lane, (slot, errors)) in slots.iter().zip(standard_errors.chunks_exact_mut(n_leads)).enumerate() {
            match slot.as_ref().ok().and_then(Predictor::linear) {
                Some((linear, _)) => linear.spread_into(self.n_missing[lane], errors),
                None => errors.fill(f64::NAN),
            }
        }
    }
}

fn put(lane: usize, rows: &mut [Row], values: &[f64]) {
    rows.iter_mut().zip(values).for_each(|(row, value)| row[lane] = *value);
}

fn put_twice(lane: usize, rows: &mut [Row], place: usize, values: &[f64]) {
    for (age, value) in values.iter().enumerate() {
        let idx = (place + age) % values.len();
        (rows[idx][lane], rows[idx + values.len()][lane]) = (*value, *value);
    }
}

fn push(rows: &mut [Row], place: usize, row: Row) {
    let n = rows.len() / 2;
    if n > 0 {
        (rows[place], rows[place + n]) = (row, row);
    }
}

fn sum(one: Row, other: Row) -> Row {
    std::array::from_fn(|lane| one[lane] + other[lane])
}

/// The same additions in the same order as [`linear::dot`](crate::model::linear::dot), in every lane, so that a fleet's
/// forecasts are those of single predictors to the last bit.
#[inline(always)]
fn dot(weights: &[Row], values: &[Row]) -> Row {
    let values = &values[..weights.len()];
    let (weight_chunks, weight_rest) = weights.as_chunks::<4>();
    let (value_chunks, value_rest) = values.as_chunks::<4>();
    let mut sums = [[0.0; LANES]; 4];
    for (weight, value) in weight_chunks.iter().zip(value_chunks) {
        for part in 0..4 {
            for lane in 0..LANES {
                sums[part][lane] += weight[part][lane] * value[part][lane];
            }
        }
    }
    // As an empty sum of floating point numbers starts: -0 leaves any number as it is.
    let mut rest = [-0.0; LANES];
    for (weight, value) in weight_rest.iter().zip(value_rest) {
        for lane in 0..LANES {
            rest[lane] += weight[lane] * value[lane];
        }
    }
    sum(sum(sum(sums[0], sums[1]), sum(sums[2], sums[3])), rest)
}
