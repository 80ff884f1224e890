//! Conditional allreduces under MPI: a communicator's ranks in clusters, which answer as soon as they can.
//!
//! `docs/decisions/conditional-allreduce.md` says why answers are those of a plain allreduce.

mod cluster;
mod export;
mod message;
mod program;

use std::sync::{Arc, Mutex};

use clock::monotonic_ns;
use mpi_abi::{Failed, Handle, Mpi, Op};
use mpi_trace::Operation;
use mpi_tree::{Answer, Counts, Fault, Question, Reduction, Settings};
use units::Rank;

use crate::agreement::{Agreement, hash};
use crate::communicator::n_processors;
use crate::crossing::Crossing;
use crate::entry::complain;
use crate::job::{lock, neighbours};
use crate::network::Network;
use crate::pause::{Patience, Pause};
use crate::port::Trouble;
use crate::report;
use crate::site::Party;
use crate::tracer::Tracer;
use cluster::Clusters;

pub(crate) use program::{begin, end, forget, take};

/// One rank's side of a question on a communicator.
pub(crate) struct Condar {
    mpi: &'static Mpi,
    /// The program's.
    comm: Handle,
    tracer: Option<Tracer>,
    /// Port on a twin of the program's communicator, for plain allreduces.
    network: Network,
    rank: Rank,
    is_crowded: bool,
    question: Question,
    op: Handle,
    settings: Settings,
    /// None if all ranks are in one: each call is a plain allreduce then.
    clusters: Option<Clusters>,
    /// Fault that ended all answers.
    fault: Option<Fault>,
    n_calls: u64,
    n_checked: u64,
    n_differing: u64,
}

/// The reason why a question cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// A reason that is the same on all ranks.
    #[error("{0}")]
    Together(String),
    #[error("cannot reach the other ranks")]
    Mpi(#[from] Failed),
}

impl Condar {
    /// All ranks of the communicator come here, each with its question or why it has none.
    pub(crate) fn new(
        mpi: &'static Mpi,
        comm: Handle,
        question: Result<Question, String>,
        settings: Settings,
    ) -> Result<Self, Refused> {
        let agreement = Agreement { mpi, comm };
        let rank = mpi.comm_rank(comm)? as Rank;
        let members = agreement.members(true)?;
        let party = Party { mpi, comm, rank, members: &members };
        let asked = question.and_then(|question| Ok((question, cluster::plan(&party, settings.clusters.as_deref())?)));
        let text = asked.as_ref().map(|(question, plan)| format!("{question:?} {plan:?} {settings:?}"));
        let agreed = agreement.same(text.map(|text| hash(&text)).map_err(Clone::clone), "questions")?;
        let (question, plan) = agreed.and(asked).map_err(Refused::Together)?;
        let op = match question.reduction() {
            Reduction::Sum => Op::Sum,
            // Of 0 and 1 they are the same, and MPI has them for doubles.
            Reduction::Max | Reduction::Or => Op::Max,
            Reduction::Min | Reduction::And => Op::Min,
        };
        let op = mpi.op_handle(op).expect("libraries have the arithmetic operations");
        let neighbours: Arc<[_]> = neighbours(&members, rank).collect();
        let is_crowded = neighbours.len() + 1 > n_processors();
        let network = Network::new(mpi, mpi.comm_dup(comm)?, Crossing::default(), neighbours, Box::new(|| 0));
        let clusters = plan.map(|plan| Clusters::new(&party, plan, question, &settings)).transpose()?.flatten();
        Ok(Self {
            mpi,
            comm,
            tracer: Tracer::find(),
            network,
            rank,
            is_crowded,
            question,
            op,
            settings,
            clusters,
            fault: None,
            n_calls: 0,
            n_checked: 0,
            n_differing: 0,
        })
    }

    /// The next call. All ranks of a cluster come to the same.
    pub(crate) fn call(&mut self, value: f64) -> Result<Result<Answer, Fault>, Trouble> {
        let began = self.tracer.map(|tracer| tracer.begin(Operation::ALLREDUCE));
        let answered = self.answer(value);
        if let Some((tracer, began)) = self.tracer.zip(began) {
            tracer.end(Operation::ALLREDUCE, self.comm, -1, size_of::<f64>() as u64, began);
        }
        answered
    }

    fn answer(&mut self, value: f64) -> Result<Result<Answer, Fault>, Trouble> {
        if let Some(fault) = self.fault {
            return Ok(Err(fault));
        }
        self.n_calls += 1;
        let Some(clusters) = &mut self.clusters else {
            let value = self.plain(value, None)?;
            return Ok(Ok(Answer { verdict: self.question.holds(value), value, is_exact: true }));
        };
        let answer = match clusters.ask(&self.question, value, self.settings.patience)? {
            Ok(answer) => answer,
            Err(fault) => {
                self.fault = Some(fault);
                return Ok(Err(fault));
            }
        };
        if self.settings.check > 0 && self.n_calls.is_multiple_of(self.settings.check) {
            let patience_ns = self.settings.patience.as_nanos() as u64;
            let plain = self.plain(value, Some(patience_ns))?;
            self.n_checked += 1;
            if self.question.holds(plain) != answer.verdict {
                self.n_differing += 1;
                if self.rank == 0 {
                    let (call, verdict) = (self.n_calls, answer.verdict);
                    complain(&format_args!(
                        "conditional allreduce {call} was answered with {verdict}, and a plain one gives {plain}, after which it is not"
                    ));
                }
            }
        }
        Ok(Ok(answer))
    }

    /// The library's allreduce. With a limit, whoever waits longer gives up.
    fn plain(&mut self, value: f64, patience_ns: Option<u64>) -> Result<f64, Trouble> {
        let values = Box::leak(Box::new([value, 0.0]));
        let [value, result] = values.each_mut().map(std::ptr::from_mut);
        // SAFETY: both places are leaked, and given back only when the request is done.
        let mut request = unsafe { self.mpi.iallreduce(value, result, self.op, self.network.comm())? };
        let mut pause = Pause::new(Patience { is_crowded: self.is_crowded, wake: mpi_tree::Wake::Both });
        let began_ns = monotonic_ns();
        while self.mpi.test(&mut request)?.is_none() {
            if patience_ns.is_some_and(|patience_ns| monotonic_ns() - began_ns > patience_ns) {
                return Err(Trouble::Missing);
            }
            pause.step(None, 0, &mut self.network)?;
        }
        // SAFETY: it was leaked above, and MPI is done with it.
        let values = unsafe { Box::from_raw(values) };
        Ok(values[1])
    }

    /// Ends it, and writes down how calls were answered. All ranks of the communicator come here.
    pub(crate) fn free(mut self) -> Result<(), Trouble> {
        let Some(clusters) = self.clusters.take() else { return Ok(self.mpi.comm_free(self.network.comm())?) };
        if let Some((counts, own, names)) = clusters.report() {
            // Each question that was asked has a line.
            static LINES: Mutex<String> = Mutex::new(String::new());
            let mut lines = lock(&LINES);
            *lines += &self.line(counts, own, &names);
            report::write("conditional", self.rank, &lines);
        }
        // Whoever has got a fault may be gone.
        if self.fault.is_none() {
            clusters.free(self.mpi, self.network.comm())?;
            self.mpi.comm_free(self.network.comm())?;
        }
        Ok(())
    }
    /// Returns the counts of calls by the way in which they were answered, as a line of JSON.
    fn line(&self, counts: &Counts, own: usize, names: &[String]) -> String {
        let remotes = names.iter().zip(&counts.remotes).enumerate().filter(|(at, _)| *at != own);
        let remotes: Vec<serde_json::Value> = remotes
            .map(|(_, (name, remote))| {
                serde_json::json!({ "cluster": name, "prefetched": remote.n_prefetched, "waited": remote.n_waited,
                    "waited_ns": remote.waited_ns })
            })
            .collect();
        let line = serde_json::json!({ "cluster": names[own], "calls": counts.n_calls, "local": counts.n_local,
            "inferred": counts.n_inferred, "held_back": counts.n_held_back, "checked": self.n_checked,
            "differing": self.n_differing, "remotes": remotes });
        format!("{line}\n")
    }
}
