//! What only root can do: whole hosts.

use std::io::{Write, copy, sink};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration;

use wan::{Emulation, Plan};

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

const LAN: &str = "format = 1
[[site]]
name = \"lan\"
hosts = [\"a\", \"b\", \"c\"]
lan-bandwidth = \"80 Mbit/s\"
";
const N_BYTES: usize = 1_000_000;

/// What it takes to send so many bytes from host to host, for two pairs of hosts at the same time.
fn sending(emulation: &Emulation, plan: &Plan, pairs: [(usize, usize); 2]) -> Duration {
    let begun = clock::instant();
    thread::scope(|scope| {
        for (from, to) in pairs {
            let address = plan.address(0, to);
            let listener = emulation.within(0, to, || TcpListener::bind((address, 0))).unwrap();
            let address = listener.local_addr().unwrap();
            scope.spawn(move || {
                let mut stream = emulation.within(0, from, || TcpStream::connect(address)).unwrap();
                stream.write_all(&vec![0; N_BYTES]).unwrap();
            });
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                assert_eq!(copy(&mut stream, &mut sink()).unwrap(), N_BYTES as u64);
            });
        }
    });
    begun.elapsed()
}

/// Twice 1 MB takes 200 ms of the one link that both need; a tenth of that may go at once.
#[test]
#[ignore = "needs root; run by make test"]
fn inside_a_site_a_hosts_link_has_its_rate_either_way() {
    let plan = Plan::parse(LAN, Path::new("")).unwrap();
    let emulation = Emulation::start(&plan, Path::new("/etc/hosts"), &watch()).unwrap();
    for pairs in [[(0, 1), (0, 2)], [(1, 0), (2, 0)]] {
        let span = sending(&emulation, &plan, pairs);
        assert!(span >= Duration::from_millis(180), "{span:?}");
    }
}
