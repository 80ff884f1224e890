//! Polynomials with all roots outside the unit circle, by their reflection coefficients (Barndorff-Nielsen and Schou
//! 1973; Monahan 1984).
//!
//! 1 - c(1) B - … - c(n) B^n has all its roots outside the circle exactly when its n reflection coefficients lie inside
//! (-1, 1): a search among them needs no more than a box. For an autoregression they are the partial autocorrelations.

/// c(1), …, c(n), by stepping up from order to order (the Levinson recursion).
pub(crate) fn coefficients(reflections: &[f64]) -> Vec<f64> {
    let mut row: Vec<f64> = Vec::with_capacity(reflections.len());
    for reflection in reflections {
        step_up(&mut row, *reflection);
    }
    row
}

/// The reflection coefficients of c(1), …, c(n), by stepping down; `None` when a root lies on the circle or inside.
pub(crate) fn reflections(coefficients: &[f64]) -> Option<Vec<f64>> {
    let mut row = coefficients.to_vec();
    let mut reflections = vec![0.0; row.len()];
    while let Some(reflection) = row.pop() {
        if reflection.is_nan() || reflection.abs() >= 1.0 {
            return None;
        }
        reflections[row.len()] = reflection;
        let scale = 1.0 / (1.0 - reflection * reflection);
        let mirror: Vec<f64> = row.iter().rev().copied().collect();
        row.iter_mut().zip(mirror).for_each(|(value, mirrored)| *value = (*value + reflection * mirrored) * scale);
    }
    Some(reflections)
}

/// The derivatives of all c(i) by all reflection coefficients, one c(i) after the other.
pub(crate) fn slopes(reflections: &[f64]) -> Vec<f64> {
    let n = reflections.len();
    let mut slopes = vec![0.0; n * n];
    let mut row: Vec<f64> = Vec::with_capacity(n);
    let mut column = vec![0.0; n];
    for (order, reflection) in reflections.iter().enumerate() {
        for earlier in 0..order {
            (0..order).for_each(|i| column[i] = slopes[i * n + earlier]);
            (0..order).for_each(|i| slopes[i * n + earlier] = column[i] - reflection * column[order - 1 - i]);
        }
        (0..order).for_each(|i| slopes[i * n + order] = -row[order - 1 - i]);
        slopes[order * n + order] = 1.0;
        step_up(&mut row, *reflection);
    }
    slopes
}

/// Steps up from one order to the next.
pub(super) fn step_up(row: &mut Vec<f64>, reflection: f64) {
    let n = row.len();
    for i in 0..n.div_ceil(2) {
        let (near, far) = (row[i], row[n - 1 - i]);
        row[i] = near - reflection * far;
        row[n - 1 - i] = far - reflection * near;
    }
    row.push(reflection);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepping_down_undoes_stepping_up() {
        let given = [0.5, -0.9, 0.3, 0.999, -0.2];
        let back = reflections(&coefficients(&given)).unwrap();
        // A reflection of 0.999 costs three of sixteen digits.
        assert!(given.iter().zip(&back).all(|(one, other)| (one - other).abs() < 1e-12), "{back:?}");
        assert_eq!(reflections(&[2.0, -1.0]), None);
    }

    #[test]
    fn an_order_of_two_is_the_textbook_one() {
        // phi(1) = r(1) (1 - r(2)), phi(2) = r(2).
        let row = coefficients(&[0.6, -0.4]);
        assert!((row[0] - 0.84).abs() < 1e-15 && row[1] == -0.4, "{row:?}");
    }

    #[test]
    fn slopes_are_those_of_the_coefficients() {
        let at = [0.5, -0.7, 0.2, 0.4];
        let slopes = slopes(&at);
        for k in 0..4 {
            let (mut above, mut below) = (at, at);
            above[k] += 1e-6;
            below[k] -= 1e-6;
            let (above, below) = (coefficients(&above), coefficients(&below));
            for i in 0..4 {
                // Coefficients are linear in each reflection, so a difference quotient is exact but for rounding.
                assert!((slopes[i * 4 + k] - (above[i] - below[i]) / 2e-6).abs() < 1e-9, "c({i}) by r({k})");
            }
        }
    }
}
