//! A watch: some subsystems of a node, read again and again, within a budget.

use crate::control::PointState;
use crate::{Account, Arm, Budget, Error, Load, Measure, Price, Subsystem, SubsystemCost, Summary};

/// How a watch goes about its work.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What all probes may take of a core.
    pub budget_cores: Option<f64>,
}

/// Subsystems that are read together.
pub struct Watch {
    watched: Vec<Watched>,
    budget: Option<Budget>,
}

struct Watched {
    key: Key,
    arm: Box<dyn Arm>,
    account: Account,
    price: Price,
    measure: Measure,
}

/// What a pull gives of a subsystem.
#[derive(Debug)]
pub struct Pulled {
    /// Of which node.
    pub key: Key,
    /// What happened.
    pub summary: Summary,
    /// Where that is from.
    pub source: &'static str,
    /// What the probes took, by their prices.
    pub cost: SubsystemCost,
    /// How events were looked at in the interval.
    pub measure: Measure,
}

/// What is watched: a subsystem of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The node's number.
    pub node: u32,
    /// The subsystem's name.
    pub name: &'static str,
}

impl Watch {
    /// Watches nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { watched: Vec::new(), budget: None }
    }

    /// Adds a subsystem of a node, whose account begins with its first reading.
    ///
    /// # Errors
    /// Where the arm cannot be read.
    pub fn add(
        &mut self,
        key: Key,
        subsystem: &'static Subsystem,
        mut arm: Box<dyn Arm>,
        price: Price,
    ) -> Result<(), Error> {
        let account = Account::begin(subsystem, arm.read()?);
        self.watched.push(Watched { key, arm, account, price, measure: Measure::Weight(1) });
        Ok(())
    }

    /// Takes it off, if it is watched.
    pub fn remove(&mut self, key: Key) {
        self.watched.retain(|watched| watched.key != key);
    }

    /// Whether it is watched.
    #[must_use]
    pub fn has(&self, key: Key) -> bool {
        self.watched(key).is_some()
    }

    /// What becomes of the events of its points.
    ///
    /// # Errors
    /// Where the arm does not take it.
    pub fn set_states(&mut self, key: Key, states: &[PointState]) -> Result<(), Error> {
        match self.watched.iter_mut().find(|watched| watched.key == key) {
            Some(watched) => watched.arm.set_states(states),
            None => Ok(()),
        }
    }

    /// Where its counters come from.
    #[must_use]
    pub fn source(&self, key: Key) -> Option<&'static str> {
        Some(self.watched(key)?.arm.name())
    }

    /// What its probes cost.
    #[must_use]
    pub fn price(&self, key: Key) -> Option<&Price> {
        Some(&self.watched(key)?.price)
    }

    /// What is missing of it, in words.
    #[must_use]
    pub fn missing(&self, key: Key) -> Vec<String> {
        self.watched(key).map(|watched| watched.arm.missing()).unwrap_or_default()
    }

    fn watched(&self, key: Key) -> Option<&Watched> {
        self.watched.iter().find(|watched| watched.key == key)
    }

    /// From now on, all that is watched takes so much of a core at most.
    pub fn keep(&mut self, options: &Options) {
        self.budget = options.budget_cores.map(|cores| Budget::new(cores, self.watched.len()));
    }

    /// Reads all subsystems, and sees to the budget.
    ///
    /// # Errors
    /// Where an arm cannot be read, or does not take a new weight.
    pub fn pull(&mut self) -> Result<Vec<Pulled>, Error> {
        let mut pulled = Vec::with_capacity(self.watched.len());
        for watched in &mut self.watched {
            let summary = watched.account.advance(watched.arm.read()?)?;
            let cost = watched.price.of(&summary);
            pulled.push(Pulled {
                key: watched.key,
                summary,
                source: watched.arm.name(),
                cost,
                measure: watched.measure,
            });
        }
        self.keep_within(&pulled)?;
        Ok(pulled)
    }

    fn keep_within(&mut self, pulled: &[Pulled]) -> Result<(), Error> {
        let Some(budget) = &mut self.budget else { return Ok(()) };
        let loads: Vec<Load> =
            pulled.iter().map(|pulled| Load { cost: pulled.cost, measure: pulled.measure }).collect();
        for (watched, measure) in self.watched.iter_mut().zip(budget.plan(&loads)) {
            watched.take(measure)?;
        }
        Ok(())
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watched {
    fn take(&mut self, measure: Measure) -> Result<(), Error> {
        if measure == self.measure {
            return Ok(());
        }
        match measure {
            Measure::Shed => self.arm.set_shed(true)?,
            Measure::Weight(weight) => {
                self.arm.set_weight(weight)?;
                if self.measure == Measure::Shed {
                    self.arm.set_shed(false)?;
                }
            }
        }
        self.measure = measure;
        Ok(())
    }
}
