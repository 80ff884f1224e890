//! Whether a polynomial in the backshift operator has all its roots outside the unit circle.

/// Roots closer to the unit circle than this count as on it: the errors of a process there never die out.
const REFLECTION_MAX: f64 = 1.0 - 1e-9;

/// Whether 1 - c(1) B - … - c(n) B^n is stable. By stepping down from order to order (the Levinson recursion
/// backwards): all reflection coefficients lie inside (-1, 1) exactly when all roots lie outside the circle.
pub(super) fn is_stable(coefficients: impl Iterator<Item = f64>) -> bool {
    let mut row: Vec<f64> = coefficients.collect();
    while let Some(reflection) = row.pop() {
        if reflection.is_nan() || reflection.abs() > REFLECTION_MAX {
            return false;
        }
        let scale = 1.0 / (1.0 - reflection * reflection);
        let mirror: Vec<f64> = row.iter().rev().copied().collect();
        row.iter_mut().zip(mirror).for_each(|(value, mirrored)| *value = (*value + reflection * mirrored) * scale);
    }
    true
}

/// Draws the roots outward until all lie outside the circle: c(i) times shrink^i.
pub(crate) fn stabilize(coefficients: &mut [f64]) {
    const SHRINK: f64 = 0.95;
    while !is_stable(coefficients.iter().copied()) {
        let mut factor = 1.0;
        for coefficient in coefficients.iter_mut() {
            factor *= SHRINK;
            *coefficient *= factor;
        }
        if coefficients.iter().any(|coefficient| !coefficient.is_finite()) {
            coefficients.fill(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_outside_the_circle_are_stable() {
        assert!(is_stable([0.5].into_iter()));
        assert!(is_stable([1.0, -0.5].into_iter()));
        assert!(is_stable([].into_iter()));
    }

    #[test]
    fn roots_on_or_inside_the_circle_are_not() {
        for unstable in [&[1.0][..], &[-1.0], &[2.0, -1.0], &[0.5, 0.6], &[f64::NAN]] {
            assert!(!is_stable(unstable.iter().copied()), "{unstable:?}");
        }
    }

    #[test]
    fn anything_can_be_made_stable() {
        let mut explosive = [3.0, -4.0, 2.0];
        stabilize(&mut explosive);
        assert!(is_stable(explosive.into_iter()));
    }
}
