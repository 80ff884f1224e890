//! Sites and hosts that exist: namespaces, devices, and the gateways between them.
//!
//! Everything is inside of namespaces that this process alone holds. When it ends, however it ends, the kernel takes
//! all of it away, and the machine's own network never has a part in it.

use std::fs::{self, File};
use std::io;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use units::Bandwidth;
use watch::{OnPanic, Watch};

use crate::counts::Counts;
use crate::gateway::{Gateway, Hop, Way};
use crate::host::{Host, batch};
use crate::plan::{Plan, PlanError};
use crate::tun;

/// The gateways' devices towards the links.
const DEVICE: &str = "wan0";
/// Packets that may wait in the kernel until a gateway reads them: enough for what comes while it is not running.
const DEVICE_QUEUE: usize = 10_000;
/// Bytes that a host may send at once inside of its site: one piece of what the kernel hands a device.
const LAN_BURST: usize = 64 << 10;
/// Crossings that are measured; the shortest counts, so that nothing is early.
const N_CROSSINGS: usize = 200;
/// Greatest time of a crossing before it counts as lost.
const CROSSING_MAX: Duration = Duration::from_secs(5);

/// Hosts that run, and the gateways between their sites.
pub struct Emulation {
    // Gateways end before the hosts go.
    gateways: Vec<watch::Thread>,
    sites: Vec<SiteHosts>,
    links: Vec<Arc<Counts>>,
    hop: Duration,
}

/// A site's hosts, and its gateway.
struct SiteHosts {
    gateway: Host,
    hosts: Vec<Host>,
}

/// The reason why hosts could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// Lack of root, which namespaces and devices need.
    #[error("emulated hosts need root; a relay does without (`foretop wan relay`)")]
    NotRoot,
    /// A plan that cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A host that could not be made.
    #[error("cannot make the host `{name}`")]
    Host {
        /// Its name.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// Lack of a thread for a gateway.
    #[error("cannot start the gateway of site `{site}`")]
    Gateway {
        /// Its site.
        site: String,
        /// The cause.
        source: io::Error,
    },
    /// A measurement in which nothing came through.
    #[error("cannot measure what it takes to cross from `{from}` to `{to}`")]
    Crossing {
        /// A site.
        from: String,
        /// Another one.
        to: String,
        /// The cause.
        source: io::Error,
    },
}

impl Emulation {
    /// Makes the hosts of `plan`, which find each other by the file `hosts_file`, and starts the gateways. Needs root,
    /// and `ip` and `tc` of iproute2.
    ///
    /// # Errors
    /// [`EmulationError`]; nothing is left behind then.
    pub fn start(plan: &Plan, hosts_file: &Path, watch: &Watch) -> Result<Self, EmulationError> {
        if !rustix::process::geteuid().is_root() {
            return Err(EmulationError::NotRoot);
        }
        let links = plan.all_links()?;
        let sites = (0..plan.sites.len()).map(|at| make_site(plan, at, hosts_file)).collect::<Result<Vec<_>, _>>()?;
        let (sites, devices): (Vec<_>, Vec<_>) = sites.into_iter().unzip();
        let hop = Arc::new(Hop::open());
        let origin = clock::instant();
        let gateway = |device: &Arc<File>| Gateway::new(Arc::clone(device), plan.sites.len(), Arc::clone(&hop), origin);
        let mut gateways: Vec<Gateway> = devices.iter().map(gateway).collect();
        let counts: Vec<Arc<Counts>> = links.iter().map(|_| Arc::default()).collect();
        for ((link, planned), counts) in links.into_iter().zip(&plan.links).zip(&counts) {
            let to = Arc::clone(&devices[planned.to]);
            gateways[planned.from].ways[planned.to] = Some(Way { link, to, counts: Arc::clone(counts) });
        }
        let start = |(mut gateway, site): (Gateway, &crate::Site)| {
            let work =
                move |stop: &watch::Stop| gateway.run(stop).expect("a gateway's device is there as long as it is");
            let started = watch::Thread::start(watch, format!("wan {}", site.name), OnPanic::End, work);
            started.map_err(|source| EmulationError::Gateway { site: site.name.clone(), source })
        };
        let gateways = gateways.into_iter().zip(&plan.sites).map(start).collect::<Result<Vec<_>, _>>()?;
        let mut emulation = Self { gateways, sites, links: counts, hop: Duration::ZERO };
        emulation.hop = emulation.crossing(plan)?;
        hop.take_off(emulation.hop);
        Ok(emulation)
    }

    /// Returns the counts of each link, in the order of the plan.
    #[must_use]
    pub fn links(&self) -> &[Arc<Counts>] {
        &self.links
    }

    /// Returns the cost of crossing gateways and devices, which is taken off each delay: a link with less latency has
    /// this.
    #[must_use]
    pub fn hop(&self) -> Duration {
        self.hop
    }

    /// Does `work` on a thread in the network of a host: sockets that it opens there stay there. Hosts are counted by
    /// site, as in the plan.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn within<T: Send>(
        &self,
        site: usize,
        host: usize,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        self.sites[site].hosts[host].within(work)
    }

    /// Returns the hosts in the order of the plan.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.sites.iter().flat_map(|site| &site.hosts)
    }

    /// Returns all namespaces, the gateways' too.
    pub(crate) fn all_hosts(&self) -> impl Iterator<Item = &Host> {
        self.sites.iter().flat_map(|site| site.hosts.iter().chain([&site.gateway]))
    }

    /// Measures the shortest time that a datagram takes from a host of one site to one of another while links do
    /// nothing.
    fn crossing(&self, plan: &Plan) -> Result<Duration, EmulationError> {
        let Some(link) = plan.links.first() else { return Ok(Duration::ZERO) };
        let socket = |site: usize| {
            let address = plan.address(site, 0);
            self.within(site, 0, move || UdpSocket::bind((address, 0)))
        };
        let measure = || {
            let (from, to) = (socket(link.from)?, socket(link.to)?);
            to.set_read_timeout(Some(CROSSING_MAX))?;
            from.connect(to.local_addr()?)?;
            let mut shortest = CROSSING_MAX;
            for _ in 0..N_CROSSINGS {
                let stopwatch = clock::Stopwatch::start();
                from.send(&[0])?;
                to.recv(&mut [0])?;
                shortest = shortest.min(stopwatch.elapsed());
            }
            Ok(shortest)
        };
        measure().map_err(|source| {
            let (from, to) = plan.ends(link);
            EmulationError::Crossing { from, to, source }
        })
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        for gateway in &self.gateways {
            gateway.ask_to_end();
        }
    }
}

/// Makes a site's gateway with its device, and its hosts, joined by a bridge in the gateway.
fn make_site(plan: &Plan, at: usize, hosts_file: &Path) -> Result<(SiteHosts, Arc<File>), EmulationError> {
    let site = &plan.sites[at];
    let made = |name: &str, source| EmulationError::Host { name: name.to_owned(), source };
    let name = format!("{}-gateway", site.name);
    let (gateway, device) = make_gateway(plan, at, &name, hosts_file).map_err(|source| made(&name, source))?;
    let host = |(number, name): (usize, &String)| {
        let make = || {
            let host = Host::make(name, hosts_file)?;
            let net = host.net_path();
            let join = format!(
                "link add v{number} type veth peer name eth0 netns {}\nlink set v{number} master site up\n",
                net.display()
            );
            gateway.within(|| {
                batch("ip", &join)?;
                limit(&format!("v{number}"), site.lan_bandwidth)
            })?;
            let (address, way_out) = (plan.address(at, number), Plan::gateway_address(at));
            host.within(|| {
                let commands =
                    format!("addr add {address}/24 dev eth0\nlink set eth0 up\nroute add default via {way_out}\n");
                batch("ip", &commands)?;
                limit("eth0", site.lan_bandwidth)
            })?;
            Ok(host)
        };
        make().map_err(|source| made(name, source))
    };
    let hosts = site.hosts.iter().enumerate().map(host).collect::<Result<Vec<_>, _>>()?;
    Ok((SiteHosts { gateway, hosts }, device))
}

/// Lets a device send no more than this. The kernel does that itself: a site's own network is to stay as fast as it is.
fn limit(device: &str, rate: Option<Bandwidth>) -> io::Result<()> {
    let Some(rate) = rate.map(Bandwidth::bits_per_sec) else { return Ok(()) };
    batch(
        "tc",
        &format!(
            "qdisc add dev {device} root handle 1: htb default 1 r2q 1000\n\
             class add dev {device} parent 1: classid 1:1 htb rate {rate}bit quantum 60000 burst {LAN_BURST} cburst {LAN_BURST}\n"
        ),
    )
}

fn make_gateway(plan: &Plan, at: usize, name: &str, hosts_file: &Path) -> io::Result<(Host, Arc<File>)> {
    let gateway = Host::make(name, hosts_file)?;
    let ways: String = (plan.links.iter().filter(|link| link.from == at))
        .map(|link| format!("route add {} dev {DEVICE}\n", Plan::subnet(link.to)))
        .collect();
    let own = Plan::gateway_address(at);
    let device = gateway.within(|| {
        let device = tun::open(DEVICE)?;
        let commands = format!(
            "link add site type bridge\naddr add {own}/24 dev site\nlink set site up\nlink set {DEVICE} txqueuelen {DEVICE_QUEUE} up\n{ways}"
        );
        batch("ip", &commands)?;
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        Ok(device)
    })?;
    Ok((gateway, Arc::new(device)))
}
