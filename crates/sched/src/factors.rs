//! Factors that decide which policy wins. One at a time is varied: the start of a chunk, the difference between
//! workers, the error of forecasts, the length of the job.
//!
//! Everything else stays as the setting has it, and so do draws: levels of a factor meet the same workers and moments.

use std::time::Duration;

use crate::advice::Advisor;
use crate::job::WorkerGroup;
use crate::policy::Spec;
use crate::report::{Row, Setting, SettingError, rows};

/// Start times of a chunk, in mean costs of a unit.
const STARTS: [f64; 4] = [0.0, 0.25, 2.5, 10.0];
/// Ratios of the fastest worker's speed to the slowest worker's.
const SPEED_RATIOS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Errors of forecasts: standard deviations of the logarithm of forecast times.
const ERRORS: [f64; 4] = [0.0, 0.25, 0.5, 1.0];
/// Numbers of units, as multiples of the job's.
const LENGTHS: [f64; 4] = [0.0625, 0.25, 1.0, 4.0];

/// One level of one factor, and who won there.
#[derive(Clone, Debug)]
pub struct Level {
    /// The factor that is varied.
    pub factor: &'static str,
    /// The level of the factor.
    pub level: String,
    /// The policy that goes by no forecasts and has the least median of the makespan over the bound.
    pub plain: Row,
    /// The same of those that go by forecasts.
    pub forecast: Row,
}

impl Level {
    /// Returns the factor by which the best policy that goes by forecasts takes longer than the best that does not;
    /// below 1 the former is faster.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.forecast.regret / self.plain.regret
    }
}

/// Runs the setting at each level of each factor. The same for the same setting, at any number of threads.
///
/// Forecasts are those of the setting's first advisor. The oracle takes no part; levels come out empty unless there are
/// policies of both kinds.
///
/// # Errors
/// [`SettingError`], before anything is run.
pub fn vary(setting: &Setting) -> Result<Vec<Level>, SettingError> {
    let setting = Setting {
        policies: setting.policies.iter().copied().filter(|spec| *spec != Spec::Oracle).collect(),
        advisors: setting.advisors.iter().take(1).cloned().collect(),
        ..setting.clone()
    };
    let mut levels = Vec::new();
    for (factor, level, varied) in variants(&setting) {
        let rows = rows(&varied.cases()?);
        let best = |by_forecast: bool| {
            let of_kind = rows.iter().filter(|row| row.advisor.is_some() == by_forecast);
            of_kind.min_by(|one, other| one.regret.total_cmp(&other.regret)).cloned()
        };
        if let (Some(plain), Some(forecast)) = (best(false), best(true)) {
            levels.push(Level { factor, level, plain, forecast });
        }
    }
    Ok(levels)
}

/// Returns for each factor, in their order, the ratio by which its levels change [`Level::ratio`]: its weight in
/// deciding which policy wins.
#[must_use]
pub fn weights(levels: &[Level]) -> Vec<(&'static str, f64)> {
    levels
        .chunk_by(|one, other| one.factor == other.factor)
        .map(|of_factor| {
            let ratios = || of_factor.iter().map(Level::ratio);
            (of_factor[0].factor, ratios().fold(0.0, f64::max) / ratios().fold(f64::INFINITY, f64::min))
        })
        .collect()
}

fn variants(setting: &Setting) -> Vec<(&'static str, String, Setting)> {
    let starts = STARTS.map(|costs| {
        let start = setting.job.work.cost.mul_f64(costs);
        ("start of a chunk", format!("{costs} units"), with_start(setting, start))
    });
    let speeds = SPEED_RATIOS.map(|ratio| ("fastest over slowest", format!("{ratio}"), with_speeds(setting, ratio)));
    let errors = ERRORS.map(|error| {
        let advisors = vec![Advisor::Off(error)];
        ("error of forecasts", format!("{error}"), Setting { advisors, ..setting.clone() })
    });
    let lengths = LENGTHS.map(|length| {
        let varied = with_length(setting, length);
        ("length of the job", format!("{} units", varied.job.work.units), varied)
    });
    starts.into_iter().chain(speeds).chain(errors).chain(lengths).collect()
}

fn with_start(setting: &Setting, start: Duration) -> Setting {
    let mut varied = setting.clone();
    for group in &mut varied.job.workers {
        group.start = start;
    }
    varied
}

/// Speeds at equal steps of their logarithm, in the order of the workers' own, about the same geometric mean.
fn with_speeds(setting: &Setting, ratio: f64) -> Setting {
    let each: Vec<(String, WorkerGroup)> =
        setting.job.each_worker().map(|(name, group)| (name, group.clone())).collect();
    let n = each.len() as f64;
    let mean = each.iter().map(|(_, group)| group.speed.ln()).sum::<f64>() / n;
    let mut order: Vec<usize> = (0..each.len()).collect();
    order.sort_by(|one, other| each[*one].1.speed.total_cmp(&each[*other].1.speed));
    let mut workers: Vec<WorkerGroup> =
        each.into_iter().map(|(name, group)| WorkerGroup { name, count: 1, ..group }).collect();
    for (rank, worker) in order.into_iter().enumerate() {
        let place = if n > 1.0 { rank as f64 / (n - 1.0) - 0.5 } else { 0.0 };
        workers[worker].speed = (mean + place * ratio.ln()).exp();
    }
    let mut varied = setting.clone();
    varied.job.workers = workers;
    varied
}

/// Weights of units are repeated as often as they are needed.
fn with_length(setting: &Setting, length: f64) -> Setting {
    let mut varied = setting.clone();
    let work = &mut varied.job.work;
    work.units = ((work.units as f64 * length).round() as usize).max(1);
    work.weights = setting.job.work.weights.iter().copied().cycle().take(work.units).collect();
    varied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    fn setting() -> Setting {
        let job = "format = 1\n[work]\nunits = 32\ncost = \"2s\"\n[[worker]]\nname = \"a\"\ncount = 2\nspeed = 2.0\n[[worker]]\nname = \"b\"\n";
        Setting {
            job: Job::read(job).unwrap(),
            traces: Vec::new(),
            policies: Spec::ALL.to_vec(),
            advisors: vec![Advisor::Perfect],
            n_draws: 1,
            seed: 1,
        }
    }

    #[test]
    fn a_level_changes_one_thing() {
        let speeds = |setting: &Setting| setting.job.each_worker().map(|(_, group)| group.speed).collect::<Vec<_>>();
        let varied = with_speeds(&setting(), 4.0);
        let found = speeds(&varied);
        assert!((found[1] / found[2] - 4.0).abs() < 1e-12 && (found[1] / found[0] - 2.0).abs() < 1e-12, "{found:?}");
        let product = |speeds: &[f64]| speeds.iter().product::<f64>();
        assert!((product(&found) - product(&speeds(&setting()))).abs() < 1e-12);
        let names: Vec<String> = varied.job.each_worker().map(|(name, _)| name).collect();
        assert_eq!(names, ["a-1", "a-2", "b"]);
        assert_eq!(with_length(&setting(), 0.25).job.work.units, 8);
        assert_eq!(with_start(&setting(), Duration::from_secs(5)).job.workers[1].start, Duration::from_secs(5));
    }

    #[test]
    fn a_factor_weighs_what_it_changes() {
        let row = |regret: f64| Row {
            policy: String::new(),
            advisor: None,
            makespan: 1.0,
            regret,
            regret_90: regret,
            beside_equal: None,
            idle: 0.0,
            n_chunks: 1.0,
            moved: 0.0,
            coverage_80: 0.8,
            coverage_95: 0.95,
            units_80: None,
            units_95: None,
            width_80: 0.1,
            width_95: 0.2,
        };
        let level = |factor, forecast, plain| Level {
            factor,
            level: String::new(),
            plain: row(plain),
            forecast: row(forecast),
        };
        let levels = [level("start", 1.0, 1.0), level("start", 1.0, 2.0), level("speed", 1.0, 1.25)];
        assert_eq!(weights(&levels), [("start", 2.0), ("speed", 1.0)]);
    }
}
