//! Table 7: how often a task took as long as the run-time advisor's interval says.

use std::time::Duration;

use predict::{Demand, MeasurementError, RunTime, Spec, WindowErrors};
use units::Confidence;

use crate::{
    Outcome, Record, TestDone,
    record::{Segment, threads_of},
    table::{Cell, MeanError, Row, Source, Table},
};

use super::live;

/// A node makes forecasts as long as the longest window once in so many seconds.
const FOLLOW_EVERY_SECONDS: f64 = 5.0;

/// Coverage of the advisor's intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Coverage {
    n_within: usize,
    n_sooner: usize,
    n_later: usize,
    /// Tests that ended before it could be told.
    n_undecided: usize,
    /// Error of the median against the time that the test took, in shares of that time.
    median: MeanError,
}

impl Coverage {
    fn join(self, other: Coverage) -> Coverage {
        Coverage {
            n_within: self.n_within + other.n_within,
            n_sooner: self.n_sooner + other.n_sooner,
            n_later: self.n_later + other.n_later,
            n_undecided: self.n_undecided + other.n_undecided,
            median: self.median.join(other.median),
        }
    }

    fn n(self) -> usize {
        self.n_within + self.n_sooner + self.n_later
    }

    fn row(self, source: Source, name: &str) -> Row {
        let count = |count: usize| Cell::Number { value: count as f64, n_digits: 0, n: None };
        let within = match self.n() {
            0 => Cell::TooFew { need: 1, have: 0 },
            n => Cell::Percent { share: self.n_within as f64 / n as f64, n: Some(n) },
        };
        let cells =
            vec![within, count(self.n_sooner), count(self.n_later), count(self.n_undecided), self.median.cell()];
        Row { source, heads: vec![name.to_owned()], cells }
    }

    /// Takes in what the advisor said of a test.
    fn add(&mut self, run_time: &RunTime, test: &TestDone) {
        let Outcome::Done(spun) = &test.outcome else { return };
        let interval = run_time.interval(Confidence::P95);
        let [lower, upper] =
            [interval.lower, interval.upper].map(|end| end.map_or(f64::INFINITY, |end| end.as_secs_f64()));
        let Some(took) = spun.reached_seconds else {
            // It takes longer than the test did; for the interval that may be enough to know.
            let passed = spun.marks.last().map_or(0.0, |mark| mark.passed_seconds);
            *(if upper < passed { &mut self.n_later } else { &mut self.n_undecided }) += 1;
            return;
        };
        *(match took {
            took if took < lower => &mut self.n_sooner,
            took if took > upper => &mut self.n_later,
            _ => &mut self.n_within,
        }) += 1;
        if let Some(median) = run_time.median().filter(|_| took > 0.0) {
            self.median.add((median.as_secs_f64() - took).abs() / took);
        }
    }
}

pub(crate) fn table(record: &Record) -> Table {
    let sensors: Vec<String> = record.sensors().into_iter().filter(|id| is_asked(id)).collect();
    let mut total = Coverage::default();
    let mut rows = Vec::new();
    for scenario in &record.header.settings.scenarios {
        let mut coverage = Coverage::default();
        for segment in record.of(scenario) {
            sensors.iter().for_each(|id| follow(record, segment, id, &mut coverage));
        }
        rows.push(coverage.row(Source::Scenario, scenario));
        total = total.join(coverage);
    }
    rows.push(total.row(Source::Total, "all"));
    let mut notes = vec![
        "Each test noted when its CPU clock reached a demand that was drawn for it; the advisor's central 95 % interval was \
         made with the model AUTO from the readings before the test. Sooner and later are tests that took less than its \
         lower end or longer than its upper end; a test is undecided when it ended before its demand and before the \
         upper end. The last column is the mean distance of the median, as a share of the time that was taken."
            .to_owned(),
    ];
    notes.extend(uncertainty(total));
    let columns = ["within 95 %", "sooner", "later", "undecided", "median off by"].map(str::to_owned);
    let title = "how often tasks took as long as the run-time advisor says".to_owned();
    Table { number: 7, title, heads: vec!["scenario"], columns: columns.into(), rows, notes }
}

/// The advisor goes by the signals that know of the scheduler's rules.
fn is_asked(id: &str) -> bool {
    id == "cpu.availability" || threads_of(id) > 1
}

/// Goes through one signal in one visit as a node does, and asks the advisor at the start of each test.
fn follow(record: &Record, segment: &Segment, id: &str, coverage: &mut Coverage) {
    let header = &record.header;
    let step = header.settings.step;
    let n_steps = |seconds: f64| ((seconds / step.as_secs_f64()).round() as usize).max(1);
    let mut errors = WindowErrors::of_availability(step);
    let follow_every = n_steps(FOLLOW_EVERY_SECONDS);
    let samples = segment.series(id, header);
    let mut live = live(&Spec::auto(), id);
    let mut n_taken = 0;
    for test in segment.tests.iter().filter(|test| test.n_threads == threads_of(id)) {
        let Some((slot, _)) = segment.before(test, id, header) else { continue };
        for (idx, sample) in samples.iter().enumerate().take(slot + 1).skip(n_taken) {
            live.step(*sample);
            let n_leads = if idx % follow_every == 0 { errors.n_leads() } else { n_steps(10.0) + errors.lag() };
            let forecast = live.forecast(n_leads).filter(|_| !sample.is_nan());
            errors.step(*sample, forecast.as_ref());
        }
        n_taken = slot + 1;
        let since_sample = Duration::try_from_secs_f64(test.start_seconds - slot as f64 * step.as_secs_f64());
        let demand = Demand {
            cpu: Duration::try_from_secs_f64(test.demand_seconds).unwrap_or_default(),
            n_threads: test.n_threads,
            step,
            since_sample: since_sample.unwrap_or_default(),
            measurement: MeasurementError::default(),
        };
        let said = live.forecast(demand.n_leads(&errors)).map(|forecast| RunTime::new(&forecast, &errors, demand));
        if let Some(Ok(run_time)) = said {
            coverage.add(&run_time, test);
        }
    }
}

/// Returns a note of the shares between which the true coverage lies, by what was counted (Wilson 1927).
fn uncertainty(total: Coverage) -> Option<String> {
    let n = total.n() as f64;
    if n == 0.0 {
        return None;
    }
    let share = total.n_within as f64 / n;
    let z = predict::half_width(Confidence::P95);
    let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    Some(format!(
        "Of so many tests the share of all of them is known to lie between {:.1} % and {:.1} %, with a confidence of 95 %.",
        100.0 * (centre - half).max(0.0),
        100.0 * (centre + half).min(1.0)
    ))
}
