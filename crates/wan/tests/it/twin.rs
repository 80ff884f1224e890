//! One link in several worlds: what a world does with datagrams is what the model says of them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netmodel::Fate;
use testkit::{PATIENCE, wait_until};
use units::ByteCount;
use wan::{Counts, Plan, Protocol, Relay, RelayPlan};
use watch::Watch;

const N_DATAGRAMS: u8 = 100;
/// What a datagram may wait for a thread before the link sees it: delays differ by more than twice as much.
const SLACK: Duration = Duration::from_millis(200);
/// Two sites whose link there loses datagrams in bursts, and lets the others overtake each other.
const SITES: &str = "format = 1
seed = 7
[[site]]
name = \"left\"
hosts = [\"l0\"]
[[site]]
name = \"right\"
hosts = [\"r0\"]
[[link]]
from = \"left\"
to = \"right\"
latency = \"20ms\"
jitter = \"500ms\"
loss = \"40%\"
burst = 3.0
order = \"free\"
[[link]]
from = \"right\"
to = \"left\"
latency = \"1ms\"
";

pub fn plan() -> Plan {
    Plan::parse(SITES, Path::new("")).unwrap()
}

pub fn watch() -> Watch {
    Watch::new(Arc::new(clock::System::start()))
}

/// Sends datagrams into the first link of [`plan`], and compares what comes out of it with what the model says: the
/// same ones, none earlier by more than `early`, in the order of their delays.
pub fn check_datagrams(from: &UdpSocket, to: &UdpSocket, early: Duration) {
    let mut link = plan().link(0).unwrap();
    let delays: BTreeMap<u8, Duration> = (0..N_DATAGRAMS)
        .filter_map(|number| match link.send(Duration::ZERO, ByteCount::new(1)) {
            Fate::Arrives { at } => Some((number, at)),
            Fate::Dropped(_) => None,
        })
        .collect();
    assert!((20..90).contains(&delays.len()), "the model delivers {} of {N_DATAGRAMS}", delays.len());
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    let send = |number: u8| {
        let sent_at = clock::instant();
        from.send(&[number]).unwrap();
        sent_at
    };
    let sent_at: Vec<Instant> = (0..N_DATAGRAMS).map(send).collect();
    let mut arrived = Vec::new();
    let mut latest_due = sent_at[0];
    for _ in 0..delays.len() {
        let mut number = [0];
        to.recv(&mut number).unwrap();
        let [number] = number;
        let Some(delay) = delays.get(&number) else { panic!("{number} arrived, which the model drops") };
        let due = sent_at[usize::from(number)] + *delay;
        assert!(clock::instant() + early >= due, "{number} is early");
        assert!(due + SLACK >= latest_due, "{number} was overtaken by what has a longer delay");
        latest_due = latest_due.max(due);
        arrived.push(number);
    }
    arrived.sort_unstable();
    assert_eq!(arrived, delays.into_keys().collect::<Vec<_>>());
}

/// What a link says of itself agrees with that; it counts a datagram after it has handed it on.
pub fn check_counts(counts: &Counts) {
    wait_until("each datagram has arrived or was lost", PATIENCE, || {
        let traffic = counts.traffic();
        let (n_sent, n_met) = (traffic.n_sent, traffic.n_arrived + traffic.n_dropped_loss);
        (n_sent == u64::from(N_DATAGRAMS) && n_met == n_sent).then_some(())
    });
}

#[test]
fn a_relay_does_what_the_model_says() {
    let [there, back] = [0, 1].map(|at: usize| plan().links[at].description.clone());
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (listen, to) = (([127, 0, 0, 1], 0).into(), target.local_addr().unwrap());
    let plan = RelayPlan { protocol: Protocol::Udp, listen, to, there, back, clients_max: 1, seed: plan().seed };
    let relay = Relay::start(&plan, |_| Err(ErrorKind::NotFound.into()), &watch()).unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(relay.address()).unwrap();
    check_datagrams(&client, &target, Duration::ZERO);
    check_counts(&relay.directions()[0]);
}
