//! The straight line that lies closest to points.

/// `y = intercept + slope * x` by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Value at `x = 0`.
    pub intercept: f64,
    /// Rise for each unit of `x`.
    pub slope: f64,
    /// Standard error of the slope if the points' errors are independent and alike; NaN for two points.
    pub slope_error: f64,
    /// The share of the variance of `y` that the line explains, in [0, 1]; 1 where `y` does not vary.
    pub r_squared: f64,
}

impl Line {
    /// The line through `(x, y)`; `None` for fewer than two points, or when all lie above one another.
    #[must_use]
    pub fn through(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Self> {
        let n = points.clone().count() as f64;
        let (x_mean, y_mean) = points.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (x, y) in points.clone() {
            xx += (x - x_mean) * (x - x_mean);
            xy += (x - x_mean) * (y - y_mean);
            yy += (y - y_mean) * (y - y_mean);
        }
        if n < 2.0 || xx <= 0.0 {
            return None;
        }
        let slope = xy / xx;
        let intercept = y_mean - slope * x_mean;
        let left: f64 = points.map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
        let r_squared = if yy > 0.0 { (1.0 - left / yy).clamp(0.0, 1.0) } else { 1.0 };
        Some(Self { intercept, slope, slope_error: (left / (n - 2.0) / xx).sqrt(), r_squared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_give_that_line() {
        let line = Line::through([(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)].into_iter()).unwrap();
        assert!((line.intercept - 3.0).abs() < 1e-12 && (line.slope - 2.0).abs() < 1e-12 && line.slope_error < 1e-7);
        assert!(line.r_squared > 1.0 - 1e-12);
    }

    #[test]
    fn one_place_has_no_slope() {
        assert_eq!(Line::through([(1.0, 5.0), (1.0, 7.0)].into_iter()), None);
        assert_eq!(Line::through([(1.0, 5.0)].into_iter()), None);
    }
}
