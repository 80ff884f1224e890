//! The readings of a study as series: as CSV for other programs, and as the pictures that the paper shows of its hosts.

use std::fmt::Write;

use picture::{Axis, Chart, Mark, Panel, Picture, Scale, Size, beside};
use statistics::{Line, autocorrelations, pox_plot, significance_bound};

use crate::record::Segment;
use crate::tables::{about_mean, averages};
use crate::{Header, Record};

/// The sensors that are drawn, one in each column.
const DRAWN: [&str; 2] = ["cpu.availability", "cpu.availability.loadavg"];

/// Correlations up to this lag, as in the paper.
const N_LAGS_MAX: usize = 360;

const CHART: Size = Size { width: 520.0, height: 300.0 };

impl Record {
    /// The readings of each visit as CSV, beside the name of a file: a column for the time and one for each sensor,
    /// empty where a reading sees a test or there is none.
    #[must_use]
    pub fn series_files(&self) -> Vec<(String, String)> {
        let sensors = self.sensors();
        let file = |segment: &Segment| {
            let name = format!("{}-{}.csv", segment.start.scenario, segment.start.round);
            (name, csv(segment, &sensors, &self.header))
        };
        self.segments.iter().filter(|segment| !segment.readings.is_empty()).map(file).collect()
    }

    /// Eight figures of each scenario in one picture, beside its name: of two sensors the readings of the longest
    /// visit, their correlations, the pox plot of all visits, and the averages over five minutes.
    #[must_use]
    pub fn pictures(&self) -> Vec<(String, Picture)> {
        let scenarios = self.header.settings.scenarios.iter();
        let drawn = scenarios.filter_map(|scenario| Some((scenario.clone(), self.picture(scenario)?)));
        drawn.collect()
    }

    /// `None` of a scenario that was not visited.
    fn picture(&self, scenario: &str) -> Option<Picture> {
        let longest = self.of(scenario).max_by_key(|segment| segment.readings.len())?;
        let columns = DRAWN.map(|id| self.charts(scenario, id, longest));
        let rows = (0..columns[0].len()).flat_map(|row| columns.iter().map(move |charts| charts[row].clone()));
        let panels: Vec<Panel> = rows.map(|chart| Panel { chart, legend: Vec::new() }).collect();
        Some(beside(&panels, DRAWN.len(), CHART))
    }

    fn charts(&self, scenario: &str, id: &str, longest: &Segment) -> [Chart; 4] {
        let settings = &self.header.settings;
        let length = settings.n_steps(settings.average);
        let samples = longest.series(id, &self.header);
        let means = averages(&samples, length);
        let joined: Vec<f64> =
            self.of(scenario).flat_map(|segment| about_mean(&segment.series(id, &self.header))).collect();
        let seconds = settings.step.as_secs_f64();
        let average = units::span::format(settings.average);
        [
            over_time(format!("{scenario}: {id}"), "gaps are tests", &samples, seconds),
            correlations(&samples),
            pox(&joined),
            over_time(
                format!("Averages over {average}"),
                "of readings that see no test",
                &means,
                seconds * length as f64,
            ),
        ]
    }
}

fn csv(segment: &Segment, sensors: &[String], header: &Header) -> String {
    let series: Vec<Vec<f64>> = sensors.iter().map(|id| segment.series(id, header)).collect();
    let mut text = format!("time,{}\n", sensors.join(","));
    let n_slots = series.first().map_or(0, Vec::len);
    for slot in 0..n_slots {
        let time = segment.start.time + header.settings.step * u32::try_from(slot).unwrap_or(u32::MAX);
        write!(text, "{time}").expect("a String takes everything");
        for samples in &series {
            match samples[slot] {
                gap if gap.is_nan() => text.push(','),
                value => write!(text, ",{value}").expect("a String takes everything"),
            }
        }
        text.push('\n');
    }
    text
}

fn over_time(title: String, caption: &str, samples: &[f64], step_seconds: f64) -> Chart {
    let points = samples.iter().enumerate().map(|(slot, value)| (slot as f64 * step_seconds / 60.0, *value));
    let points: Vec<(f64, f64)> = points.collect();
    // A line for each stretch, so that none leads across a gap; of one reading a dot.
    let stretches = points.split(|point| point.1.is_nan()).filter(|stretch| !stretch.is_empty());
    let marks = stretches.map(|stretch| match stretch {
        [only] => Mark::Dots(vec![*only]),
        stretch => Mark::Line(stretch.to_vec()),
    });
    Chart {
        title,
        caption: caption.to_owned(),
        x: Axis::over("minutes", Scale::Linear, points.iter().map(|point| point.0)),
        y: Axis::over("share of a core", Scale::Linear, points.iter().map(|point| point.1).chain([0.0, 1.0])),
        marks: marks.collect(),
    }
}

fn correlations(samples: &[f64]) -> Chart {
    let n = samples.iter().filter(|sample| !sample.is_nan()).count();
    let found = autocorrelations(samples, N_LAGS_MAX.min(samples.len() / 4));
    let points: Vec<(f64, f64)> = found.into_iter().enumerate().map(|(lag, value)| (lag as f64, value)).collect();
    let bound = significance_bound(n.max(1));
    Chart {
        title: "Autocorrelations".to_owned(),
        caption: "95 % of those of noise lie between the dashed lines".to_owned(),
        x: Axis::over("lag in readings", Scale::Linear, points.iter().map(|point| point.0)),
        y: Axis::over("correlation", Scale::Linear, points.iter().map(|point| point.1).chain([0.0, 1.0])),
        marks: vec![Mark::Bound(bound), Mark::Bound(-bound), Mark::Stems(points)],
    }
}

fn pox(samples: &[f64]) -> Chart {
    let found = pox_plot(samples).unwrap_or_default();
    let points: Vec<(f64, f64)> = found.iter().map(|point| (point.length as f64, point.rescaled_range)).collect();
    let line = Line::through(points.iter().map(|(length, range)| (length.ln(), range.ln())));
    let fit = line.map(|line| {
        let at = |(length, _): &(f64, f64)| (*length, (line.intercept + line.slope * length.ln()).exp());
        Mark::Fit(
            [points.first(), points.last()].into_iter().flatten().map(at).collect(),
            format!("H = {:.2}", line.slope),
        )
    });
    Chart {
        title: "Pox plot".to_owned(),
        caption: "of all visits joined; the slope is H".to_owned(),
        x: Axis::over("readings", Scale::Logarithmic, points.iter().map(|point| point.0)),
        y: Axis::over("rescaled range R/S", Scale::Logarithmic, points.iter().map(|point| point.1)),
        marks: [Mark::Dots(points)].into_iter().chain(fit).collect(),
    }
}
