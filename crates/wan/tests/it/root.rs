//! What only root can do: whole hosts.

use std::net::UdpSocket;

use wan::Emulation;

use crate::twin::{check_counts, check_datagrams, plan, watch};

#[test]
#[ignore = "needs root; run by make test"]
fn whole_hosts_do_what_the_model_says() {
    let plan = plan();
    let folder = tempfile::tempdir().unwrap();
    let hosts_file = folder.path().join("hosts");
    std::fs::write(&hosts_file, plan.hosts_file()).unwrap();
    let emulation = Emulation::start(&plan, &hosts_file, &watch()).unwrap();
    let socket = |site: usize| {
        let address = plan.address(site, 0);
        emulation.within(site, 0, move || UdpSocket::bind((address, 0))).unwrap()
    };
    let (from, to) = (socket(0), socket(1));
    from.connect(to.local_addr().unwrap()).unwrap();
    // What crossing costs is taken off: one may cross faster than the fastest before.
    check_datagrams(&from, &to, emulation.hop());
    check_counts(&emulation.links()[0]);
}
