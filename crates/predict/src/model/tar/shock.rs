//! Shocks for simulated paths: normal, and without the errors of chance in what a linear model makes of them.

use std::sync::LazyLock;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::random::Random;

/// Paths side by side.
pub(super) const N_PATHS: usize = 256;

/// Leads with shocks of their own; later ones have those of so many before again, by when little is left of them.
const N_LEADS: usize = 48;

pub(super) type Shocks = [f64; N_PATHS];

/// The shocks of all paths at `lead_idx`, from 0.
///
/// At each lead they are evenly spaced quantiles of the standard normal distribution in an order of chance, made
/// orthogonal to those of every other lead, with mean 0 and mean square 1. So where only one regime is at work, means
/// and variances over the paths are exact however few there are.
pub(super) fn shocks(lead_idx: usize) -> &'static Shocks {
    static TABLE: LazyLock<Vec<Shocks>> = LazyLock::new(table);
    &TABLE[lead_idx % N_LEADS]
}

fn table() -> Vec<Shocks> {
    let normal = Normal::standard();
    let quantiles: Shocks = std::array::from_fn(|idx| normal.inverse_cdf((idx as f64 + 0.5) / N_PATHS as f64));
    let mut random = Random::seeded(0x746172);
    let mut table: Vec<Shocks> = Vec::with_capacity(N_LEADS);
    for _ in 0..N_LEADS {
        let mut shocks = quantiles;
        random.shuffle(&mut shocks);
        // Twice, because what rounding leaves after once is still a share of what was taken out.
        for _ in 0..2 {
            let mean = shocks.iter().sum::<f64>() / N_PATHS as f64;
            shocks.iter_mut().for_each(|shock| *shock -= mean);
            for earlier in &table {
                let share = mean_product(&shocks, earlier);
                shocks.iter_mut().zip(earlier).for_each(|(shock, other)| *shock -= share * other);
            }
        }
        let scale = mean_product(&shocks, &shocks).sqrt();
        table.push(shocks.map(|shock| shock / scale));
    }
    table
}

fn mean_product(one: &Shocks, other: &Shocks) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>() / N_PATHS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shocks_of_different_leads_have_nothing_in_common() {
        for lead_idx in 0..N_LEADS {
            let ours = shocks(lead_idx);
            assert!(ours.iter().sum::<f64>().abs() < 1e-10);
            for other in 0..=lead_idx {
                let expected = if other == lead_idx { 1.0 } else { 0.0 };
                assert!((mean_product(ours, shocks(other)) - expected).abs() < 1e-12, "{lead_idx} {other}");
            }
        }
    }

    #[test]
    fn shocks_are_still_close_to_normal() {
        for lead_idx in 0..N_LEADS {
            let share =
                |most: f64| shocks(lead_idx).iter().filter(|shock| shock.abs() < most).count() as f64 / N_PATHS as f64;
            assert!((share(1.0) - 0.683).abs() < 0.08 && (share(2.0) - 0.954).abs() < 0.04, "lead {}", lead_idx + 1);
        }
    }
}
