//! A wide-area network between the sites of a job, all of it on one machine: messages from one site to another are
//! delayed as a file's links say (`docs/formats/wan.md`).
//!
//! The sender writes into a message when it is due, and the receiver keeps it until then. Both have the same clock:
//! what MPI takes is part of the delay, and no message is early.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clock::monotonic_ns;
use mpi_tree::Forest;
use netmodel::{AtEnd, Fate, Link};
use units::{ByteCount, Rank, Ratio};
use wan::Plan;

use crate::agreement::Member;
use crate::entry::job;
use crate::job::lock;

/// Bytes at the end of a message between sites: the time when it is due, by the clock of the machine.
const STAMP_BYTES: usize = size_of::<u64>();

/// One rank's links to the sites of a job.
pub(crate) struct Wan {
    /// Sites by rank of the job.
    sites: Vec<usize>,
    /// Time at which the links began.
    origin_ns: u64,
    /// Links by the site at the other end. The wires are this rank's alone.
    links: Mutex<Vec<Option<Link>>>,
}

impl Wan {
    /// Builds the links of a rank, from the text of a file.
    pub(crate) fn new(text: &str, folder: &Path, rank: Rank, forest: &Forest) -> Result<Self, String> {
        let mut plan = Plan::parse(text, folder).map_err(|error| text::with_causes(&error))?;
        for at in 0..plan.links.len() {
            let (from, to) = plan.ends(&plan.links[at]);
            let link = &mut plan.links[at].description;
            if link.loss.is_some_and(|loss| loss != Ratio::ZERO) || link.at_end == AtEnd::Stop {
                return Err(format!(
                    "the link from `{from}` to `{to}` loses messages, and no tree sends one again: take out `loss` and `at-end = \"stop\"`"
                ));
            }
            // Senders wait in MPI, whatever a queue would hold.
            link.queue = Some(ByteCount::new(u64::MAX));
        }
        let places = forest.places();
        let site = |place: &Option<usize>| {
            let host = &forest.hosts[place.expect("each rank of a job has a host")];
            let by_host = plan.sites.iter().position(|site| site.hosts.contains(&host.name));
            let by_cluster = || plan.sites.iter().position(|site| host.cluster.as_ref() == Some(&site.name));
            by_host.or_else(by_cluster).ok_or_else(|| {
                format!("no site has the host `{}` of the tree file, and none is called like its cluster", host.name)
            })
        };
        let sites = places.iter().map(site).collect::<Result<Vec<_>, _>>()?;
        let own = sites[rank as usize];
        let mut links: Vec<Option<Link>> = plan.sites.iter().map(|_| None).collect();
        for (at, link) in plan.links.iter().enumerate().filter(|(_, link)| link.from == own) {
            links[link.to] = Some(plan.link(at).map_err(|error| text::with_causes(&error))?);
        }
        if let Some(&other) = sites.iter().find(|&&site| site != own && links[site].is_none()) {
            let [own, other] = [own, other].map(|site| &plan.sites[site].name);
            return Err(format!("there is no link from `{own}` to `{other}`, and ranks at both"));
        }
        Ok(Self { sites, origin_ns: monotonic_ns(), links: Mutex::new(links) })
    }

    /// Returns the time when a message is due that is sent at this moment.
    fn due_ns(&self, to: usize, size: ByteCount, now: impl FnOnce() -> u64) -> u64 {
        let mut links = lock(&self.links);
        let link = links[to].as_mut().expect("there is a link to each site with ranks");
        match link.send(Duration::from_nanos(now().saturating_sub(self.origin_ns)), size) {
            Fate::Arrives { at } => self.origin_ns.saturating_add(at.as_nanos().try_into().unwrap_or(u64::MAX)),
            Fate::Dropped(why) => unreachable!("links that lose are refused, and this one did: {why}"),
        }
    }
}

/// The sites of a communicator's ranks, and what has come from others before it was due. Empty where nothing is
/// delayed.
#[derive(Default)]
pub(crate) struct Crossing(Option<Ways>);

struct Ways {
    wan: Arc<Wan>,
    own: usize,
    /// Sites by rank of the communicator.
    sites: Vec<usize>,
    /// Kept messages by the time when they are due, and in the order in which they came.
    kept: BTreeMap<(u64, u64), (Rank, Vec<u8>)>,
    n_kept: u64,
}

impl Crossing {
    /// Builds the crossing of a rank of these members.
    pub(crate) fn of(members: &[Member], rank: Rank) -> Self {
        Self(job().and_then(|job| {
            let wan = Arc::clone(job.wan.as_ref()?);
            let world = |member: &Member| job.members.iter().position(|known| known.process == member.process);
            // Ranks that came to the job later are at no site.
            let sites = members.iter().map(|member| Some(wan.sites[world(member)?])).collect::<Option<Vec<_>>>()?;
            Some(Ways::new(wan, sites, rank))
        }))
    }

    /// Bytes by which messages to or from a rank are longer.
    pub(crate) fn stamp_bytes(&self, other: Rank) -> usize {
        if self.0.as_ref().is_some_and(|ways| ways.is_far(other)) { STAMP_BYTES } else { 0 }
    }

    /// A message to that rank, with when it is due if it has a way to go.
    pub(crate) fn stamped<'a>(&self, to: Rank, message: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(ways) = self.0.as_ref().filter(|ways| ways.is_far(to)) else { return message.into() };
        let due_ns = ways.wan.due_ns(ways.sites[to as usize], ByteCount::new(message.len() as u64), monotonic_ns);
        [message, &due_ns.to_ne_bytes()].concat().into()
    }

    /// Whether a message from that rank need not wait.
    pub(crate) fn is_due(&self, from: Rank, stamped: &[u8]) -> bool {
        self.stamp_bytes(from) == 0 || read_stamp(stamped) <= monotonic_ns()
    }

    /// The message that that rank sent.
    pub(crate) fn unstamped(&self, from: Rank, mut stamped: Vec<u8>) -> Vec<u8> {
        stamped.truncate(stamped.len() - self.stamp_bytes(from));
        stamped
    }

    /// Keeps what has come from that rank until it is due; gives it back if there is nothing to wait for.
    pub(crate) fn keep(&mut self, from: Rank, mut message: Vec<u8>) -> Option<Vec<u8>> {
        let Some(ways) = self.0.as_mut().filter(|ways| ways.is_far(from)) else { return Some(message) };
        let due_ns = read_stamp(&message);
        message.truncate(message.len() - STAMP_BYTES);
        ways.kept.insert((due_ns, ways.n_kept), (from, message));
        ways.n_kept += 1;
        None
    }

    /// Returns the message that is due next, if it is.
    pub(crate) fn due(&mut self) -> Option<(Rank, Vec<u8>)> {
        let kept = &mut self.0.as_mut()?.kept;
        let first = kept.first_entry().filter(|first| first.key().0 <= monotonic_ns())?;
        Some(first.remove())
    }
}

impl Ways {
    fn new(wan: Arc<Wan>, sites: Vec<usize>, rank: Rank) -> Self {
        Self { own: sites[rank as usize], wan, sites, kept: BTreeMap::new(), n_kept: 0 }
    }

    fn is_far(&self, other: Rank) -> bool {
        self.sites[other as usize] != self.own
    }
}

/// Returns the time when a message with a stamp is due.
fn read_stamp(message: &[u8]) -> u64 {
    u64::from_ne_bytes(*message.last_chunk().expect("ranks of the same job agree on who is far"))
}

#[cfg(test)]
mod tests {
    use mpi_tree::Host;

    use super::*;

    const FILE: &str = "format = 1\nseed = 7\n\
        [[site]]\nname = \"a\"\nhosts = [\"a0\", \"a1\"]\n[[site]]\nname = \"b\"\nhosts = [\"b0\"]\n\
        [[link]]\nfrom = \"a\"\nto = \"b\"\nlatency = \"5ms\"\nbandwidth = \"100 Mbit/s\"\njitter = \"2ms\"\n\
        [[link]]\nfrom = \"b\"\nto = \"a\"\nlatency = \"1us\"\n";

    fn forest(hosts: [(&str, Option<&str>); 3]) -> Forest {
        let host = |(rank, (name, cluster)): (Rank, (&str, Option<&str>))| Host {
            name: name.to_owned(),
            cluster: cluster.map(str::to_owned),
            ranks: vec![rank],
        };
        Forest { epoch: 0, hosts: (0..).zip(hosts).map(host).collect(), trees: Vec::new(), rules: Vec::new() }
    }

    fn wan(text: &str, rank: Rank) -> Result<Wan, String> {
        Wan::new(text, Path::new(""), rank, &forest([("a0", None), ("elsewhere", Some("a")), ("b0", Some("a"))]))
    }

    #[test]
    fn messages_are_due_when_the_model_says() {
        let wan = wan(FILE, 1).unwrap();
        assert_eq!(wan.sites, [0, 0, 1]);
        let mut model = Plan::parse(FILE, Path::new("")).unwrap().link(0).unwrap();
        for number in 0..1_000_u64 {
            let (sent, size) = (Duration::from_micros(number * number % 977 + number * 3_000), number * 7_919 % 70_000);
            let Fate::Arrives { at } = model.send(sent, ByteCount::new(size)) else { panic!("{number} was lost") };
            let due = wan.due_ns(1, ByteCount::new(size), || wan.origin_ns + sent.as_nanos() as u64);
            assert_eq!(u128::from(due - wan.origin_ns), at.as_nanos(), "{number}");
        }
    }

    #[test]
    fn messages_wait_until_they_are_due_and_those_inside_a_site_do_not() {
        let crossing = |rank| Crossing(Some(Ways::new(Arc::new(wan(FILE, rank).unwrap()), vec![0, 0, 1], rank)));
        let (sender, mut receiver) = (crossing(0), crossing(2));
        let sent_ns = monotonic_ns();
        for word in [b"one", b"two"] {
            let message = sender.stamped(2, word).into_owned();
            assert!(!receiver.is_due(0, &message));
            assert_eq!(receiver.unstamped(0, message.clone()), word);
            assert_eq!(receiver.keep(0, message), None);
        }
        let arrived: Vec<_> = std::iter::from_fn(|| {
            let mut due = None;
            while due.is_none() && !receiver.0.as_ref()?.kept.is_empty() {
                due = receiver.due();
            }
            due
        })
        .collect();
        assert_eq!(arrived, [(0, b"one".to_vec()), (0, b"two".to_vec())]);
        assert!(monotonic_ns() - sent_ns >= 5_000_000);
        let near = sender.stamped(1, b"near").into_owned();
        assert_eq!(crossing(1).keep(0, near), Some(b"near".to_vec()));
    }

    #[test]
    fn a_file_that_does_not_fit_is_told_what_is_wrong() {
        let told = |text: &str| wan(text, 0).err().unwrap();
        assert!(told(&FILE.replace("jitter = \"2ms\"", "loss = \"10%\"")).contains("from `a` to `b` loses messages"));
        assert!(told(&FILE.replace("\"a0\", ", "")).contains("no site has the host `a0`"));
        assert!(told(FILE.split("[[link]]").next().unwrap()).contains("no link from `a` to `b`"));
        assert!(told("format = 2").contains("format 1"));
    }
}
