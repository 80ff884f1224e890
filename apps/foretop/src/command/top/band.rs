//! A forecast between its leads: what is drawn to the right of a signal's history.

use node_api as api;

/// A mean and its bounds at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub mean: f64,
    pub lower: f64,
    pub upper: f64,
}

/// Forecasts at ascending leads, beginning with the last known value at lead 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    points: Vec<(f64, Point)>,
}

impl Band {
    /// Makes a band from a forecast at chosen leads. A forecast whose lists differ in length is taken as far as all of
    /// them reach.
    pub fn from_leads(last: Option<f64>, forecast: &api::LeadForecast) -> Self {
        let leads = forecast.leads.iter().map(|lead| *lead as f64);
        Self::new(last, leads, &forecast.mean, &forecast.lower, &forecast.upper)
    }

    /// Makes a band from a forecast of every step.
    pub fn from_forecast(last: Option<f64>, forecast: &api::Forecast) -> Self {
        let leads = (1..=forecast.mean.len()).map(|lead| lead as f64);
        Self::new(last, leads, &forecast.mean, &forecast.lower, &forecast.upper)
    }

    /// Makes a band from an outlook, in its own steps.
    pub fn from_outlook(last: Option<f64>, outlook: &api::Outlook) -> Self {
        let leads = (1..=outlook.median.len()).map(|lead| lead as f64);
        Self::new(last, leads, &outlook.median, &outlook.lower, &outlook.upper)
    }

    fn new(last: Option<f64>, leads: impl Iterator<Item = f64>, mean: &[f64], lower: &[f64], upper: &[f64]) -> Self {
        let forecast = leads.zip(mean).zip(lower.iter().zip(upper));
        let forecast = forecast.map(|((lead, &mean), (&lower, &upper))| (lead, Point { mean, lower, upper }));
        let now = last.map(|value| (0.0, Point { mean: value, lower: value, upper: value }));
        Self { points: now.into_iter().chain(forecast).collect() }
    }

    /// The forecast for `lead` steps ahead, between two leads on the line that joins them; `None` beyond the last.
    pub fn at(&self, lead: f64) -> Option<Point> {
        let after = self.points.iter().position(|(at, _)| *at >= lead)?;
        let (end, to) = self.points[after];
        let Some(&(start, from)) = after.checked_sub(1).and_then(|before| self.points.get(before)) else {
            return (end == lead).then_some(to);
        };
        let share = (lead - start) / (end - start);
        let between = |from: f64, to: f64| from + share * (to - from);
        Some(Point {
            mean: between(from.mean, to.mean),
            lower: between(from.lower, to.lower),
            upper: between(from.upper, to.upper),
        })
    }

    /// The least lower and the greatest upper bound; `None` without a forecast.
    pub fn reach(&self) -> Option<(f64, f64)> {
        let bounds = self.points.iter().map(|(_, point)| (point.lower, point.upper));
        bounds.reduce(|(low, high), (lower, upper)| (low.min(lower), high.max(upper)))
    }

    /// The furthest lead, in steps; 0 without a forecast.
    pub fn lead_max(&self) -> f64 {
        self.points.last().map_or(0.0, |(lead, _)| *lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band() -> Band {
        let forecast =
            api::LeadForecast { leads: vec![1, 5], mean: vec![2.0, 4.0], lower: vec![1.0, 0.0], upper: vec![3.0, 8.0] };
        Band::from_leads(Some(1.0), &forecast)
    }

    #[test]
    fn between_two_leads_it_is_the_line_that_joins_them() {
        assert_eq!(band().at(3.0), Some(Point { mean: 3.0, lower: 0.5, upper: 5.5 }));
        assert_eq!(band().at(0.5), Some(Point { mean: 1.5, lower: 1.0, upper: 2.0 }));
    }

    #[test]
    fn beyond_the_last_lead_there_is_nothing() {
        assert_eq!(band().at(5.1), None);
        assert_eq!(Band::default().at(1.0), None);
        assert_eq!(band().reach(), Some((0.0, 8.0)));
    }

    #[test]
    fn without_a_value_now_it_begins_at_its_first_lead() {
        let band = Band::from_leads(
            None,
            &api::LeadForecast { leads: vec![1], mean: vec![2.0], lower: vec![1.0], upper: vec![3.0] },
        );
        assert_eq!(band.at(0.5), None);
        assert_eq!(band.at(1.0).map(|point| point.mean), Some(2.0));
    }
}
