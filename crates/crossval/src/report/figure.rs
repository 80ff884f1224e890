//! Figures as a report writes them.

use super::verdict::Standing;
use crate::results::Results;

pub(crate) fn code(results: &Results, standing: &Standing) -> String {
    format!("`{}`", results.families[standing.family_idx])
}

pub(crate) fn dash() -> String {
    "–".to_owned()
}

/// Three significant digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => dash(),
        _ if value.is_infinite() => "∞".to_owned(),
        0.0 => "0".to_owned(),
        size if (1e-3..1e5).contains(&size) => {
            let n_decimals = (2 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.n_decimals$}")
        }
        _ => format!("{value:.2e}"),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}
