//! Hosts that are watched by monitors of their own, over the loopback.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clock::{Manual, System};
use event_space::{
    About, Counts, Gather, Hop, Live, LoadBalance, Need, Pull, Quantity, Scope, Server, Setting, Sites, StageFigures,
    Strategy, Tally, Tuple, WireClock, ask_job, merge_counts,
};
use stream::{Endpoint, Mirror, Running, Security};
use tempfile::TempDir;
use testkit::wait_until;
use units::Timestamp;

use crate::space::Job;

/// Hosts with a monitor each, of which the front end knows nothing but the endpoints.
struct World {
    job: Job,
    root: TempDir,
    monitors: Vec<(Endpoint, Running<Server>)>,
}

fn setting(security: &Security) -> Setting {
    Setting { security: security.clone(), ..Setting::default() }
}

fn monitor(folder: &Path, security: &Security) -> (Endpoint, Running<Server>) {
    let live = Live::open(folder, 0, Arc::new(System::start())).unwrap();
    let (server, _) = Server::new(live, setting(security), "mpi.test".to_owned(), "here".to_owned());
    let mut mirror = Mirror::new("mpi-monitor", server).every(Server::PERIOD).with_security(security.clone());
    let at = mirror.add("server:tcp:127.0.0.1:0".parse().unwrap());
    let running = mirror.start().unwrap();
    (format!("source:{}", running.address(at).unwrap()).parse().unwrap(), running)
}

impl World {
    fn new(n_hosts: u32, capacity: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        let job = Job::in_folders(root.path(), n_hosts, capacity);
        let monitors = (0..n_hosts).map(|host| monitor(&root.path().join(format!("h{host}")), &Security::default()));
        Self { job, monitors: monitors.collect(), root }
    }

    fn about(&self) -> Vec<(Endpoint, About)> {
        let ask = |(endpoint, _): &(Endpoint, _)| (endpoint.clone(), ask_job(endpoint, &Security::default()).unwrap());
        self.monitors.iter().map(ask).collect()
    }

    fn sites(&self) -> Sites {
        Sites::new(None, 0, self.about(), Setting::default()).unwrap()
    }
}

fn load_balance(sites: &Sites, n_helpers: usize, by_cluster: bool) -> LoadBalance<Box<dyn Pull<Tuple>>> {
    let scope = Scope::last_arrivals(sites.tree(), sites.hosts(), n_helpers, by_cluster);
    LoadBalance::new(sites.scope(&scope).unwrap().0)
}

#[test]
fn the_late_rank_is_found_over_hosts_whoever_gathers() {
    let world = World::new(9, 1 << 12);
    let sites = world.sites();
    assert_eq!((sites.unwatched(), sites.watched().len()), (vec![], 9));
    let mut monitors: Vec<_> = [(0, false), (1, false), (4, false), (0, true), (2, true)]
        .map(|(n_helpers, by_cluster)| load_balance(&sites, n_helpers, by_cluster))
        .into();
    for sequence in 0..60 {
        world.job.call(sequence, if sequence % 3 == 0 { 4 } else { 11 });
        if sequence % 20 == 0 {
            for monitor in &mut monitors {
                monitor.step();
            }
        }
    }
    for monitor in &mut monitors {
        monitor.step();
        assert_eq!((monitor.weights[&world.job.entry(4)], monitor.weights[&world.job.entry(11)]), (20, 60));
        assert_eq!(monitor.weights.values().sum::<u64>(), 60 * world.job.tree.nodes.len() as u64);
        let Tally { n_lost, n_missed, cpu, .. } = monitor.tally;
        assert!((n_lost, n_missed) == (0, 0) && cpu > Duration::ZERO, "{:?}", monitor.tally);
    }
    assert_eq!(sites.troubles(), []);
}

#[test]
fn what_hosts_count_themselves_is_what_the_front_end_counts() {
    let world = World::new(9, 1 << 12);
    let sites = world.sites();
    let mut central = load_balance(&sites, 3, false);
    let hosts = sites.watched();
    let mut gather: Gather<Counts> =
        Gather::new(hosts.iter().map(|host| sites.counts(host).unwrap()).collect(), 3).unwrap();
    let mut statistics: Gather<StageFigures> =
        Gather::new(hosts.iter().map(|host| sites.statistics(host, Hop::Destination, true).unwrap()).collect(), 3)
            .unwrap();
    let (mut newest, mut figures) = (BTreeMap::new(), BTreeMap::new());
    // The first pull begins all of them.
    gather.pull(&mut Vec::new());
    statistics.pull(&mut Vec::new());
    (0..40).for_each(|sequence| world.job.call(sequence, sequence % 18));
    central.step();
    let need = Need::of_arrivals(&world.job.tree, &world.job.hosts);
    wait_until("all hosts have counted", Duration::from_secs(30), || {
        let mut results = Vec::new();
        gather.pull(&mut results);
        newest.extend(results.into_iter().map(|counts| (counts.host, counts)));
        (merge_counts(&need, newest.values().cloned()) == central.weights).then_some(())
    });
    let n_hops = 8;
    wait_until("all hosts have figures of all calls", Duration::from_secs(30), || {
        let mut results = Vec::new();
        statistics.pull(&mut results);
        figures.extend(results.into_iter().map(|figures| ((figures.of, figures.node, figures.position), figures)));
        let complete = |quantity, n: usize| {
            figures.values().filter(|figures| figures.of == quantity && figures.n_calls == 40).count() == n
        };
        let is_done = complete(Quantity::Hop, n_hops) && complete(Quantity::Down, world.job.tree.nodes.len());
        is_done.then_some(())
    });
    // A hop of 1 us each way, computed from stamps of two hosts.
    let hops = figures.values().filter(|figures| figures.of == Quantity::Hop);
    assert!(hops.clone().all(|hop| hop.mean_ns == 2_000.0), "{:?}", hops.collect::<Vec<_>>());
}

#[test]
fn what_a_ring_lost_on_another_host_is_known_exactly() {
    let world = World::new(2, 64);
    let sites = world.sites();
    let mut monitor = load_balance(&sites, 1, false);
    for sequence in 0..400 {
        world.job.call(sequence, 3);
        if sequence % 150 == 0 {
            monitor.step();
        }
    }
    monitor.step();
    let n_written: u64 = world.job.rings.iter().map(|ring| ring.ring().n_written()).sum();
    assert_eq!(monitor.tally.n_read + monitor.tally.n_lost, n_written);
    assert!(monitor.tally.n_lost > 0, "{:?}", monitor.tally);
}

#[test]
fn a_monitor_that_dies_is_missed_and_the_others_go_on() {
    let mut world = World::new(3, 1 << 12);
    let sites = world.sites();
    let mut monitor = load_balance(&sites, 2, false);
    world.job.call(0, 1);
    monitor.step();
    let before = monitor.weights.clone();
    let (dead, running) = world.monitors.remove(2);
    running.stop();
    world.job.call(1, 1);
    monitor.step();
    let troubles = sites.troubles();
    assert!(troubles.len() == 1 && troubles[0].0 == dead.to_string(), "{troubles:?}");
    assert!(sites.is_alive());
    assert_eq!(monitor.weights[&world.job.entry(1)], before[&world.job.entry(1)] + 1);
    // The host's own node is not told any more.
    assert_eq!(monitor.weights[&world.job.entry(5)], before[&world.job.entry(5)]);
}

#[test]
fn a_monitor_that_begins_again_is_not_counted_twice() {
    let mut world = World::new(2, 1 << 12);
    let clock = Arc::new(Manual::at(Timestamp::from_nanos(0)));
    let setting = Setting { clock: clock.clone(), ..Setting::default() };
    let sites = Sites::new(None, 0, world.about(), setting).unwrap();
    let mut monitor = load_balance(&sites, 0, false);
    (0..5).for_each(|sequence| world.job.call(sequence, 3));
    monitor.step();
    let (endpoint, running) = world.monitors.remove(1);
    running.stop();
    monitor.step();
    assert_eq!(sites.troubles().len(), 1);
    let folder = world.root.path().join("h1");
    let live = Live::open(&folder, 0, Arc::new(System::start())).unwrap();
    let (server, _) = Server::new(live, Setting::default(), "mpi.test".to_owned(), "h1".to_owned());
    let mut mirror = Mirror::new("again", server).every(Server::PERIOD);
    mirror.add(format!("server:{}", endpoint.place).parse().unwrap());
    let _running = mirror.start().unwrap();
    // It is asked again after a while only, and gives what comes from then on.
    monitor.step();
    clock.pass(Duration::from_secs(60));
    monitor.step();
    assert_eq!(sites.troubles(), []);
    (5..9).for_each(|sequence| world.job.call(sequence, 3));
    monitor.step();
    assert_eq!(monitor.weights[&world.job.entry(3)], 9);
}

/// A listener that does with a connection what `with` says, and where it is.
fn listener(with: impl Fn(TcpStream) + Send + 'static) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("source:tcp:{}", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| with(stream.unwrap())));
    endpoint
}

/// The second of two hosts is at `endpoint`. Gives what became of it.
fn trouble_with(endpoint: Endpoint) -> String {
    let world = World::new(2, 1 << 10);
    let mut about = world.about();
    about[1].0 = endpoint;
    let sites = Sites::new(None, 0, about, Setting::default()).unwrap();
    let mut monitor = load_balance(&sites, 2, false);
    world.job.call(0, 1);
    monitor.step();
    assert_eq!(monitor.weights[&world.job.entry(1)], 1, "the other host's share");
    let [(_, trouble)] = &sites.troubles()[..] else { panic!("one is in trouble") };
    trouble.clone()
}

#[test]
fn a_monitor_that_never_answers_is_given_up() {
    let kept = std::sync::Mutex::new(Vec::new());
    let trouble = trouble_with(listener(move |stream| kept.lock().unwrap().push(stream)));
    assert!(trouble.contains("no answer from"), "{trouble}");
}

#[test]
fn what_answers_nonsense_is_no_monitor() {
    let answers: [&[u8]; 4] = [b"HTTP/1.1 400 Bad Request\r\n\r\n", &[0xff; 4096], b"FT\x01\x08\xff\xff\xff\x7f", b""];
    for bytes in answers {
        let trouble = trouble_with(listener(move |mut stream| {
            // Until whoever asked has gone, so that nothing of the answer gets lost.
            let _gone = stream.write_all(bytes);
            let _gone = stream.shutdown(std::net::Shutdown::Write);
            let _gone = stream.read_to_end(&mut Vec::new());
        }));
        assert!(trouble.contains("no answer from"), "{trouble}");
    }
}

#[test]
fn a_monitor_bears_nonsense() {
    let world = World::new(2, 1 << 10);
    let (endpoint, running) = &world.monitors[0];
    let address = endpoint.place.to_string().replace("tcp:", "");
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 512], b"FT\x01\x05\xff\xff\xff\xff", b"FT\x01\x08\0\0\0\0\0\0\0\0"]
    {
        let mut stream = TcpStream::connect(&address).unwrap();
        let _gone = stream.write_all(bytes);
        let _gone = stream.shutdown(std::net::Shutdown::Write);
        let _gone = stream.read_to_end(&mut Vec::new());
    }
    let mut caller = stream::Caller::open(endpoint, &Security::default()).unwrap();
    let mut refusal = |ask| caller.call(ask, Duration::from_secs(30)).unwrap_err().to_string();
    use stream::Ask;
    assert!(refusal(Ask::Begin { task: "dance".to_owned() }).contains("no task"));
    assert!(
        refusal(Ask::Begin { task: r#"{"tree":1,"what":{"time":{"host":"h0"}}}"#.to_owned() }).contains("another tree")
    );
    let forest = Live::open(&world.root.path().join("h0"), 0, Arc::new(System::start())).unwrap();
    let id = forest.forest().id_of(0);
    let elsewhere = format!(r#"{{"tree":{id},"what":{{"time":{{"host":"h1"}}}}}}"#);
    assert!(refusal(Ask::Begin { task: elsewhere }).contains("nobody watches the host `h1`"));
    let wrong = format!(r#"{{"tree":{id},"what":{{"scope":{{"format":1,"stage":[{{"name":"a","read":"x"}}]}}}}}}"#);
    assert!(refusal(Ask::Begin { task: wrong }).contains("the tree has no host `x`"));
    let file = format!(
        r#"{{"tree":{id},"what":{{"time":{{"host":"h0"}}}},"elsewhere":{{"h1":{{"endpoint":"source:unix:/a","clock":null}}}}}}"#
    );
    assert!(refusal(Ask::Begin { task: file }).contains("`source:unix:/a` is no endpoint of a monitor"));
    assert!(refusal(Ask::Pull { session: 7 }).contains("no session 7"));
    assert!(refusal(Ask::Refit {}).contains("answers job, begin, pull"));
    // And does its work for others.
    assert!(!running.is_finished());
    assert_eq!(world.about()[0].1.hosts, BTreeMap::from([("h0".to_owned(), WireClock(None))]));
}

#[test]
fn sessions_have_a_limit() {
    let world = World::new(1, 64);
    let live = Live::open(&world.root.path().join("h0"), 0, Arc::new(System::start())).unwrap();
    let task = format!(r#"{{"tree":{},"what":{{"time":{{"host":"h0"}}}}}}"#, live.forest().id_of(0));
    let mut caller = stream::Caller::open(&world.monitors[0].0, &Security::default()).unwrap();
    let mut begin = || caller.call(stream::Ask::Begin { task: task.clone() }, Duration::from_secs(30));
    (0..64).for_each(|_| drop(begin().unwrap()));
    assert!(begin().unwrap_err().to_string().contains("64 sessions"));
}

#[test]
fn without_the_token_nothing_is_told() {
    let root = tempfile::tempdir().unwrap();
    let _job = Job::in_folders(root.path(), 1, 64);
    let token = |text: &str| Security { token: Some(secret::Token::new(text).unwrap()), ..Security::default() };
    let (endpoint, _running) = monitor(&root.path().join("h0"), &token("0123456789abcdef-ours"));
    assert!(ask_job(&endpoint, &token("0123456789abcdef-ours")).is_ok());
    for wrong in [token("0123456789abcdef-theirs"), Security::default()] {
        assert!(ask_job(&endpoint, &wrong).is_err());
    }
}

#[test]
fn a_monitor_waits_at_its_gate_and_not_for_ever() {
    let world = World::new(2, 1 << 10);
    let sites = world.sites().gated(Strategy::Released);
    let mut monitor = load_balance(&sites, 2, false);
    world.job.call(0, 3);
    // No rank opens the gate, so that the monitor goes on after its limit.
    monitor.step();
    assert_eq!((monitor.weights[&world.job.entry(3)], sites.troubles()), (1, vec![]));
}

#[test]
fn another_tree_file_at_a_monitor_is_told() {
    let world = World::new(2, 1 << 10);
    let sites = world.sites();
    let mut monitor = load_balance(&sites, 0, false);
    monitor.step();
    assert!(!sites.is_replaced());
    let folder = mpi_job::Folder::open(&world.root.path().join("h1")).unwrap();
    let mut forest = mpi_tree::Forest::parse(&folder.tree().unwrap().unwrap()).unwrap();
    forest.epoch += 1;
    folder.set_tree(&forest.to_text()).unwrap();
    // Its monitor looks once a second.
    wait_until("the front end hears of it", Duration::from_secs(30), || {
        monitor.step();
        sites.is_replaced().then_some(())
    });
    assert!(world.about()[1].1.trees.contains(&format!("epoch = {}", forest.epoch)));
}

#[test]
fn other_trees_are_not_watched_together() {
    let (one, other) = (World::new(2, 64), World::new(3, 64));
    let mut about = one.about();
    about.extend(other.about());
    let error = Sites::new(None, 0, about, Setting::default()).err().unwrap();
    assert!(error.to_string().contains("another tree file"), "{error}");
    assert!(Sites::new(None, 0, vec![], Setting::default()).is_err());
}
