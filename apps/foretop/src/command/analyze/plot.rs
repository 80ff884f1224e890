//! An analysis to look at: the series, and below it correlations, spectrum and pox plot side by side.

use picture::{Axis, Chart, Frame, Mark, Picture, Place, Scale};
use series::Series;
use statistics::{Line, Periodogram};
use text::figure::percent;

use super::analysis::{Analysis, Parts, Season};
use crate::along;

const WIDTH: f64 = 1200.0;
/// The height of a chart.
const HEIGHT: f64 = 424.0;
/// The height of the title of the whole.
const HEAD: f64 = 52.0;

/// More points than this are seen as one smear, and make a large file.
const N_DOTS_MAX: usize = 60;
const N_FREQUENCIES_MAX: usize = 500;
const N_SAMPLES_MAX: usize = 2_000;

/// The series and four charts under the name of what was analyzed; where there are seasons, below them those and the
/// level.
pub fn picture(analysis: &Analysis, series: &Series, name: &str) -> Picture {
    let parts: Vec<Chart> = analysis.decomposition.as_ref().map(charts_of).unwrap_or_default();
    let n_rows = 3 + parts.len().div_ceil(2);
    let mut picture = Picture::blank(WIDTH, HEAD + n_rows as f64 * HEIGHT);
    picture.write(title(analysis, name), Place { x: 84.0, y: 36.0 }, 19.0);
    let charts = [
        correlations(analysis, "Autocorrelation", &analysis.autocorrelations),
        correlations(analysis, "Partial autocorrelation", &analysis.partial_autocorrelations),
        periodogram(analysis),
        pox(analysis),
    ];
    let (width, height) = (WIDTH / 2.0, HEIGHT);
    samples(series).draw(&mut picture, Frame { corner: Place { x: 0.0, y: HEAD }, width: WIDTH, height });
    for (idx, chart) in charts.iter().chain(&parts).enumerate() {
        let corner = Place { x: (idx % 2) as f64 * width, y: HEAD + (1 + idx / 2) as f64 * height };
        chart.draw(&mut picture, Frame { corner, width, height });
    }
    picture
}

/// The samples over time; of many, their means.
fn samples(series: &Series) -> Chart {
    let length = series.samples().len().div_ceil(N_SAMPLES_MAX).max(1);
    let slots = 0..series.samples().len();
    let marks = along::lines(series, slots.clone(), length);
    Chart {
        title: "Samples".to_owned(),
        caption: if length > 1 { format!("means of {length} samples each") } else { String::new() },
        x: along::axis(series, slots),
        y: Axis::over("value", Scale::Linear, marks.iter().flat_map(Mark::heights)),
        marks,
    }
}

/// Level, seasons and rest, each with its share.
fn charts_of(parts: &Parts) -> Vec<Chart> {
    let Parts { values, level_ratio, rest_ratio, seasons } = parts;
    let level = ("Level".to_owned(), *level_ratio, &values.level.values[..]);
    let rest = ("Rest".to_owned(), *rest_ratio, &values.rest.values[..]);
    let of_season = |(named, season): (&Season, &statistics::Season)| {
        // One cycle tells all.
        let n = (season.period.ceil() as usize + 1).min(season.component.values.len());
        let mut name = named.name.clone();
        name[..1].make_ascii_uppercase();
        (name, named.explained_ratio, season.component.values.get(..n).unwrap_or_default().to_vec())
    };
    let seasons: Vec<_> = seasons.iter().zip(&values.seasons).map(of_season).collect();
    let seasons = seasons.iter().map(|(name, share, values)| (name.clone(), *share, &values[..]));
    let chart = |(title, share, values): (String, f64, &[f64])| {
        let points = thinned_means(values);
        Chart {
            title,
            caption: format!("{} of the variance", percent(share)),
            x: Axis::over("sample", Scale::Linear, [0.0, values.len() as f64]),
            y: Axis::over("value", Scale::Linear, points.iter().map(|point| point.1)),
            marks: vec![Mark::Line(points)],
        }
    };
    [level].into_iter().chain(seasons).chain([rest]).map(chart).collect()
}

/// Means of as many samples as make no more than [`N_FREQUENCIES_MAX`] of them; gaps are left out.
fn thinned_means(values: &[f64]) -> Vec<(f64, f64)> {
    let length = values.len().div_ceil(N_FREQUENCIES_MAX).max(1);
    let means = series::bucket_means(values, length);
    let points = means.iter().enumerate().map(|(idx, mean)| ((idx * length) as f64, *mean));
    points.filter(|(_, mean)| mean.is_finite()).collect()
}

fn title(analysis: &Analysis, name: &str) -> String {
    let step = analysis.step.as_ref().map_or_else(String::new, |step| format!(", {step} apart"));
    format!("{name}: {} samples, {}{step}", analysis.n_samples, analysis.gaps())
}

fn correlations(analysis: &Analysis, title: &str, correlations: &[f64]) -> Chart {
    let bound = analysis.significance_bound;
    let points: Vec<(f64, f64)> = (1..).map(f64::from).zip(correlations.iter().copied()).collect();
    let ends = [0.0, bound, -bound].into_iter().chain(correlations.iter().copied());
    Chart {
        title: title.to_owned(),
        caption: format!("95 % of the correlations of noise lie between the dashed lines at ±{bound:.3}"),
        x: Axis::over("lag in samples", Scale::Linear, [0.0, correlations.len() as f64]),
        y: Axis::over("correlation", Scale::Linear, ends),
        marks: vec![Mark::Bound(bound), Mark::Bound(-bound), Mark::Stems(points)],
    }
}

fn periodogram(analysis: &Analysis) -> Chart {
    let points = analysis.periodogram.as_ref().map(frequencies).unwrap_or_default();
    let n_frequencies = analysis.periodogram.as_ref().map_or(0, |periodogram| periodogram.powers.len());
    let caption = match n_frequencies {
        0 => "not available for these samples",
        n if n > N_FREQUENCIES_MAX => "a slope down to the right is memory; dense frequencies averaged",
        _ => "a slope down to the right is memory",
    };
    Chart {
        title: "Periodogram".to_owned(),
        caption: of_stretch(analysis, caption),
        x: Axis::over("frequency in cycles per sample", Scale::Logarithmic, points.iter().map(|point| point.0)),
        y: Axis::over("power in squared units of the samples", Scale::Logarithmic, points.iter().map(|point| point.1)),
        marks: vec![Mark::Line(points)],
    }
}

/// Returns the caption, with the number of samples in the chart if there are gaps.
fn of_stretch(analysis: &Analysis, caption: &str) -> String {
    match analysis.n_gaps {
        0 => caption.to_owned(),
        _ => format!("{caption} ({} without a gap)", analysis.stretch.n),
    }
}

/// Cycles per sample and power; of many, the means within equal steps of the logarithm.
fn frequencies(periodogram: &Periodogram) -> Vec<(f64, f64)> {
    let cycles = periodogram.frequencies.iter().map(|radians| radians / std::f64::consts::TAU);
    let points: Vec<(f64, f64)> = cycles.zip(periodogram.powers.iter().copied()).collect();
    if points.len() <= N_FREQUENCIES_MAX {
        return points;
    }
    let ratio = (points.len() as f64).ln() / N_FREQUENCIES_MAX as f64;
    let step_of = |idx: usize| (((idx + 1) as f64).ln() / ratio) as usize;
    let idxs: Vec<usize> = (0..points.len()).collect();
    let means = idxs.chunk_by(|left, right| step_of(*left) == step_of(*right)).map(|within| {
        let n = within.len() as f64;
        let sum = within.iter().fold((0.0, 0.0), |sum, idx| (sum.0 + points[*idx].0, sum.1 + points[*idx].1));
        (sum.0 / n, sum.1 / n)
    });
    means.collect()
}

fn pox(analysis: &Analysis) -> Chart {
    let points: Vec<(f64, f64)> =
        analysis.pox.iter().map(|point| (point.length as f64, point.rescaled_range)).collect();
    let shown = thinned(&points);
    let line = Line::through(points.iter().map(|(length, range)| (length.ln(), range.ln())));
    let ends = [points.first(), points.last()].into_iter().flatten().map(|(length, _)| *length);
    let fit = line.map(|line| {
        let at = |length: f64| (length, (line.intercept + line.slope * length.ln()).exp());
        Mark::Fit(ends.map(at).collect(), format!("H = {:.3}", line.slope))
    });
    let caption = match points.len() {
        0 => "not available for these samples",
        n if n > shown.len() => "a dot for each stretch, some of the short ones; the slope is H",
        _ => "a dot for each stretch of samples; the slope is H",
    };
    Chart {
        title: "Pox plot".to_owned(),
        caption: of_stretch(analysis, caption),
        x: Axis::over("length of the stretch in samples", Scale::Logarithmic, points.iter().map(|point| point.0)),
        y: Axis::over("rescaled range R/S", Scale::Logarithmic, points.iter().map(|point| point.1)),
        marks: [Mark::Dots(shown)].into_iter().chain(fit).collect(),
    }
}

/// No more than [`N_DOTS_MAX`] of each length, evenly chosen.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let few = |stretches: &[(f64, f64)]| {
        let stride = stretches.len().div_ceil(N_DOTS_MAX);
        stretches.iter().copied().step_by(stride).collect::<Vec<_>>()
    };
    points.chunk_by(|left, right| left.0 == right.0).flat_map(few).collect()
}
