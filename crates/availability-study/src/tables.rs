//! The tables of the paper, from a record.

mod change;
mod forecasting;
mod measurement;
mod prediction;
mod run_time;
mod variance;

pub(crate) use prediction::averages;
pub(crate) use variance::about_mean;

use predict::{Live, Loss, Policy, Spec};

use crate::{
    Record,
    record::threads_of,
    table::{Cell, MeanError, Row, Source, Table},
};

/// Forecasts are made by the paper's model, and by the one that a node uses unless told otherwise.
fn models() -> [(&'static str, Spec); 2] {
    [("NWS", Spec::Nws { loss: Loss::default(), recent: None }), ("AUTO", Spec::auto())]
}

/// All tables, in the paper's order.
pub(crate) fn all(record: &Record) -> Vec<Table> {
    let replayed = forecasting::replay(record);
    vec![
        measurement::table(record),
        forecasting::short_table(record, &replayed),
        prediction::table(record),
        variance::table(record),
        prediction::averages_table(record),
        forecasting::long_table(record, &replayed),
        run_time::table(record),
        change::table(record),
    ]
}

/// Mean errors by scenario, model and sensor.
#[derive(Clone, Debug)]
struct Errors {
    scenarios: Vec<String>,
    models: Vec<&'static str>,
    sensors: Vec<String>,
    /// Errors by scenario, then model, then sensor.
    cells: Vec<MeanError>,
}

impl Errors {
    fn new(record: &Record, models: &[&'static str]) -> Errors {
        let scenarios: Vec<String> = record.header.settings.scenarios.clone();
        let sensors = record.sensors();
        let n_cells = scenarios.len() * models.len() * sensors.len();
        Errors { scenarios, models: models.to_vec(), sensors, cells: vec![MeanError::default(); n_cells] }
    }

    fn idx(&self, scenario: usize, model: usize, sensor: usize) -> usize {
        (scenario * self.models.len() + model) * self.sensors.len() + sensor
    }

    fn add(&mut self, scenario: &str, model: usize, sensor: usize, error: f64) {
        if let Some(scenario) = self.scenarios.iter().position(|name| name == scenario) {
            let idx = self.idx(scenario, model, sensor);
            self.cells[idx].add(error);
        }
    }

    fn row(&self, source: Source, name: &str, model: usize, cell: impl Fn(usize) -> MeanError) -> Row {
        let named = self.models.len() > 1;
        let heads = std::iter::once(name).chain(named.then(|| self.models[model])).map(str::to_owned).collect();
        Row { source, heads, cells: (0..self.sensors.len()).map(|sensor| cell(sensor).cell()).collect() }
    }

    /// A row for each scenario and model, and one for all scenarios together.
    fn rows(&self) -> Vec<Row> {
        let models = 0..self.models.len();
        let of_scenario = |(idx, name): (usize, &String)| {
            let row =
                |model| self.row(Source::Scenario, name, model, |sensor| self.cells[self.idx(idx, model, sensor)]);
            models.clone().map(row).collect::<Vec<_>>()
        };
        let total = |model, sensor| {
            let cells = (0..self.scenarios.len()).map(|idx| self.cells[self.idx(idx, model, sensor)]);
            cells.fold(MeanError::default(), MeanError::join)
        };
        let rows = self.scenarios.iter().enumerate().flat_map(of_scenario);
        let totals = models.clone().map(|model| self.row(Source::Total, "all", model, |sensor| total(model, sensor)));
        rows.chain(totals).collect()
    }
}

/// Cores per thread that a signal can say at most is 1, so errors of signals for several threads are shares of a core
/// per thread.
fn share(error: f64, sensor: &str) -> f64 {
    error.abs() / f64::from(threads_of(sensor))
}

/// A signal as the tables follow it, from its first reading on: its forecasts are cut to what it can be.
#[must_use]
pub fn live(spec: &Spec, sensor: &str) -> Live {
    Live::new(Policy::of(spec)).within(0.0, f64::from(threads_of(sensor)))
}

/// The mean of the forecasts for the next `n_leads` samples; the last sample, which needs no error bar here, where
/// nobody forecasts.
fn mean_ahead(live: &Live, n_leads: usize) -> Option<f64> {
    let mean = live.forecast(n_leads).map(|forecast| forecast.means().iter().sum::<f64>() / n_leads as f64);
    mean.or_else(|| live.samples().iter().rev().copied().find(|sample| !sample.is_nan()))
}

/// Returns a note on columns for several threads, where there are some.
fn note_on_threads(sensors: &[String]) -> Option<String> {
    let id = sensors.iter().find(|id| threads_of(id) > 1)?;
    let n_threads = threads_of(id);
    Some(format!("{id} is compared with tests of {n_threads} threads; its errors are shares of a core per thread."))
}

fn blank(sensors: &[String]) -> Vec<Cell> {
    vec![Cell::Blank; sensors.len()]
}
