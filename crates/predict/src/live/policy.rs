//! Policy for a series from its first sample on, as a value and as text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fit::{FitError, attempt};
use crate::model::Model;
use crate::spec::{Call, Spec, SpecError};

/// Known samples that a first fit waits for, per coefficient: with fewer than five the fit follows the noise and
/// forecasts worse than LAST.
const SAMPLES_PER_COEFFICIENT: usize = 5;

/// A young series is fitted again when it has grown by one part in so many, as the candidates of an AUTO are.
const GROWTH: u64 = 2;

/// Samples per fit of a model whose text says nothing about it.
const WINDOW: usize = 600;

/// Steps between two tries after a fit that failed: a signal that wakes up is forecast by its model within a few
/// samples, and one that sleeps costs next to nothing.
const RETRY_EVERY: u64 = 4;

/// Limit on the cost of one fit, in operations: about ten seconds.
const FIT_COST_MAX: u64 = 10_000_000_000;

/// Schedule of the fits of a series: when its model is fitted, to what, and at what cost.
///
/// Its text is what [`Policy::of`] makes of a model where it is no more than that, `LIVE(AR(16))`, and says what
/// differs from it: `LIVE(AR(16),every=300,offset=7)`. The text of a model alone is read as the policy of that model.
///
/// ```
/// use predict::Policy;
/// let policy: Policy = "REFIT(AR(16),every=100,window=600)".parse()?;
/// assert_eq!(policy.first, 80);
/// assert_eq!(policy.to_string(), "LIVE(AR(16),every=100)");
/// assert_eq!(policy.to_string().parse::<Policy>()?, policy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Policy {
    /// The model; never a `REFIT`, whose numbers are those of the policy.
    pub model: Spec,
    /// The length of the series at which the model is fitted first, gaps included, at least 2.
    pub first: u64,
    /// Known samples without which no fit is tried, at least 2.
    pub known: usize,
    /// While the series is shorter than the window, it is fitted again when it has grown by one part in so many, if
    /// that is sooner than `every`; `None` to wait for `every` from the start.
    pub growth: Option<u64>,
    /// Number of the latest samples that a fit uses, gaps included. After a gap as long as this, nothing is known any
    /// more and the series begins anew.
    pub window: usize,
    /// Steps between two fits once the window is full; `None` for no more fits.
    pub every: Option<u64>,
    /// Steps by which the fits of a full window come earlier than at multiples of `every`, so that not all series are
    /// fitted at once.
    pub offset: u64,
    /// Steps between two tries while there is no model; `None` to wait for the next fit.
    pub retry: Option<u64>,
    /// Limit on the cost of a fit in operations, see [`Spec::fit_cost`].
    pub limit: u64,
}

impl Policy {
    /// Returns the policy that suits a model: its first fit at five samples per coefficient, further ones as the series
    /// grows until the window is full, and after that if the model is a `REFIT`. An `AUTO` fits its candidates by
    /// itself, and is begun once.
    #[must_use]
    pub fn of(spec: &Spec) -> Self {
        let (window, every) = match spec {
            Spec::Refit { window, every, .. } => (*window, Some(*every as u64)),
            Spec::Auto { window, .. } => (*window, None),
            _ => (WINDOW.max(spec.n_samples_min()), None),
        };
        let first = first_of(spec, window);
        Self {
            model: spec.inner().clone(),
            first: first as u64,
            known: first,
            growth: (!matches!(spec, Spec::Auto { .. })).then_some(GROWTH),
            window,
            every,
            offset: 0,
            retry: Some(RETRY_EVERY),
            limit: FIT_COST_MAX,
        }
    }

    /// The same with fits to so many samples, of a model whose text does not say to how many.
    #[must_use]
    pub fn with_window(spec: &Spec, window: usize) -> Self {
        match spec {
            Spec::Refit { .. } | Spec::Auto { .. } => Self::of(spec),
            plain => {
                let window = window.max(2);
                let first = first_of(plain, window);
                Self { window, first: first as u64, known: first, ..Self::of(plain) }
            }
        }
    }

    /// Returns the policy of an evaluation: one fit to the first `n_fit` samples, whatever it costs; after that those
    /// of a `REFIT` alone, counted from there.
    #[must_use]
    pub fn fitted_at(spec: &Spec, n_fit: usize) -> Self {
        let window = match spec {
            Spec::Refit { window, .. } => *window,
            _ => n_fit.max(2),
        };
        let policy = Self::of(spec);
        let offset = policy.every.map_or(0, |every| (every - n_fit as u64 % every) % every);
        let (first, known) = ((n_fit as u64).max(2), spec.n_samples_min());
        Self { first, known, growth: None, window, offset, limit: u64::MAX, ..policy }
    }

    /// Returns the number of latest samples that bring a [`Live`](crate::Live) that has seen no others to where one
    /// stands that has seen all: those of the last fit, and the steps since. A model that is fitted no more depends on
    /// all samples there ever were, and so does an `AUTO`; for them it is a window.
    #[must_use]
    pub fn n_replayed(&self) -> usize {
        self.window.saturating_add(usize::try_from(self.every.unwrap_or(0)).unwrap_or(usize::MAX))
    }

    /// Returns the average cost of a sample once the window is full, in operations as of [`Spec::fit_cost`]: a step,
    /// and its share of the fits. Fits that cost more than the policy allows are not made.
    #[must_use]
    pub fn cost_per_sample(&self) -> u64 {
        let fit = self.model.fit_cost(self.window);
        let fits = self.every.filter(|_| fit <= self.limit).map_or(0, |every| fit / every.max(1));
        crate::cost::of_step(&self.model).saturating_add(fits)
    }

    /// The length at which a series that began with the sample of number `start` is fitted next, after it was at
    /// `length`.
    pub(super) fn next_fit(&self, length: u64, start: u64) -> Option<u64> {
        let first = self.first.max(2);
        if length < first {
            return Some((length + (length / GROWTH).max(1)).max(2).min(first));
        }
        let full = if self.growth.is_some() { first.max(self.window as u64) } else { first };
        if length < full {
            let grown = self.growth.map_or(u64::MAX, |growth| (length / growth.max(1)).max(1));
            return Some(length.saturating_add(grown.min(self.every.unwrap_or(u64::MAX)).max(1)).min(full));
        }
        let every = self.every?.max(1);
        let phase = start.wrapping_add(length).wrapping_add(self.offset) % every;
        Some(length.saturating_add(every - phase))
    }

    /// Whether it is time for another try, after so many samples.
    pub(super) fn is_retry(&self, number: u64) -> bool {
        self.retry.is_some_and(|retry| number.is_multiple_of(retry.max(1)))
    }

    /// Fits the model to the last samples before it, if that may be done.
    pub(super) fn fit(&self, samples: &[f64], range: (f64, f64)) -> Result<Model, FitError> {
        attempt(&self.model, samples, range, self.limit, None)
    }

    /// Returns the reason why no fit to these samples is tried.
    pub(super) fn refuses(&self, samples: impl Iterator<Item = f64>) -> Option<FitError> {
        let (have, need) = (samples.filter(|sample| !sample.is_nan()).count(), self.known);
        (have < need).then(|| FitError::TooShort { spec: self.model.clone(), have, need })
    }
}

fn first_of(spec: &Spec, window: usize) -> usize {
    (spec.n_coefficients() * SAMPLES_PER_COEFFICIENT).max(spec.n_samples_min()).min(window).max(2)
}

/// Names of the numbers in a text, and the most that each may be.
const NUMBERS: [(&str, u64); 8] = [
    ("first", 1_000_000),
    ("known", 1_000_000),
    ("growth", 1_000),
    ("window", 1_000_000),
    ("every", 1_000_000_000),
    ("offset", 1_000_000_000),
    ("retry", 1_000_000_000),
    ("limit", u64::MAX),
];

/// Index of the window in [`NUMBERS`].
const WINDOW_IDX: usize = 3;

fn number_of(name: &'static str, given: &str, most: u64) -> Result<u64, SpecError> {
    let least = if matches!(name, "first" | "known" | "window") { 2 } else { 0 };
    let is_plain = given.bytes().all(|byte| byte.is_ascii_digit());
    given.parse().ok().filter(|number| is_plain && (least..=most).contains(number)).ok_or_else(|| {
        let (min, max) = (least as usize, usize::try_from(most).unwrap_or(usize::MAX));
        SpecError::OutOfRange { model: "LIVE", argument: name, given: given.to_owned(), min, max }
    })
}

impl Policy {
    /// Returns the numbers in the order of [`NUMBERS`]; 0 stands for `None`.
    fn numbers(&self) -> [u64; NUMBERS.len()] {
        let Self { first, growth, every, offset, retry, limit, .. } = *self;
        let or_never = Option::unwrap_or_default;
        [
            first,
            self.known as u64,
            or_never(growth),
            self.window as u64,
            or_never(every),
            offset,
            or_never(retry),
            limit,
        ]
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LIVE({}", self.model)?;
        let usual = Self::of(&self.model).window;
        let defaults = Self { window: usual, ..Self::with_window(&self.model, self.window) }.numbers();
        for (((name, _), number), default) in NUMBERS.iter().zip(self.numbers()).zip(defaults) {
            if number != default {
                write!(f, ",{name}={number}")?;
            }
        }
        f.write_str(")")
    }
}

impl FromStr for Policy {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut call = match Call::parse(&compact) {
            Ok(call) if call.name.eq_ignore_ascii_case("LIVE") => call,
            _ => return text.parse().map(|spec| Self::of(&spec)),
        };
        const EXAMPLE: &str = "LIVE(AR(16),every=300)";
        let missing = SpecError::Missing { model: "LIVE", argument: "its model", example: EXAMPLE };
        let model: Spec = call.positional(0).ok_or(missing)?.parse()?;
        let mut given = [None; NUMBERS.len()];
        for ((name, most), number) in NUMBERS.into_iter().zip(&mut given) {
            *number = call.named(name).map(|given| number_of(name, given, most)).transpose()?;
        }
        call.finish("LIVE", EXAMPLE, 1)?;
        let usual = match given[WINDOW_IDX] {
            Some(window) => Self::with_window(&model, window as usize),
            None => Self::of(&model),
        };
        let numbers = usual.numbers();
        let [first, known, growth, window, every, offset, retry, limit] =
            std::array::from_fn(|idx| given[idx].unwrap_or(numbers[idx]));
        let or_never = |number: u64| (number > 0).then_some(number);
        Ok(Self {
            model: usual.model,
            first,
            known: known as usize,
            growth: or_never(growth),
            window: window as usize,
            every: or_never(every),
            offset,
            retry: or_never(retry),
            limit,
        })
    }
}

impl TryFrom<String> for Policy {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> Self {
        policy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check_fits(text: &str, start: u64, n: usize, expected: &[u64]) {
        let policy = policy(text);
        let lengths = std::iter::successors(policy.next_fit(0, start), |length| policy.next_fit(*length, start));
        assert_eq!(lengths.take(n).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_series_is_fitted_as_it_grows_and_then_every_so_often() {
        // Up to length 80 it is LAST that is fitted.
        let young = [2, 3, 4, 6, 9, 13, 19, 28, 42, 63];
        let grown = [80, 120, 180, 270, 370, 470, 570, 600, 700, 800];
        check_fits("REFIT(AR(16),every=100,window=600)", 0, 20, &[young, grown].concat());
        check_fits("AR(2)", 0, 99, &[2, 3, 4, 6, 9, 10, 15, 22, 33, 49, 73, 109, 163, 244, 366, 549, 600]);
        check_fits("AUTO", 0, 99, &[2]);
    }

    #[test]
    fn fits_of_a_full_window_depend_on_the_number_of_the_sample_alone() {
        check_fits("LIVE(AR(1),first=2,window=4,every=10)", 0, 5, &[2, 3, 4, 10, 20]);
        check_fits("LIVE(AR(1),first=2,window=4,every=10)", 7, 5, &[2, 3, 4, 13, 23]);
        check_fits("LIVE(AR(1),first=2,window=4,every=10,offset=3)", 0, 5, &[2, 3, 4, 7, 17]);
    }

    #[test]
    fn an_evaluation_fits_once_and_then_as_the_text_says() {
        let lengths = |text: &str| {
            let policy = Policy::fitted_at(&text.parse().unwrap(), 650);
            let next = policy.next_fit(650, 0);
            (next, next.and_then(|length| policy.next_fit(length, 0)))
        };
        assert_eq!(lengths("AR(16)"), (None, None));
        assert_eq!(lengths("REFIT(AR(16),every=100,window=600)"), (Some(750), Some(850)));
    }

    #[test]
    fn text_round_trips_in_one_spelling() {
        for text in [
            "LIVE(AR(16))",
            "LIVE(AUTO)",
            "LIVE(ARMA(2,1,method=ml),window=900,every=100)",
            "LIVE(LAST,first=3,known=4,growth=0,window=50,every=7,offset=3,retry=0,limit=1000)",
        ] {
            assert_eq!(policy(text).to_string(), text);
            assert_eq!(policy(&policy(text).to_string()), policy(text));
        }
        assert_eq!(policy("refit(ar(1), every=5, window=700)").to_string(), "LIVE(AR(1),window=700,every=5)");
    }

    #[test]
    fn a_policy_is_refused_with_what_would_be_right() {
        let message = |text: &str| text.parse::<Policy>().unwrap_err().to_string();
        assert!(message("LIVE(AR(1),window=1)").contains("window of `LIVE` is `1`"));
        assert!(message("LIVE(AR(1),often=1)").contains("does not take `often=1`"));
        assert!(message("LIVE(REFIT(AR(1),every=1,window=10),x=1)").contains("x=1"));
        assert!(message("LIVE()").contains("LIVE"));
    }
}
