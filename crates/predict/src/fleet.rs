//! Many series under one specification, fitted, stepped and forecast at once.

mod lanes;
#[cfg(not(feature = "rayon"))]
mod one_thread;

#[cfg(not(feature = "rayon"))]
use one_thread::{InTurn, SliceInTurn, SliceMutInTurn};
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use crate::fit::{FitError, fit};
use crate::forecast::Forecast;
use crate::predictor::Predictor;
use crate::spec::Spec;
use lanes::Lanes;

/// Predictors of one specification, one for each of many series, moved together.
///
/// Series `i` forecasts what a [`Predictor`] of its own would, to the last bit. Linear models of whole orders (AR, MA,
/// ARMA, ARIMA) lie side by side in memory, four series to a row; others step one by one. With the feature `rayon` the
/// work is shared among the threads of rayon's pool that the caller is in, and the result does not depend on how many
/// there are.
///
/// A series whose fit failed keeps its place: [`Fleet::failure`] says why, steps leave it alone, and its forecasts are
/// NaN.
///
/// ```
/// use predict::Fleet;
/// let wave = |period: f64| (0..200).map(|t| (f64::from(t) / period).sin() + f64::from(t * 7919 % 13) / 50.0).collect();
/// let rows: Vec<Vec<f64>> = vec![wave(3.0), wave(5.0), vec![1.0; 200]];
/// let mut fleet = Fleet::fit(&"AR(4)".parse()?, &rows);
/// assert!(fleet.failure(0).is_none() && fleet.failure(2).is_some());
///
/// fleet.step(&[0.5, f64::NAN, 1.0]);
/// let (mut means, mut standard_errors) = (vec![0.0; 3 * 30], vec![0.0; 3 * 30]);
/// fleet.forecast_into(30, &mut means, &mut standard_errors);
/// let second_series = &means[30..60];
/// assert_eq!(second_series, fleet.predictor(1)?.forecast(30).means());
/// assert!(means[60].is_nan());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fleet {
    spec: Spec,
    slots: Vec<Slot>,
    /// State of a linear model: then what moves is in here, and the predictors in `slots` stand where their fits ended.
    lanes: Option<Lanes>,
}

/// A series' predictor, or why it has none.
type Slot = Result<Predictor, FitError>;

impl Fleet {
    /// Fits `spec` to each row of samples, as [`fit`] does; rows may differ in length.
    #[must_use]
    pub fn fit<Row: AsRef<[f64]> + Sync>(spec: &Spec, rows: &[Row]) -> Self {
        let slots: Vec<Slot> = rows.par_iter().map(|row| fit(spec, row.as_ref()).map(Predictor::new)).collect();
        Self::of_slots(spec.clone(), slots)
    }

    /// `n_series` series without a model, to be filled by [`Fleet::refit`] and [`Fleet::replace`]: one after the other
    /// as samples suffice, or from predictors that were saved.
    #[must_use]
    pub fn vacant(spec: &Spec, n_series: usize) -> Self {
        Self::fit(spec, &vec![[]; n_series])
    }

    /// All predictors are of `spec`.
    fn of_slots(spec: Spec, slots: Vec<Slot>) -> Self {
        let whole_orders = match spec {
            Spec::Refit { .. } => None,
            _ => spec.orders().filter(|orders| orders.truncation.is_none()),
        };
        let lanes = whole_orders.map(|orders| Lanes::new(&slots, orders.n_phi + orders.n_differences, orders.n_theta));
        Self { spec, slots, lanes }
    }

    /// Returns the specification that every series is predicted with.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the number of series, those without a model included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no series at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the reason why series `idx` has no model; `None` when the series has a model.
    ///
    /// # Panics
    /// When there is no such series.
    #[must_use]
    pub fn failure(&self, idx: usize) -> Option<&FitError> {
        self.slots[idx].as_ref().err()
    }

    /// A predictor that goes on from where series `idx` stands.
    ///
    /// # Errors
    /// Why the series has no model.
    ///
    /// # Panics
    /// When there is no such series.
    pub fn predictor(&self, idx: usize) -> Result<Predictor, FitError> {
        let mut predictor = self.slots[idx].clone()?;
        if let Some(lanes) = &self.lanes {
            lanes.hand_over(idx, &mut predictor);
        }
        Ok(predictor)
    }

    /// Puts `predictor` into the place of series `idx`; returns why that one had no model, if it had none.
    ///
    /// # Panics
    /// When there is no such series, or when the predictor is of another specification.
    pub fn replace(&mut self, idx: usize, predictor: Predictor) -> Option<FitError> {
        let given = predictor.model().spec();
        assert!(*given == self.spec, "a predictor of {given} cannot join a fleet of {}", self.spec);
        if let Some(lanes) = &mut self.lanes {
            lanes.replace(idx, &predictor);
        }
        std::mem::replace(&mut self.slots[idx], Ok(predictor)).err()
    }

    /// Fits series `idx` anew, to these samples; it goes on where they end.
    ///
    /// # Errors
    /// Why the fit failed. The series then keeps what it has.
    ///
    /// # Panics
    /// When there is no such series.
    pub fn refit(&mut self, idx: usize, samples: &[f64]) -> Result<(), FitError> {
        self.replace(idx, fit(&self.spec, samples)?.predictor());
        Ok(())
    }

    /// Leaves series `idx` without a model, for this reason.
    ///
    /// # Panics
    /// When there is no such series.
    pub fn vacate(&mut self, idx: usize, reason: FitError) {
        if let Some(lanes) = &mut self.lanes {
            lanes.vacate(idx);
        }
        self.slots[idx] = Err(reason);
    }

    /// Takes the next sample of each series. One that is not finite is a gap (see the crate's documentation).
    ///
    /// Fits that a `REFIT` has due happen in here, side by side.
    ///
    /// # Panics
    /// When there are more or fewer samples than series.
    pub fn step(&mut self, samples: &[f64]) {
        let (n_given, n_series) = (samples.len(), self.len());
        assert!(n_given == n_series, "a step of {n_series} series takes as many samples, not {n_given}");
        if let Some(lanes) = &mut self.lanes {
            lanes.step(samples);
            return;
        }
        self.slots.par_iter_mut().zip(samples).for_each(|(slot, sample)| {
            if let Ok(predictor) = slot {
                predictor.step(*sample);
            }
        });
    }

    /// Means and standard errors for leads 1 to `n_leads`: a row for each series, one after the other.
    ///
    /// # Panics
    /// When an output does not have [`Fleet::len`] times `n_leads` places.
    pub fn forecast_into(&self, n_leads: usize, means: &mut [f64], standard_errors: &mut [f64]) {
        let n_places = self.len() * n_leads;
        let fits = means.len() == n_places && standard_errors.len() == n_places;
        assert!(fits, "{n_leads} leads of {} series take {n_places} places for means and for errors", self.len());
        if n_places == 0 {
            return;
        }
        match &self.lanes {
            Some(lanes) => lanes.forecast_into(&self.slots, n_leads, means, standard_errors),
            None => forecast_one_by_one(&self.slots, n_leads, means, standard_errors),
        }
    }
}

fn forecast_one_by_one(slots: &[Slot], n_leads: usize, means: &mut [f64], standard_errors: &mut [f64]) {
    let outputs = means.par_chunks_mut(n_leads).zip(standard_errors.par_chunks_mut(n_leads));
    slots.par_iter().zip(outputs).for_each_init(Forecast::default, |forecast, (slot, (means, standard_errors))| {
        let Ok(predictor) = slot else {
            means.fill(f64::NAN);
            standard_errors.fill(f64::NAN);
            return;
        };
        predictor.forecast_into(n_leads, forecast);
        means.copy_from_slice(forecast.means());
        standard_errors.copy_from_slice(forecast.standard_errors());
    });
}
