//! A forecast to look at: the last samples, the forecast, and bands around it.

use std::fmt::Write as _;

use command_line::argument::drawing::{self, Drawing};
use picture::{Axis, Chart, Colour, Mark, Panel, Picture, Scale, Size};
use predict::Forecast;
use series::Series;
use text::figure::number;
use units::Confidence;

use crate::along;

const SIZE: Size = Size { width: 960.0, height: 420.0 };

/// Columns and rows of the field in the terminal, and columns of the figures beside it.
const N_COLUMNS: usize = 68;
const N_ROWS: usize = 15;
const N_LABEL: usize = 10;

/// Samples before the forecast that are drawn for each step of it, and the fewest.
const N_PAST_PER_LEAD: usize = 3;
const N_PAST_MIN: usize = 100;

/// The place of a plot.
#[derive(Clone, Debug)]
pub enum PlotTarget {
    Terminal,
    File(Drawing),
}

/// Parses `-` or a path whose name tells the kind.
pub fn plot(text: &str) -> Result<PlotTarget, String> {
    if text == "-" { Ok(PlotTarget::Terminal) } else { drawing::drawing(text).map(PlotTarget::File) }
}

/// A series and its forecast.
pub struct ForecastView<'a> {
    pub series: &'a Series,
    pub forecast: &'a Forecast,
    /// Bands, the wider one first.
    pub confidences: Vec<Confidence>,
    /// Name of what is forecast.
    pub name: String,
    /// Model that made the forecast.
    pub model: String,
}

impl ForecastView<'_> {
    /// The first slot that is drawn.
    fn first(&self) -> usize {
        let n_past = (N_PAST_PER_LEAD * self.forecast.n_leads()).max(N_PAST_MIN);
        self.series.samples().len().saturating_sub(n_past)
    }

    fn slot_of(&self, lead: usize) -> usize {
        self.series.samples().len() - 1 + lead
    }

    fn caption(&self) -> String {
        // Rounded, because 100 times 0.28 is 28.000000000000004.
        let percent = |share: &Confidence| ((1e6 * share.probability()).round() / 1e4).to_string();
        let shares: Vec<String> = self.confidences.iter().rev().map(percent).collect();
        format!("forecast by {}; bands of {} %", self.model, shares.join(" and "))
    }

    /// Draws lines through the samples and the forecast, over the bands.
    pub fn picture(&self) -> Picture {
        let place = |lead| along::place(self.series, self.slot_of(lead));
        let leads = 1..=self.forecast.n_leads();
        let bands = self.confidences.iter().zip(Colour::BANDS).map(|(confidence, colour)| {
            let ends = leads.clone().zip(self.forecast.intervals(*confidence));
            Mark::Between(ends.map(|(lead, ends)| (place(lead), ends.lower, ends.upper)).collect(), colour)
        });
        let mut marks: Vec<Mark> = bands.collect();
        marks.extend(along::lines(self.series, self.first()..self.series.samples().len(), 1));
        let forecast = leads.clone().zip(self.forecast.means());
        marks.push(Mark::Fit(forecast.map(|(lead, mean)| (place(lead), *mean)).collect(), String::new()));
        let chart = Chart {
            title: self.name.clone(),
            caption: self.caption(),
            x: along::axis(self.series, self.first()..self.slot_of(self.forecast.n_leads()) + 1),
            y: Axis::over("value", Scale::Linear, marks.iter().flat_map(Mark::heights)),
            marks,
        };
        Panel { chart, legend: Vec::new() }.picture(SIZE)
    }

    /// Draws the same with characters.
    pub fn text(&self) -> String {
        let (first, n) = (self.first(), self.slot_of(self.forecast.n_leads()) + 1);
        let column = |slot: usize| (slot - first) * N_COLUMNS / (n - first);
        let samples = &self.series.samples()[first..];
        let ends: Vec<Vec<_>> =
            self.confidences.iter().map(|confidence| self.forecast.intervals(*confidence).collect()).collect();
        let outer = ends.iter().flatten().flat_map(|ends| [ends.lower, ends.upper]);
        let values = samples.iter().copied().chain(outer).filter(|value| value.is_finite());
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let room = if high > low { high - low } else { 1.0 };
        let row =
            |value: f64| ((high - value) / room * (N_ROWS - 1) as f64).round().clamp(0.0, (N_ROWS - 1) as f64) as usize;
        let mut field = [[' '; N_COLUMNS]; N_ROWS];
        let mut draw = |slot: usize, from: f64, to: f64, ink: char| {
            if from.is_finite() && to.is_finite() {
                let (top, bottom) = (row(from.max(to)), row(from.min(to)));
                field[top..=bottom].iter_mut().for_each(|row| row[column(slot)] = ink);
            }
        };
        for (ends, ink) in ends.iter().zip(['░', '▒']) {
            ends.iter().zip(1..).for_each(|(ends, lead)| draw(self.slot_of(lead), ends.lower, ends.upper, ink));
        }
        for (mean, lead) in self.forecast.means().iter().zip(1..) {
            draw(self.slot_of(lead), *mean, *mean, '━');
        }
        for (idx, sample) in samples.iter().enumerate() {
            draw(first + idx, *sample, *sample, '•');
        }
        let mut text = format!("{}: {}\n\n", self.name, self.caption());
        for (idx, row) in field.iter().enumerate() {
            let is_labelled = idx % 7 == 0;
            let label =
                if is_labelled { number(high - room * idx as f64 / (N_ROWS - 1) as f64) } else { String::new() };
            let row: String = row.iter().collect();
            let tick = if is_labelled { '┤' } else { '│' };
            writeln!(text, "{label:>N_LABEL$} {tick}{}", row.trim_end()).expect("a String takes everything");
        }
        let now = column(self.series.samples().len() - 1);
        let axis: String = (0..N_COLUMNS).map(|column| if column == now { '┬' } else { '─' }).collect();
        let [begin, end] = [first, n - 1].map(|slot| along::text(self.series, slot));
        let apart = N_COLUMNS.saturating_sub(text::width(&begin));
        writeln!(text, "{:N_LABEL$} └{axis}\n{:N_LABEL$}  {begin}{end:>apart$}", "", "")
            .expect("a String takes everything");
        text
    }
}

/// Returns the bands for a confidence: 50 % as well, if that is narrower.
pub fn bands(confidence: Confidence) -> Vec<Confidence> {
    if confidence.probability() > 0.5 { vec![confidence, Confidence::P50] } else { vec![confidence] }
}
