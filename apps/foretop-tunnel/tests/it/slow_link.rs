//! A link of 0.20 MB/s and 120 ms between the ends: one file, fetched twice, with a restart of both ends between.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netmodel::Description;
use units::Bandwidth;
use wan::{Protocol, Relay, RelayPlan};

use crate::killed::{configure, fetch, noise, server, start};

/// Both ways take 120 ms.
const ONE_WAY: Duration = Duration::from_millis(60);

fn relay(to: SocketAddr) -> Relay {
    let rate = Bandwidth::new(1_600_000);
    let there = Description { latency: Some(ONE_WAY), bandwidth: rate, ..Description::default() };
    let (listen, back) = (([127, 0, 0, 1], 0).into(), there.clone());
    let plan = RelayPlan { protocol: Protocol::Tcp, listen, to, there, back, clients_max: 2, seed: 1 };
    let watch = watch::Watch::new(Arc::new(clock::System::start()));
    Relay::start(&plan, |_| Err(ErrorKind::NotFound.into()), &watch).unwrap()
}

#[test]
fn the_second_fetch_over_a_slow_link_costs_a_hundredth_though_both_ends_were_restarted() {
    let folder = tempfile::tempdir().unwrap();
    // A second and a half on such a link: short, because this waits for it.
    let data = noise(300_000);
    let server = server(data.clone());
    let crossed: Vec<u64> = (0..2)
        .map(|_| {
            configure(folder.path(), "127.0.0.1:0", server);
            let (far, address) = start("far", folder.path());
            let relay = relay(address);
            configure(folder.path(), &relay.address().to_string(), server);
            let (near, front) = start("near", folder.path());
            assert!(fetch(front).unwrap() == data);
            near.end();
            far.end();
            relay.directions().iter().map(|direction| direction.traffic().arrived_bytes).sum()
        })
        .collect();
    let [first, second] = crossed[..] else { unreachable!("there are two rounds") };
    assert!((300_000..310_000).contains(&first) && second < 3_000, "{first} and {second} bytes crossed the link");
}
