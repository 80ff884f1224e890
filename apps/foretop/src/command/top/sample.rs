//! A small node's state for the tests of `top`: one signal of each sort of trouble.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use node_api as api;
use units::Timestamp;

use super::processes::ProcessPane;
use super::state::{Detail, Far, LEADS, Link, Sort, State, Update};

const IDS: [&str; 4] = ["cpu.availability.vmstat", "load.1m", "memory.available", "swap.used"];

pub fn series(id: &str, unit: &str) -> api::Series {
    api::Series {
        id: id.to_owned(),
        aliases: if id.starts_with("cpu") { vec!["short.cpu".to_owned()] } else { Vec::new() },
        unit: unit.to_owned(),
        kind: api::Kind::Gauge,
        sentence: "What it is, in a sentence.".to_owned(),
        labels: BTreeMap::new(),
        source: api::Source::Sensor,
        step_seconds: 1.0,
        near_seconds: 600.0,
        range: api::Range { min: Some(0.0), max: (unit == "ratio").then_some(1.0) },
        last: None,
        no_sample_since: None,
        n_samples: 0,
        n_gaps: 0,
        model: "AR(16)".to_owned(),
        model_speaking: None,
    }
}

pub fn list(ids: &[&str]) -> api::SeriesList {
    let unit = |id: &str| match id {
        "load.1m" => "tasks",
        "cpu.availability.vmstat" => "ratio",
        _ => "bytes",
    };
    api::SeriesList {
        node: api::NodeInfo {
            host: "db1".to_owned(),
            version: "0.1.0".to_owned(),
            started: Timestamp::from_nanos(0),
            step_seconds: 1.0,
            model: "REFIT(AR(16),every=100,window=600)".to_owned(),
            has_kernel_agent: false,
            limits: None,
        },
        series: ids.iter().map(|id| series(id, unit(id))).collect(),
    }
}

/// A forecast that goes from `from` to `to`, and widens as it goes.
fn forecast(from: f64, to: f64, reach: f64, max: f64) -> api::LeadForecast {
    let at = |lead: &usize| *lead as f64 / 60.0;
    let mean: Vec<f64> = LEADS.iter().map(|lead| from + at(lead) * (to - from)).collect();
    let bound = |sign: f64| {
        let bounds =
            LEADS.iter().zip(&mean).map(|(lead, mean)| (mean + sign * reach * at(lead).sqrt()).clamp(0.0, max));
        bounds.collect()
    };
    api::LeadForecast { leads: LEADS.to_vec(), lower: bound(-1.0), upper: bound(1.0), mean }
}

/// 60 ticks in: a share, a load that rises, memory that stays, and swap without forecast and with a gap at the end.
pub fn state() -> State {
    let mut state = State::new("http://127.0.0.1:7311", Sort::Name, "");
    state.apply(Update::Series(list(&IDS)));
    state.apply(Update::Link(Link::Live));
    for t in 0..60 {
        let wave = (f64::from(t) * 0.4).sin();
        let values = [Some(0.8 + 0.1 * wave), Some(f64::from(t) / 30.0), Some(12e9), (t < 59).then_some(0.0)];
        let forecasts = [forecast(0.8, 0.9, 0.3, 1.0), forecast(2.0, 4.0, 2.0, 1e9), forecast(12e9, 12e9, 1e9, 1e12)];
        state.apply(Update::Tick(api::TickEvent {
            time: Timestamp::from_nanos(1_700_000_000_000_000_000) + Duration::from_secs(t as u64),
            step_seconds: 1.0,
            values: IDS.iter().map(|id| Arc::from(*id)).zip(values).collect(),
            forecasts: IDS.iter().map(|id| Arc::from(*id)).zip(forecasts).collect(),
            inner: BTreeMap::new(),
        }));
    }
    state
}

/// A day ahead of `load.1m`, and a day of its past.
pub fn far() -> Far {
    const N_STEPS: usize = 288;
    let outlook = api::Outlook {
        id: "load.1m".to_owned(),
        unit: "tasks".to_owned(),
        origin: Timestamp::from_nanos(0),
        step_seconds: 300.0,
        confidence: 0.95,
        median: vec![3.0; N_STEPS],
        lower: vec![1.0; N_STEPS],
        upper: vec![5.0; N_STEPS],
        history_seconds: 604_800.0,
        no_sample_since: None,
        seen_seconds: 7200.0,
        season_ratio: None,
        seasons: Vec::new(),
        scale: api::Scale::Linear,
    };
    Far { outlook, past: vec![2.0; N_STEPS] }
}

/// Three programs, others and the short-lived; of one it may not be known what it reads.
pub fn processes() -> ProcessPane {
    let figures = |cpu_cores: f64, memory_bytes: u64, read: Option<f64>| api::ProcessFigures {
        cpu_cores: Some(cpu_cores),
        memory_bytes,
        read_bytes_per_sec: read,
        written_bytes_per_sec: read.map(|read| 2.0 * read),
    };
    let row = |name: &str, unit: Option<&str>, figures: api::ProcessFigures| api::ProcessRow {
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        container: None,
        pid: None,
        state: None,
        n_processes: None,
        figures,
    };
    let table = api::ProcessTable {
        time: Timestamp::from_nanos(1_700_000_040_000_000_000),
        span_seconds: Some(60.0),
        by: api::ProcessGrouping::Program,
        sort: api::ProcessOrder::Cpu,
        rows: vec![
            row("postgres", Some("postgresql.service"), figures(1.25, 3 << 30, Some(4096.0))),
            row("a\x1b[2Jb", None, figures(0.5, 90 << 20, None)),
            row("node exporter with", Some("a-service-with-a-long-name.service"), figures(0.01, 9 << 20, Some(0.0))),
        ],
        n_others: 57,
        others: figures(0.02, 1 << 30, Some(0.0)),
        short_lived_cores: Some(0.34),
        n_processes: 312,
        n_measured: None,
        n_left_out: 0,
        previous: None,
        next: None,
    };
    ProcessPane { table: Some(table), ..ProcessPane::new(api::ProcessOrder::Cpu, None) }
}

/// Content of the large view of `load.1m`: a forecast over a minute, a fit, and one lead that has been scored.
pub fn detail() -> Detail {
    let leads = forecast(2.0, 4.0, 2.0, 1e9);
    let band = super::band::Band::from_leads(None, &leads);
    let points: Vec<super::band::Point> = (1..=60).filter_map(|lead| band.at(f64::from(lead))).collect();
    let errors = |mean_absolute| api::ErrorStatistics {
        min: -0.2,
        median: 0.0,
        max: 0.3,
        mean: 0.001,
        mean_absolute,
        mean_squared: 0.003,
        coverage: api::Coverage { p50: 0.52, p80: 0.81, p95: 0.949 },
    };
    let lead = |lead_steps: usize, n: usize, error: Option<f64>| api::LeadAccuracy {
        lead_steps,
        lead_seconds: lead_steps as f64,
        n,
        model: error.map(errors),
        last: error.map(|error| errors(error * 1.5)),
        mean: error.map(|error| errors(error * 2.0)),
    };
    Detail {
        forecast: Some(api::Forecast {
            id: "load.1m".to_owned(),
            unit: "tasks".to_owned(),
            origin: Timestamp::from_nanos(0),
            step_seconds: 1.0,
            confidence: 0.95,
            model: "AR(2)".to_owned(),
            model_speaking: Vec::new(),
            speakers: Vec::new(),
            mean: points.iter().map(|point| point.mean).collect(),
            standard_error: points.iter().map(|point| (point.upper - point.mean) / 1.96).collect(),
            lower: points.iter().map(|point| point.lower).collect(),
            upper: points.iter().map(|point| point.upper).collect(),
        }),
        far: None,
        accuracy: Some(api::Accuracy {
            id: "load.1m".to_owned(),
            unit: "tasks".to_owned(),
            leads: vec![lead(1, 59, Some(0.04)), lead(60, 0, None)],
            residuals: None,
        }),
        series: Some(api::SeriesDetail {
            series: series("load.1m", "tasks"),
            fitted: Some(api::Fitted {
                model: "AR(2)".to_owned(),
                coefficients: vec![0.91, -0.02],
                moving_average: Vec::new(),
                mean: 1.0,
                innovation_variance: 0.0004,
                n_samples: 59,
                fitted_at: None,
                n_refits: 1,
                speakers: Vec::new(),
                season: None,
            }),
            waiting: None,
        }),
        problem: None,
    }
}
