//! A job as a file describes it (`docs/formats/job.md`): its work, and the workers that it may use.

use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::work::{Work, WorkError};

/// Contents of a job file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Version of the format: 1.
    pub format: u32,
    /// The work to be done.
    pub work: Units,
    /// The command that does a unit, in real runs.
    #[serde(default)]
    pub command: Option<Command>,
    /// The workers that may do the work.
    #[serde(rename = "worker", default)]
    pub workers: Vec<WorkerGroup>,
}

/// Command that workers run for each unit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Name of the command, as workers have allowed it.
    pub name: String,
    /// Its arguments; `{unit}` stands for the unit's number, from 0.
    #[serde(default)]
    pub args: Vec<String>,
}

/// Units of work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Units {
    /// Number of units.
    pub units: usize,
    /// Mean cost of a unit: processor time on a worker of speed 1.
    #[serde(deserialize_with = "span")]
    pub cost: Duration,
    /// Known spread of the units: the standard deviation of their costs' logarithms.
    #[serde(default)]
    pub cost_spread: f64,
    /// Costs of the units relative to each other, one for each; `cost` is their mean. Empty if units are alike.
    #[serde(default)]
    pub weights: Vec<f64>,
    /// Error of the known costs: the standard deviation of the logarithm of real over known cost.
    #[serde(default)]
    pub cost_error: f64,
}

/// Workers that are alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkerGroup {
    /// Name that people use; a number is added if there are several.
    pub name: String,
    /// Number of workers.
    #[serde(default = "one")]
    pub count: usize,
    /// Seconds of work's processor time that each does in a second without other load.
    #[serde(default = "unit")]
    pub speed: f64,
    /// Time that each chunk of units takes in addition.
    #[serde(default, deserialize_with = "span")]
    pub start: Duration,
    /// Time that each unit takes in addition: its input on the way.
    #[serde(default, deserialize_with = "span")]
    pub per_unit: Duration,
    /// The trace of their availability; without, one is drawn.
    #[serde(default)]
    pub trace: Option<String>,
    /// Address at which it listens, in real runs: `source:tcp:HOST:PORT`.
    #[serde(default)]
    pub endpoint: Option<String>,
}

/// Reasons why a file describes no job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A text that is not TOML, or has keys and values that are not a job's.
    #[error("it is no job file: {0}")]
    Syntax(String),
    /// Another version.
    #[error("`format = {0}`, and this program reads 1")]
    Format(u32),
    /// Nobody to do it.
    #[error("there is no [[worker]]: a job needs at least one")]
    NoWorker,
    /// A number that cannot be.
    #[error("`{key} = {value}` is not {wanted}")]
    Number {
        /// The key of the number.
        key: String,
        /// The number.
        value: f64,
        /// Description of a valid number.
        wanted: &'static str,
    },
    /// Weights that are not one for each unit.
    #[error("there are {have} weights for {need} units: work.weights has one for each")]
    Weights {
        /// The number of weights.
        have: usize,
        /// The number of units.
        need: usize,
    },
    /// Units that are no work.
    #[error(transparent)]
    Work(#[from] WorkError),
}

fn one() -> usize {
    1
}

fn unit() -> f64 {
    1.0
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    units::span::parse(&text).map_err(D::Error::custom)
}

impl Job {
    /// Reads a job file.
    ///
    /// # Errors
    /// [`JobError`], with what is wrong and where.
    pub fn read(text: &str) -> Result<Self, JobError> {
        let job: Self =
            toml::from_str(text).map_err(|error| JobError::Syntax(error.to_string().trim_end().to_owned()))?;
        job.check()?;
        Ok(job)
    }

    fn check(&self) -> Result<(), JobError> {
        if self.format != 1 {
            return Err(JobError::Format(self.format));
        }
        let spread = "at least 0 and at most 3";
        for (key, value) in [("work.cost-spread", self.work.cost_spread), ("work.cost-error", self.work.cost_error)] {
            if !(0.0..=3.0).contains(&value) {
                return Err(JobError::Number { key: key.to_owned(), value, wanted: spread });
            }
        }
        let weights = &self.work.weights;
        if !weights.is_empty() && weights.len() != self.work.units {
            return Err(JobError::Weights { have: weights.len(), need: self.work.units });
        }
        if let Some(unit) = weights.iter().position(|weight| !(*weight > 0.0 && weight.is_finite())) {
            let key = format!("work.weights, unit {unit}");
            return Err(JobError::Number { key, value: weights[unit], wanted: "above 0 and finite" });
        }
        if self.workers.iter().all(|group| group.count == 0) {
            return Err(JobError::NoWorker);
        }
        for group in &self.workers {
            if !(group.speed > 0.0 && group.speed.is_finite()) {
                let key = format!("worker {}: speed", group.name);
                return Err(JobError::Number { key, value: group.speed, wanted: "above 0 and finite" });
            }
        }
        Ok(())
    }

    /// Returns the known costs of the units. The same for the same seed.
    ///
    /// # Errors
    /// [`JobError::Work`]: no units, or units that cost nothing.
    pub fn work(&self, seed: u64) -> Result<Work, JobError> {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let factor = factor(self.work.cost_spread);
        Ok(Work::new(self.costs().map(|cost| cost * factor.sample(&mut chance)))?.with_error(self.work.cost_error))
    }

    /// Returns the stated costs of the units, for real runs: nothing is drawn.
    ///
    /// # Errors
    /// As of [`Job::work`].
    pub fn stated_work(&self) -> Result<Work, JobError> {
        Ok(Work::new(self.costs())?.with_error(self.work.cost_error))
    }

    /// Returns the stated costs of the units, in seconds.
    fn costs(&self) -> impl Iterator<Item = f64> {
        let Units { units, cost, weights, .. } = &self.work;
        let cost = cost.as_secs_f64();
        let mean = weights.iter().sum::<f64>() / *units as f64;
        (0..*units).map(move |unit| weights.get(unit).map_or(cost, |weight| cost * weight / mean))
    }

    /// All workers: their names, and the group that each belongs to.
    pub fn each_worker(&self) -> impl Iterator<Item = (String, &WorkerGroup)> {
        self.workers.iter().flat_map(|group| {
            let name = move |nth: usize| {
                if group.count == 1 { group.name.clone() } else { format!("{}-{}", group.name, nth + 1) }
            };
            (0..group.count).map(move |nth| (name(nth), group))
        })
    }
}

/// Factors whose mean is 1 and whose logarithms have that standard deviation.
pub(crate) fn factor(spread: f64) -> LogNormal<f64> {
    LogNormal::new(-0.5 * spread * spread, spread).expect("a checked spread is a standard deviation")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        format = 1
        [work]
        units = 100
        cost = "2s"
        cost-spread = 0.5
        [[worker]]
        name = "fast"
        count = 2
        speed = 2.0
        start = "500ms"
        [[worker]]
        name = "slow"
    "#;

    #[test]
    fn a_job_is_read_with_its_workers() {
        let job = Job::read(FILE).unwrap();
        let names: Vec<String> = job.each_worker().map(|(name, _)| name).collect();
        assert_eq!(names, ["fast-1", "fast-2", "slow"]);
        assert_eq!(job.work(1).unwrap(), job.work(1).unwrap());
        let mean = job.work(1).unwrap().total() / 100.0;
        assert!((1.5..2.6).contains(&mean), "{mean}");
    }

    #[test]
    fn weights_share_the_cost_out() {
        let weighted = FILE.replace("100", "3").replace("cost-spread = 0.5", "weights = [1, 1.0, 4]");
        let work = Job::read(&weighted).unwrap().stated_work().unwrap();
        assert_eq!([0, 1, 2].map(|unit| work.cost(&(unit..unit + 1))), [1.0, 1.0, 4.0]);
        assert_eq!(Job::read(FILE).unwrap().stated_work().unwrap().total(), 200.0);
        for (weights, wanted) in
            [("[1, 2]", "2 weights for 3 units"), ("[1, 0, 1]", "`work.weights, unit 1 = 0` is not above 0")]
        {
            let told = Job::read(&weighted.replace("[1, 1.0, 4]", weights)).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn what_is_no_job_is_told() {
        for (from, to, wanted) in [
            ("format = 1", "format = 2", "reads 1"),
            ("\"2s\"", "2", "invalid type"),
            ("\"2s\"", "\"2 parsecs\"", "parsecs"),
            ("speed = 2.0", "speed = 0.0", "`worker fast: speed = 0` is not above 0"),
            ("0.5", "-1.0", "work.cost-spread = -1"),
            ("units", "unit", "unknown field"),
        ] {
            let told = Job::read(&FILE.replace(from, to)).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
        assert!(Job::read(&FILE.replace("100", "0")).unwrap().work(1).is_err());
    }
}
