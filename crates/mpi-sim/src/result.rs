//! Results of a simulation, as a result file: `docs/formats/sim-results.md`.
//!
//! The file is one of [`mpi_run`]'s: a header with assumptions, then a record for each thing. All that is random or
//! measured on this host is in the header; the records of two runs that must agree are equal to the byte.

mod picture;
mod record;
mod table;

use std::collections::BTreeMap;

use ::picture::Picture;
use des::Protocol;
use mpi_run::{Header, MalformedRecord, Measurement, Outcome, OutcomeError, Writer};
use units::Rank;

use crate::machine::Description;
use crate::replay::Played;
use crate::world::{Settings, World};

pub use record::{AlgorithmUsed, CallUse, Draw, Ending, MachineUsed, Point, RankTimes, Run, Waiting, kind};
pub use table::compared;

/// The simulator as a measurement: its results are shown and drawn like those of the others.
#[derive(Clone, Copy, Debug)]
pub struct Simulation;

/// Description of how a result came about.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The machine.
    pub machine: &'a Description,
    /// Settings of the run.
    pub settings: Settings,
    /// Origin of the compute times: `recorded in foretop-trace`.
    pub compute: String,
    /// Algorithms of collectives.
    pub algorithms: String,
    /// Further assumptions.
    pub assumptions: &'a [&'a str],
}

/// Effects that no simulation here models.
const NOT_MODELLED: &[&str] = &[
    "not modelled: memory, caches and cores that ranks share; system noise; loss and retransmission; routes that change with load",
    "not modelled: data above the eager limit move while both ranks compute, where a library without progress of its own waits for their next calls",
    "not modelled: the receiver's buffers have room for all eager messages, and copies out of them cost the receive overhead alone",
];

impl Setup<'_> {
    /// The head of a result.
    #[must_use]
    pub fn header(&self, arguments: Vec<String>, seed: u64) -> Header {
        let machine = if self.machine.name.is_empty() { "without a name" } else { &self.machine.name };
        let factors = self.machine.factors;
        let exact = match self.settings.protocol {
            Protocol::Quantum(_) => ", exact only where no message is faster than the quantum",
            _ => ", exact",
        };
        let tags = if self.settings.has_unique_tags {
            "no two ranks send the same one to one rank, as was declared"
        } else {
            "any"
        };
        let said = [
            format!(
                "machine: {machine}, {} cores; all of it is in the record `{}`",
                self.machine.n_slots(),
                kind::MACHINE
            ),
            format!("protocol: {}, workers {}{exact}", self.settings.protocol, self.settings.n_workers),
            format!("compute times: {}", self.compute),
            format!("tags: {tags}"),
            format!("collectives: {}", self.algorithms),
            format!(
                "factors: latency {}, bandwidth {}, compute {}",
                factors.latency, factors.bandwidth, factors.compute
            ),
        ];
        let others = self.assumptions.iter().chain(NOT_MODELLED).map(|&assumption| assumption.to_owned());
        let remarks = self.machine.remarks();
        let mut header = Header::of(&Simulation, "simulated".to_owned(), arguments, seed, Vec::new());
        header.assumptions = said.into_iter().chain(remarks).chain(others).collect();
        header
    }
}

/// Results of a simulation, at its end or before.
#[derive(Clone, Debug)]
pub struct Found {
    /// The run as a whole.
    pub run: Run,
    /// Times of the ranks, by rank.
    pub ranks: Vec<RankTimes>,
    /// Calls, by name.
    pub calls: BTreeMap<String, CallUse>,
    /// Algorithms of collective operations, as far as they are known.
    pub algorithms: Vec<AlgorithmUsed>,
    /// The ending, if the simulation ended before its time.
    pub ending: Option<Ending>,
}

impl Found {
    /// Builds the results from a world and the calls of its ranks.
    #[must_use]
    pub fn of(world: &World, calls: BTreeMap<String, CallUse>) -> Self {
        let ranks: Vec<RankTimes> = (0..world.machine().n_ranks()).map(|rank| RankTimes::of(world, rank)).collect();
        let ending = world.stopped().map(|stopped| Ending::of(stopped, world.waits()));
        Self { run: Run::of(&ranks, world.counts()), ranks, calls, algorithms: Vec::new(), ending }
    }

    /// Returns the results with the algorithms that ran, each behind the call that it ran in.
    #[must_use]
    pub fn with_algorithms<'a>(self, ran: impl IntoIterator<Item = &'a (&'static str, &'static str)>) -> Self {
        let used = ran
            .into_iter()
            .map(|(call, name)| AlgorithmUsed { call: (*call).to_owned(), algorithm: (*name).to_owned() });
        Self { algorithms: used.collect(), ..self }
    }

    /// Writes it, with the machine.
    ///
    /// # Errors
    /// [`OutcomeError`] when the file takes no more.
    pub fn write(&self, writer: &mut Writer, machine: &Description) -> Result<(), OutcomeError> {
        writer.record(kind::MACHINE, &MachineUsed { toml: machine.to_toml() })?;
        writer.record(kind::RUN, &self.run)?;
        self.ranks.iter().try_for_each(|rank| writer.record(kind::RANK, rank))?;
        self.calls.values().try_for_each(|call| writer.record(kind::CALL, call))?;
        self.algorithms.iter().try_for_each(|used| writer.record(kind::ALGORITHM, used))?;
        self.ending.iter().try_for_each(|ending| writer.record(kind::ENDING, ending))
    }
}

/// Calls by their name.
#[must_use]
pub fn calls_by_name<'a>(calls: impl IntoIterator<Item = &'a Played>) -> BTreeMap<String, CallUse> {
    let mut by_name: BTreeMap<String, CallUse> = BTreeMap::new();
    for call in calls.into_iter().filter(|call| !call.event.is_part()) {
        let name = call.event.operation.name();
        let entry = by_name.entry(name.to_owned()).or_insert_with(|| CallUse::none(name));
        entry.n_calls += 1;
        entry.span_ns += call.end.saturating_since(call.start).as_nanos();
        entry.n_bytes = entry.n_bytes.saturating_add(call.event.bytes);
    }
    by_name
}

impl Measurement for Simulation {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        NOT_MODELLED
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        table::table(outcome)
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        picture::pictures(outcome)
    }
}

/// Returns the rank that was waited for longest; none if nobody waited.
fn waited_most(waiting_for: &[(Rank, u64)]) -> Option<(Rank, u64)> {
    waiting_for.iter().copied().max_by_key(|(rank, span_ns)| (*span_ns, std::cmp::Reverse(*rank)))
}
