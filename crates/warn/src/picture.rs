//! A question as a picture: what was, what may come, and the line that is asked about.

use std::time::Duration;

use picture::{Axis, Chart, Colour, Frame, Mark, Picture, Place, Scale};
use predict::Paths;
use statistics::{quantile_of_sorted, sorted};
use text::figure::axis_unit;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 340.0;

/// The shares of futures in the two bands, the wider one first.
const BANDS: [f64; 2] = [0.95, 0.8];

/// Contents of a question's picture.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The question, and its probability.
    pub title: &'a str,
    /// The source and the time of the values.
    pub caption: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
    /// Length of a step.
    pub step: Duration,
    /// The values of the steps so far, the last one now; NaN for a gap.
    pub known: &'a [f64],
    /// Futures that may come after them.
    pub futures: &'a Paths,
    /// Line that the values are compared with.
    pub line: f64,
}

impl View<'_> {
    /// Draws the last steps, twice as many as lie ahead, the median of the futures, and the bands that hold 80 and 95 %
    /// of them at each step.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let n_leads = self.futures.n_leads();
        let known = &self.known[self.known.len().saturating_sub(2 * n_leads)..];
        let (time_unit, time) = time_unit(self.step, known.len() + n_leads);
        let greatest = known.iter().fold(self.line.abs(), |most, value| most.max(value.abs()));
        let (unit, factor) = axis_unit(greatest, self.unit);
        let at = |place: f64| place * self.step.as_secs_f64() / time.as_secs_f64();
        let leads: Vec<(f64, Vec<f64>)> =
            (1..=n_leads).map(|lead| (at(lead as f64), sorted(self.futures.at(lead)))).collect();
        let quantile = |values: &[f64], share| factor * quantile_of_sorted(values, share).unwrap_or(f64::NAN);

        let mut marks = Vec::new();
        for (share, colour) in BANDS.into_iter().zip(Colour::BANDS) {
            let tail = 0.5 * (1.0 - share);
            let ends = leads.iter().map(|(time, values)| (*time, quantile(values, tail), quantile(values, 1.0 - tail)));
            marks.push(Mark::Between(ends.collect(), colour));
        }
        let points =
            known.iter().enumerate().map(|(idx, value)| (at(idx as f64 + 1.0 - known.len() as f64), factor * value));
        let points: Vec<(f64, f64)> = points.collect();
        marks.extend(points.split(|(_, value)| value.is_nan()).map(|run| Mark::Line(run.to_vec())));
        let medians = leads.iter().map(|(time, values)| (*time, quantile(values, 0.5))).collect();
        marks.push(Mark::Fit(medians, String::new()));
        marks.push(Mark::Bound(factor * self.line));

        let heights = marks.iter().flat_map(Mark::heights);
        let y = Axis::over(unit, Scale::Linear, heights);
        let ends = [at(1.0 - known.len() as f64), at(n_leads as f64)];
        let x = Axis::over(format!("{time_unit} from now"), Scale::Linear, ends);
        let caption = format!("{}; ahead: median, 80 and 95 % of what may come", self.caption);
        let chart = Chart { title: self.title.to_owned(), caption, x, y, marks };
        let mut picture = Picture::blank(WIDTH, HEIGHT);
        chart.draw(&mut picture, Frame { corner: Place { x: 0.0, y: 0.0 }, width: WIDTH, height: HEIGHT });
        picture
    }
}

/// The unit of time in which so many steps are a handful.
fn time_unit(step: Duration, n_steps: usize) -> (&'static str, Duration) {
    let span = step.as_secs_f64() * n_steps as f64;
    let units = [("days", 86_400), ("hours", 3600), ("minutes", 60)];
    let found = units.into_iter().find(|(_, seconds)| span >= 3.0 * *seconds as f64);
    let (name, seconds) = found.unwrap_or(("seconds", 1));
    (name, Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expression, Foresight, Frame as Past, futures};

    #[test]
    fn time_is_in_units_of_which_there_are_a_few() {
        let unit = |seconds, n| time_unit(Duration::from_secs(seconds), n).0;
        assert_eq!(
            [unit(1, 100), unit(60, 30), unit(300, 200), unit(3600, 300)],
            ["seconds", "minutes", "hours", "days"]
        );
    }

    #[test]
    fn a_picture_has_what_was_what_may_come_and_the_line() {
        let past = Past {
            start: units::Timestamp::from_nanos(0),
            step: Duration::from_secs(60),
            n_steps: 1000,
            range: (0.0, 1.0),
            calendar: None,
        };
        let mut foresight = Foresight::new(Expression::from("cpu.busy"), vec![past.outlook(30)]);
        let known: Vec<f64> = (0..200).map(|i| if i == 190 { f64::NAN } else { 0.3 + f64::from(i) / 1000.0 }).collect();
        known.iter().for_each(|value| _ = foresight.step(&[*value]));
        let futures = futures(&foresight, 30, 1).unwrap();
        let view = View {
            title: "cpu.busy > 50% within 30m: 60 %",
            caption: "db1",
            unit: "ratio",
            step: past.step,
            known: &known,
            futures: &futures,
            line: 0.5,
        };
        let svg = view.picture().to_svg();
        for word in ["cpu.busy &gt; 50%", "minutes from now", ">%<", "80 and 95 % of what"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
    }
}
