//! Clusters of ranks, and the way in which a cluster's server comes to an answer.
//!
//! A call is a reduce inside the cluster, whatever the server needs of other clusters, and a broadcast inside. Servers
//! tell each other their cluster's part in every call, and take in every call what has come, so that nobody needs a
//! thread for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clock::monotonic_ns;
use mpi_abi::{Failed, Handle, Mpi};
use mpi_trace::Operation;
use mpi_tree::{
    Answer, Collective, Conditional, Counts, Fault, Grain, Host, Layout, Order, Question, Reduction, Settings, Shape,
    Tree, Wake,
};
use units::Rank;

use super::message;
use crate::combine::Combine;
use crate::communicator::Communicator;
use crate::entry::job;
use crate::port::Trouble;
use crate::record::Recorder;
use crate::site::{Between, Party, Sites};

/// Bytes that go through a tree inside a cluster: a value, and whether it is one that was promised not to come.
const PART_BYTES: usize = 16;
/// The program's value.
const VALUE_BYTES: usize = size_of::<f64>();

pub(super) struct Clusters {
    sites: Sites,
    /// The machine of this cluster; its server's is the one in use.
    machine: Conditional,
    recorded: Option<Recorded>,
}

/// Place where calls are recorded: among those that go over the tree whose sites the clusters are.
struct Recorded {
    communicator: Arc<Communicator>,
    tree: usize,
    /// Number in the tree of each collector of this site, by its number in the site.
    collectors: Arc<[u16]>,
}

/// Clusters that are to be.
#[derive(Debug)]
pub(super) struct Planned {
    sites: mpi_tree::Sites,
    /// The tree of the job's first file that they are the sites of.
    tree: Option<usize>,
}

/// The clusters that a text lists, as in `0-3 4-7`; else those of the tree file. None if there is one only.
pub(super) fn plan(party: &Party<'_>, clusters: Option<&str>) -> Result<Option<Planned>, String> {
    let made = |hosts: &[Host]| Some(Planned { sites: made(hosts)?, tree: None });
    if let Some(text) = clusters {
        let hosts = listed(party, text)?;
        return Ok(made(&hosts));
    }
    let Some(job) = job().filter(|job| job.communicator(party.comm).is_some()) else { return Ok(None) };
    let forest = &job.first_forest;
    let tree = forest.rule(Collective::Allreduce, VALUE_BYTES as u64);
    let sites = tree.and_then(|tree| forest.trees[tree].sites(&forest.hosts));
    Ok(sites.map(|sites| Planned { sites, tree }).or_else(|| made(&forest.hosts)))
}

/// A tree of our own, where nobody has made one.
fn made(hosts: &[Host]) -> Option<mpi_tree::Sites> {
    let layout = Layout {
        shape: Shape::Binomial,
        grain: Grain::Host,
        inside: None,
        between: mpi_tree::Between::AllToAll,
        order: Order::Fixed,
        wake: Wake::Both,
    };
    Tree::make("conditional", hosts, &layout).sites(hosts)
}

fn listed(party: &Party<'_>, text: &str) -> Result<Vec<Host>, String> {
    let n_ranks = party.members.len();
    let (mut hosts, mut n_times) = (Vec::new(), vec![0; n_ranks]);
    for (number, cluster) in text.split_whitespace().enumerate() {
        let ranks = mpi_tree::ranks(cluster).map_err(|error| format!("clusters: {error}"))?;
        let mut by_host: BTreeMap<&str, Vec<Rank>> = BTreeMap::new();
        for rank in ranks {
            let unknown = || format!("clusters: there is no rank {rank}; ranks are 0 to {}", n_ranks - 1);
            let member = party.members.get(rank as usize).ok_or_else(unknown)?;
            n_times[rank as usize] += 1;
            by_host.entry(&member.host).or_default().push(rank);
        }
        hosts.extend(by_host.into_iter().map(|(host, mut ranks)| {
            ranks.sort_unstable();
            Host { name: format!("{host}.{number}"), cluster: Some(number.to_string()), ranks }
        }));
    }
    match n_times.iter().position(|n_times| *n_times != 1) {
        Some(rank) => Err(format!("clusters: rank {rank} is in {} of them; each rank must be in one", n_times[rank])),
        None => Ok(hosts),
    }
}

impl Clusters {
    /// All ranks come here. None if there is no room for what they share.
    pub(super) fn new(
        party: &Party<'_>,
        plan: Planned,
        question: Question,
        settings: &Settings,
    ) -> Result<Option<Self>, Failed> {
        let recorded = Recorded::new(party, &plan)?;
        let sites = Sites::new(party, plan.sites, message::ANSWER_BYTES.max(PART_BYTES))?;
        Ok(sites.map(|sites| Self {
            machine: Conditional::new(question, sites.own(), sites.n_sites(), settings.lead),
            sites,
            recorded,
        }))
    }

    /// The next call.
    pub(super) fn ask(
        &mut self,
        question: &Question,
        value: f64,
        patience: Duration,
    ) -> Result<Result<Answer, Fault>, Trouble> {
        let Some(recorded) = self.recorded.as_ref().filter(|recorded| recorded.swap(&mut self.sites.recorder)) else {
            return self.answer(question, value, patience);
        };
        let collectors = Arc::clone(&recorded.collectors);
        self.sites.recorder.begin_halves(Operation::ALLREDUCE, VALUE_BYTES, collectors);
        let answered = self.answer(question, value, patience);
        self.sites.recorder.end_halves();
        self.recorded.as_ref().map(|recorded| recorded.swap(&mut self.sites.recorder));
        answered
    }

    fn answer(
        &mut self,
        question: &Question,
        value: f64,
        patience: Duration,
    ) -> Result<Result<Answer, Fault>, Trouble> {
        let part = bytes(value, u64::from(!question.admits(value)));
        let server = self.sites.server_inside();
        let whole = self.sites.reduce_inside(server, combine(question.reduction()), &part)?;
        let mut answered = [0; message::ANSWER_BYTES];
        if self.sites.is_server() {
            let (value, n_bad) = read(&whole);
            answered = message::answered(self.decide(value, n_bad > 0, patience)?);
        }
        self.sites.bcast_inside(server, &mut answered)?;
        message::read_answered(&answered).ok_or(Trouble::Foreign { rank: server, given: answered.len() })
    }

    /// The server's part.
    fn decide(&mut self, value: f64, is_bad: bool, patience: Duration) -> Result<Result<Answer, Fault>, Trouble> {
        let Self { sites, machine, .. } = self;
        let (servers, patience_ns) = (sites.servers(), patience.as_nanos() as u64);
        // What is here by now was prefetched.
        take_news(machine, &servers, &mut sites.between)?;
        if is_bad {
            machine.fail(Fault::Value { cluster: sites.own() });
        }
        let told = machine.begin(value, monotonic_ns());
        sites.tell_others(&message::published(&told))?;
        let answered = sites.until(|between| {
            take_news(machine, &servers, between)?;
            machine.lose_patience(monotonic_ns(), patience_ns);
            Ok(machine.answer().transpose())
        })?;
        if answered.is_err() {
            sites.tell_others(&message::published(&machine.parting()))?;
        }
        Ok(answered)
    }

    /// Returns the counts of this cluster's calls by the way in which they were answered, if this rank has them.
    pub(super) fn report(&self) -> Option<(&Counts, usize, Vec<String>)> {
        self.sites.is_server().then(|| (self.machine.counts(), self.sites.own(), self.sites.names()))
    }

    /// Ends it. All ranks of `comm` come here, and all have made as many calls.
    pub(super) fn free(self, mpi: &Mpi, comm: Handle) -> Result<(), Trouble> {
        let Self { mut sites, mut machine, .. } = self;
        // Nobody takes a part of the last calls that was not needed; MPI wants each message received.
        let called = mpi.allgather(&machine.sequence().to_ne_bytes(), comm)?;
        let called: Vec<u64> = called.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        let servers = sites.servers();
        let (own, is_server) = (sites.own(), sites.is_server());
        let has_all = |machine: &Conditional| {
            let others = servers.iter().enumerate().filter(|(cluster, _)| *cluster != own);
            others.into_iter().all(|(cluster, server)| machine.heard_of(cluster) >= called[*server as usize])
        };
        sites.until(|between| {
            take_news(&mut machine, &servers, between)?;
            Ok((!is_server || has_all(&machine)).then_some(()))
        })?;
        sites.free(mpi)
    }
}

impl Recorded {
    /// All ranks come here. None if sites hang below each other: there are collectors between them then, which calls do
    /// not pass.
    fn new(party: &Party<'_>, plan: &Planned) -> Result<Option<Self>, Failed> {
        let Some((job, tree)) = job().zip(plan.tree) else { return Ok(None) };
        let forest = &job.first_forest;
        let (own, _) = plan.sites.place(party.rank);
        let collectors = plan.sites.sites[own].collectors_in(&forest.trees[tree], &forest.hosts);
        let Some((communicator, collectors)) = job.communicator(party.comm).zip(collectors) else { return Ok(None) };
        communicator.make_recorder(job, tree)?;
        Ok(Some(Self { communicator, tree, collectors: collectors.into() }))
    }

    /// Exchanges the tree's recorder for this one, and gives whether it could.
    fn swap(&self, recorder: &mut Recorder) -> bool {
        job().is_some_and(|job| self.communicator.swap_recorder(job, self.tree, recorder))
    }
}

/// Receives what other clusters' servers have sent.
fn take_news(machine: &mut Conditional, servers: &[Rank], between: &mut Between) -> Result<(), Trouble> {
    while let Some((from, news)) = between.news()? {
        let cluster = servers.iter().position(|server| *server == from);
        let told = cluster.zip(message::read_published(&news));
        let (cluster, told) = told.ok_or(Trouble::Foreign { rank: from, given: news.len() })?;
        machine.receive(cluster, told, monotonic_ns());
    }
    Ok(())
}

/// Combines parts: values as the question wants, and the number of broken promises.
fn combine(reduction: Reduction) -> Combine {
    match reduction {
        Reduction::Sum => |before, part| join(Reduction::Sum, before, part),
        Reduction::Max => |before, part| join(Reduction::Max, before, part),
        Reduction::Min => |before, part| join(Reduction::Min, before, part),
        Reduction::Or => |before, part| join(Reduction::Or, before, part),
        Reduction::And => |before, part| join(Reduction::And, before, part),
    }
}

fn join(reduction: Reduction, before: &mut [u8], part: &[u8]) {
    let ((value, n_bad), (other, other_bad)) = (read(before), read(part));
    before.copy_from_slice(&bytes(reduction.combine(value, other), n_bad + other_bad));
}

fn bytes(value: f64, n_bad: u64) -> [u8; PART_BYTES] {
    let mut bytes = [0; PART_BYTES];
    let (first, second) = bytes.split_at_mut(PART_BYTES / 2);
    first.copy_from_slice(&value.to_ne_bytes());
    second.copy_from_slice(&n_bad.to_ne_bytes());
    bytes
}

fn read(part: &[u8]) -> (f64, u64) {
    let (value, n_bad) = part.split_at(PART_BYTES / 2);
    let whole = "a part is two words";
    (f64::from_ne_bytes(value.try_into().expect(whole)), u64::from_ne_bytes(n_bad.try_into().expect(whole)))
}
