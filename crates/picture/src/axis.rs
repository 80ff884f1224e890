//! Axes: where a value lies, and where to write numbers.

use crate::clock;

/// One direction of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity that the axis measures, with the unit.
    pub label: String,
    /// Spread of the values.
    pub scale: Scale,
    /// The values at its ends, the lower one first.
    pub range: (f64, f64),
}

/// Spread of values along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly, of counts: only whole numbers are written.
    Whole,
    /// Each ten times as far as the last; only positive values have a place.
    Logarithmic,
    /// Evenly, of seconds since the begin of 1970 on a clock: dates and times of day are written.
    Clock,
}

impl Axis {
    /// An axis over all finite `values`, with a little room at both ends; over 0 to 1 when there are none. On a
    /// logarithmic axis values that are not positive do not count.
    #[must_use]
    pub fn over(label: impl Into<String>, scale: Scale, values: impl IntoIterator<Item = f64>) -> Self {
        let places = values.into_iter().map(|value| scale.apply(value)).filter(|place| place.is_finite());
        let ends = places.fold(None, |ends: Option<(f64, f64)>, place| {
            Some(ends.map_or((place, place), |(low, high)| (low.min(place), high.max(place))))
        });
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        // A single value gets a unit of its size around it.
        let room = if high > low { 0.04 * (high - low) } else { 0.5 * low.abs().max(1.0) };
        Self { label: label.into(), scale, range: (scale.undo(low - room), scale.undo(high + room)) }
    }

    /// Returns the position of `value` along the axis: 0 at the lower end, 1 at the upper; `None` for what has no
    /// place on it.
    pub(crate) fn share(&self, value: f64) -> Option<f64> {
        let (low, high) = (self.scale.apply(self.range.0), self.scale.apply(self.range.1));
        let share = (self.scale.apply(value) - low) / (high - low);
        (-1e-9..=1.0 + 1e-9).contains(&share).then_some(share)
    }

    /// Returns the values to write, and their texts: about five round numbers.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => self.linear_ticks(0.0),
            Scale::Whole => self.linear_ticks(1.0),
            Scale::Logarithmic => self.logarithmic_ticks(),
            Scale::Clock => clock::ticks(self.range),
        }
    }

    fn linear_ticks(&self, step_min: f64) -> Vec<(f64, String)> {
        let (low, high) = self.range;
        let rough = ((high - low) / 5.0).max(step_min);
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        let Some(step) = step.filter(|step| step.is_normal()) else { return Vec::new() };
        let n_decimals = (-step.log10().floor()).clamp(0.0, 300.0) as usize;
        let first = (low / step).ceil();
        let values = (0..12).map(|n| (first + f64::from(n)) * step).take_while(|value| *value <= high + 1e-9 * step);
        // Adding 0 turns -0 into 0.
        values.map(|value| (value + 0.0, number(value + 0.0, n_decimals))).collect()
    }

    /// Powers of ten; where there are fewer than three, also twice and five times them.
    fn logarithmic_ticks(&self) -> Vec<(f64, String)> {
        let (low, high) = (self.range.0.log10(), self.range.1.log10());
        if !(low.is_finite() && high.is_finite()) {
            return Vec::new();
        }
        let factors: &[f64] = if high - low < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        // Not more than about eight numbers.
        let stride = ((high - low) / 8.0).ceil().max(1.0) as usize;
        let powers = (low.floor() as i32..=high.ceil() as i32).step_by(stride);
        let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10.0_f64.powi(power)));
        let inside = values.filter(|value| (self.range.0..=self.range.1).contains(value));
        inside.map(|value| (value, number(value, (-value.log10().floor()).clamp(0.0, 300.0) as usize))).collect()
    }
}

impl Scale {
    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Linear | Self::Whole | Self::Clock => value,
            Self::Logarithmic => value.log10(),
        }
    }

    fn undo(self, place: f64) -> f64 {
        match self {
            Self::Linear | Self::Whole | Self::Clock => place,
            Self::Logarithmic => 10.0_f64.powf(place),
        }
    }
}

/// Returns the number in plain notation from 0.001 to a million, with a true minus sign.
fn number(value: f64, n_decimals: usize) -> String {
    let is_plain = value == 0.0 || (n_decimals <= 4 && value.abs() < 1e6);
    let text = if is_plain { format!("{value:.n_decimals$}") } else { format!("{value:.1e}").replace(".0e", "e") };
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(scale: Scale, range: (f64, f64)) -> Vec<String> {
        let axis = Axis { label: String::new(), scale, range };
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(written(Scale::Linear, (-0.31, 1.04)), ["0.0", "0.5", "1.0"]);
        assert_eq!(written(Scale::Whole, (-0.31, 2.04)), ["0", "1", "2"]);
        assert_eq!(written(Scale::Linear, (0.0, 40.0)), ["0", "10", "20", "30", "40"]);
        assert_eq!(written(Scale::Linear, (-2e7, 2e7)), ["\u{2212}2e7", "\u{2212}1e7", "0", "1e7", "2e7"]);
        assert_eq!(written(Scale::Logarithmic, (8.0, 300.0)), ["10", "20", "50", "100", "200"]);
        assert_eq!(written(Scale::Logarithmic, (1e-4, 0.5)), ["0.0001", "0.001", "0.01", "0.1"]);
        assert_eq!(written(Scale::Logarithmic, (1e-9, 1e9)).len(), 7);
    }

    #[test]
    fn an_axis_over_nothing_still_has_ends() {
        assert_eq!(Axis::over("", Scale::Linear, []).range, (-0.04, 1.04));
        assert_eq!(Axis::over("", Scale::Linear, [5.0]).range, (2.5, 7.5));
        assert_eq!(Axis::over("", Scale::Logarithmic, [-1.0, f64::NAN]).ticks().len(), 4);
    }

    #[test]
    fn what_is_not_positive_has_no_place_on_a_logarithmic_axis() {
        let axis = Axis::over("", Scale::Logarithmic, [1.0, 100.0]);
        assert_eq!((axis.share(0.0), axis.share(-1.0), axis.share(f64::NAN)), (None, None, None));
        assert!((axis.share(10.0).unwrap() - 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn any_range_has_few_ticks_all_inside(low in any::<f64>(), high in any::<f64>()) {
            for scale in [Scale::Linear, Scale::Logarithmic, Scale::Clock] {
                let axis = Axis::over("", scale, [low, high]);
                let ticks = axis.ticks();
                prop_assert!(ticks.len() <= 12);
                prop_assert!(ticks.iter().all(|(value, _)| axis.range.0 <= *value && *value <= axis.range.1 * (1.0 + 1e-9) + 1e-300));
            }
        }
    }
}
