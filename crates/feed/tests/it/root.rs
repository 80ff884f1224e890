//! What only root can bring about: a network path of a known rate.

use std::{
    collections::BTreeMap,
    fs::File,
    net::SocketAddr,
    os::fd::AsFd,
    process::{self, Command, Output},
    thread,
    time::Duration,
};

use feed::transfer::{Directions, Responder, ResponderSettings, TransferSettings, TransferSource};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use secret::Token;
use signal::{Readings, Source};
use watch::Watch;

/// What the token bucket lets through.
const RATE_MBIT: u32 = 16;

/// The other end of the path.
const FAR: &str = "10.203.0.2";

#[test]
#[ignore = "needs root; run by make test"]
fn a_path_of_a_known_rate_is_measured_at_that_rate() {
    let Some(path) = Path::lay() else { return };
    let token = Token::new("a token of the test").unwrap();
    let far = ResponderSettings::new(SocketAddr::new(FAR.parse().unwrap(), 0), token.clone());
    let responder = path.at_far_end(move || Responder::start(far, &Watch::default()).unwrap());

    // 2 s are 4 MB on this path: 1 MiB takes about half a second, however long the machine may stall.
    let settings = TransferSettings::new("far", responder.address().to_string(), token);
    let settings = TransferSettings { span: Duration::from_secs(5), directions: Directions::Both, ..settings };
    let values = path.at_near_end(move || {
        let mut source = TransferSource::new(settings).unwrap();
        let mut readings = Readings::default();
        source.read(Duration::ZERO, &mut readings);
        assert_eq!(source.last_error(), None);
        readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect::<BTreeMap<_, _>>()
    });

    // The bucket counts headers, about 5 % of a segment, and its first 16 KiB are free. A stall of the machine makes a
    // transfer slower and, when what was held up arrives at once, half of it faster.
    let rate = f64::from(RATE_MBIT) * 1e6 / 8.0;
    for id in ["flow.far", "flow.far.transfer", "flow.far.received"] {
        let measured = values[id];
        assert!((0.5 * rate..1.3 * rate).contains(&measured), "{id} is {measured} bytes/s on a path of {rate}");
    }
    assert!(values["flow.far.round_trip"] > 0.0);
}

/// Two network namespaces with a cable between them, which both ends let so much through.
struct Path {
    near: String,
    far: String,
}

impl Path {
    /// None, loudly, where the kernel has no namespaces, virtual cables or token buckets.
    fn lay() -> Option<Path> {
        let id = process::id();
        let path = Path { near: format!("foretop-near-{id}"), far: format!("foretop-far-{id}") };
        let Path { near, far } = &path;
        let shape = format!("root tbf rate {RATE_MBIT}mbit burst 16kb latency 100ms");
        let steps = [
            format!("ip netns add {near}"),
            format!("ip netns add {far}"),
            format!("ip -n {near} link add cable type veth peer name cable netns {far}"),
            format!("ip -n {near} address add 10.203.0.1/24 dev cable"),
            format!("ip -n {far} address add {FAR}/24 dev cable"),
            format!("tc -n {near} qdisc add dev cable {shape}"),
            format!("tc -n {far} qdisc add dev cable {shape}"),
            format!("ip -n {near} link set cable up"),
            format!("ip -n {far} link set cable up"),
        ];
        for step in steps {
            let Output { status, stderr, .. } = run(&step);
            if !status.success() {
                eprintln!("SKIPPED: this kernel has no path of a known rate: `{step}`: {}", stderr.escape_ascii());
                return None;
            }
        }
        Some(path)
    }

    fn at_near_end<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        at(&self.near, work)
    }

    fn at_far_end<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        at(&self.far, work)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            // It is not there if it could not be made.
            run(&format!("ip netns delete {namespace}"));
        }
    }
}

/// Does `work` on a thread in a network namespace. The sockets that it makes stay there.
fn at<T: Send + 'static>(namespace: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let file = File::open(format!("/run/netns/{namespace}")).unwrap();
    let there = move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        work()
    };
    thread::spawn(there).join().unwrap()
}

fn run(command: &str) -> Output {
    let mut words = command.split(' ');
    let program = words.next().unwrap();
    Command::new(program).args(words).output().unwrap_or_else(|error| panic!("`{program}` of iproute2: {error}"))
}
