//! A communicator as sites: a tree inside each of them, and messages between those who serve the trees' roots.
//!
//! Inside, calls go by the engine. What goes on between sites is the caller's: [`large`] sends long messages in pieces,
//! and conditional allreduces answer without waiting for all.

mod between;
mod large;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clock::Ticks;
use mpi_abi::{Failed, Handle, Mpi};
use mpi_job::Folder;
use mpi_tree::{Collective, Wake};
use units::Rank;

use crate::agreement::{Agreement, Member};
use crate::combine::Combine;
use crate::communicator::{n_processors, share};
use crate::crossing::Crossing;
use crate::engine::{Call, Engine, Ground, Part};
use crate::entry::{complain, job};
use crate::job::neighbours;
use crate::memory::Layout;
use crate::network::Network;
use crate::pause::{Patience, Pause};
use crate::plan::Plan;
use crate::port::{Mailbox, Port, Trouble};
use crate::record::Recorder;

pub(crate) use between::Between;
pub(crate) use large::{Large, PIECE_BYTES};

/// The ranks that make the calls.
pub(crate) struct Party<'a> {
    pub(crate) mpi: &'static Mpi,
    /// Has the ranks that are meant; messages go over twins of it.
    pub(crate) comm: Handle,
    pub(crate) rank: Rank,
    /// Members by rank.
    pub(crate) members: &'a [Member],
}

/// Names for what ranks share. Those of the party's first rank count.
static N_MADE: AtomicU32 = AtomicU32::new(0);

/// One rank's part.
pub(crate) struct Sites {
    plan: mpi_tree::Sites,
    /// Site of this rank.
    own: usize,
    /// Its number there.
    number: Rank,
    inside: Inside,
    engine: Engine,
    mailbox: Mailbox,
    /// One without a ring, unless the caller puts another in its place.
    pub(crate) recorder: Recorder,
    patience: Patience,
    pub(crate) between: Between,
}

/// The port of a site, whose ranks have numbers of their own.
struct Inside {
    network: Network,
    ranks: Vec<Rank>,
}

impl Port for Inside {
    fn send(&mut self, to: Rank, message: &[u8]) -> Result<(), Trouble> {
        self.network.send(self.ranks[to as usize], message)
    }

    fn receive(&mut self, into: &mut Vec<u8>) -> Result<bool, Trouble> {
        self.network.receive(into)
    }

    fn check(&mut self) -> Result<(), Trouble> {
        self.network.check()
    }

    fn notice(&mut self) -> u32 {
        0
    }
}

impl Party<'_> {
    /// Returns the folder where ranks of a host find what they share. All ranks come here.
    fn folder(&self) -> Result<PathBuf, Failed> {
        if let Some(job) = job() {
            return Ok(job.folder.path().to_owned());
        }
        let name = mpi_job::job_name(&mpi_job::host_name(), std::process::id());
        Ok(mpi_job::root().join(self.mpi.text_of_first(&name, self.comm)?))
    }
}

impl Sites {
    /// All ranks of the party come here. None if some host has no room for what its ranks share.
    pub(crate) fn new(party: &Party<'_>, plan: mpi_tree::Sites, capacity_bytes: usize) -> Result<Option<Self>, Failed> {
        let mpi = party.mpi;
        let agreement = Agreement { mpi, comm: party.comm };
        let name = agreement.of_first(N_MADE.fetch_add(1, Ordering::Relaxed))?;
        let folder = party.folder()?;
        let (own, number) = plan.place(party.rank);
        let site = &plan.sites[own];
        let inside = Plan::of(&site.tree, &site.hosts);
        let host = inside.hosts[number as usize];
        let layout = Layout::of(&inside, host, capacity_bytes);
        let path = folder.join(format!("site-{name}-{own}-{host}.seg"));
        let is_first = site.hosts[host].ranks.first() == Some(&number);
        if is_first {
            // If it cannot be made, neither can what is in it.
            let _ = Folder::create(&folder);
        }
        let shared = share(agreement, &path, layout.n_words(), is_first)?;
        if is_first {
            // It is left alone if there is anything else in it.
            let _ = std::fs::remove_dir(&folder);
        }
        let memory = match shared {
            Ok(memory) => memory,
            Err(why) => {
                if party.rank == 0 {
                    complain(&format_args!("sites have no memory to share: {why}"));
                }
                return Ok(None);
            }
        };
        let neighbours: Arc<[_]> = neighbours(party.members, party.rank).collect();
        let patience = Patience { is_crowded: neighbours.len() + 1 > n_processors(), wake: Wake::Both };
        let crossing = || Crossing::of(party.members, party.rank);
        let network = Network::new(mpi, mpi.comm_dup(party.comm)?, crossing(), neighbours, Box::new(|| 0));
        let part = Part {
            ground: Arc::new(Ground { plan: inside, layout, memory }),
            rank: number,
            tree: 0,
            is_crowded: patience.is_crowded,
            gate: None,
        };
        Ok(Some(Self {
            inside: Inside { network, ranks: site.ranks.clone() },
            own,
            number,
            plan,
            engine: Engine::new(part),
            mailbox: Mailbox::default(),
            recorder: Recorder::new(Ticks::Monotonic, None),
            patience,
            between: Between::new(mpi, mpi.comm_dup(party.comm)?, crossing()),
        }))
    }

    /// This rank's site.
    pub(crate) fn own(&self) -> usize {
        self.own
    }

    pub(crate) fn n_sites(&self) -> usize {
        self.plan.sites.len()
    }

    /// The clusters' names, as far as they have any.
    pub(crate) fn names(&self) -> Vec<String> {
        let sites = self.plan.sites.iter().enumerate();
        sites.map(|(at, site)| site.hosts[0].cluster.clone().unwrap_or_else(|| at.to_string())).collect()
    }

    /// Whether this rank is the server of its site.
    pub(crate) fn is_server(&self) -> bool {
        self.server_inside() == self.number
    }

    /// Returns the server of each site: ranks of the party.
    pub(crate) fn servers(&self) -> Vec<Rank> {
        (0..self.n_sites()).map(|site| self.server(site)).collect()
    }

    /// Returns the server of this site: its number here.
    pub(crate) fn server_inside(&self) -> Rank {
        self.plan.sites[self.own].server
    }

    /// Sends news to the servers of the other sites.
    pub(crate) fn tell_others(&mut self, news: &[u8]) -> Result<(), Failed> {
        self.others().into_iter().try_for_each(|other| self.between.tell(other, news))
    }

    fn server(&self, site: usize) -> Rank {
        self.plan.server(site)
    }

    /// Returns the servers of the other sites.
    fn others(&self) -> Vec<Rank> {
        (0..self.n_sites()).filter(|site| *site != self.own).map(|site| self.server(site)).collect()
    }

    /// Combines what this site's ranks bring. The result is for one of them; the others get nothing.
    pub(crate) fn reduce_inside(&mut self, to: Rank, combine: Combine, input: &[u8]) -> Result<Vec<u8>, Trouble> {
        let mut output = vec![0; if to == self.number { input.len() } else { 0 }];
        let (collective, n_bytes) = (Collective::Reduce, input.len());
        self.call(Call { collective, root: to, n_bytes, combine: Some(combine), input, output: &mut output })?;
        Ok(output)
    }

    /// Gives what one rank of this site has to its others.
    pub(crate) fn bcast_inside(&mut self, from: Rank, value: &mut [u8]) -> Result<(), Trouble> {
        let (collective, n_bytes) = (Collective::Bcast, value.len());
        let (input, output): (&[u8], &mut [u8]) = if from == self.number { (value, &mut []) } else { (&[], value) };
        self.call(Call { collective, root: from, n_bytes, combine: None, input, output })
    }

    /// Lets others run until there is something between sites.
    pub(crate) fn until<T>(
        &mut self,
        mut poll: impl FnMut(&mut Between) -> Result<Option<T>, Trouble>,
    ) -> Result<T, Trouble> {
        let mut pause = Pause::new(self.patience);
        loop {
            if let Some(found) = poll(&mut self.between)? {
                return Ok(found);
            }
            pause.step(None, 0, &mut self.inside)?;
        }
    }

    /// Nobody may be left waiting for what this rank sends while it computes.
    fn until_sent(&mut self) -> Result<(), Trouble> {
        self.until(|between| Ok(between.are_sent()?.then_some(())))
    }

    /// Ends it. All ranks of the party come here, and have taken what others sent them.
    pub(crate) fn free(mut self, mpi: &Mpi) -> Result<(), Trouble> {
        self.until_sent()?;
        mpi.comm_free(self.inside.network.comm())?;
        mpi.comm_free(self.between.comm())?;
        Ok(())
    }

    fn call(&mut self, mut call: Call<'_>) -> Result<(), Trouble> {
        self.engine.call(&mut call, &mut self.inside, &mut self.mailbox, &mut self.recorder).map(|_notice| ())
    }
}
