//! An analysis for people to read.

use std::io::Write;

use text::figure::{percent, six_digits};
use text::{Align, Table};

use super::analysis::{Analysis, Test};

/// Writes the figures, then a table for each kind that there are several of.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut dyn Write, analysis: &Analysis) -> anyhow::Result<()> {
    for (name, sentence) in sentences(analysis) {
        writeln!(out, "{name:<13} {sentence}")?;
    }
    for table in [hurst(analysis), aggregated(analysis), correlations(analysis)].into_iter().flatten() {
        writeln!(out)?;
        write!(out, "{table}")?;
    }
    for (idx, reason) in analysis.unavailable.iter().enumerate() {
        let space = if idx == 0 { "\n" } else { "" };
        writeln!(out, "{space}not available: {reason}")?;
    }
    Ok(())
}

fn sentences(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let Analysis { mean, variance, min, max, stretch, .. } = analysis;
    let [mean, variance, min, max] = [*mean, *variance, *min, *max].map(six_digits);
    let mut sentences =
        vec![("samples", samples(analysis)), ("mean", format!("{mean}, variance {variance}, from {min} to {max}"))];
    if let Some(noise) = &analysis.whiteness {
        sentences.extend(["noise", "", ""].into_iter().zip(noise.sentences()));
    }
    sentences.extend(analysis.normality.iter().map(|line| ("normality", line.sentence())));
    if analysis.n_gaps > 0 {
        let (first, last) = (stretch.first_idx + 1, stretch.first_idx + stretch.n);
        let sentence = format!("samples {first} to {last}, which stationarity, Hurst exponents and periodogram are of");
        sentences.push(("unbroken", sentence));
    }
    if let Some(parts) = &analysis.decomposition {
        let seasons = parts.seasons.iter().map(|season| (&*season.name, season.explained_ratio));
        let all = [("level", parts.level_ratio)].into_iter().chain(seasons).chain([("rest", parts.rest_ratio)]);
        let shares: Vec<String> = all.map(|(name, share)| format!("{name} {}", percent(share))).collect();
        sentences.push(("decomposition", format!("of the variance {}", shares.join(", "))));
    }
    if let Some(tested) = &analysis.stationarity {
        let (level, trend) = (kpss(&tested.level), kpss(&tested.trend));
        sentences.push(("stationarity", format!("{}: KPSS {level} for a level, {trend} for a line", tested.sentence)));
    }
    sentences
}

fn samples(analysis: &Analysis) -> String {
    let times = match (&analysis.step, &analysis.start, &analysis.end) {
        (Some(step), Some(start), Some(end)) => format!(", {step} apart, from {start} to {end}"),
        _ => String::new(),
    };
    format!("{}, {}{times}", analysis.n_samples, analysis.gaps())
}

/// The table behind the test ends at 0.01 and at 0.1.
fn kpss(test: &Test) -> String {
    let statistic = six_digits(test.statistic);
    match test.p_value {
        p if p <= 0.01 => format!("{statistic} (p <= 0.01)"),
        p if p >= 0.1 => format!("{statistic} (p >= 0.1)"),
        p => format!("{statistic} (p {p:.3})"),
    }
}

fn hurst(analysis: &Analysis) -> Option<Table> {
    let mut table =
        Table::new(&[("hurst exponent by", Align::Left), ("H", Align::Right), ("standard error", Align::Right)]);
    for estimate in &analysis.hurst {
        let error = estimate.standard_error.map_or_else(|| "-".to_owned(), |error| format!("{error:.3}"));
        table.row([estimate.method.to_owned(), format!("{:.3}", estimate.exponent), error]);
    }
    (!analysis.hurst.is_empty()).then_some(table)
}

fn aggregated(analysis: &Analysis) -> Option<Table> {
    let mut table = Table::new(&[("means of", Align::Right), ("n", Align::Right), ("variance", Align::Right)]);
    for level in &analysis.aggregated {
        table.row([level.length.to_string(), level.n.to_string(), six_digits(level.variance)]);
    }
    (!analysis.aggregated.is_empty()).then_some(table)
}

/// A star marks what is beyond the bound.
fn correlations(analysis: &Analysis) -> Option<Table> {
    let columns = [("lag", Align::Right), ("autocorrelation", Align::Right), ("partial", Align::Right)];
    let mut table = Table::new(&columns);
    let starred = |correlation: f64| {
        let star = if correlation.abs() > analysis.significance_bound { '*' } else { ' ' };
        format!("{correlation:.4}{star}")
    };
    let pairs = analysis.autocorrelations.iter().zip(&analysis.partial_autocorrelations);
    for (lag, (correlation, partial)) in (1..).zip(pairs) {
        table.row([format!("{lag}"), starred(*correlation), starred(*partial)]);
    }
    analysis.autocorrelations.iter().any(|correlation| correlation.is_finite()).then_some(table)
}
