//! Streams on a network of two hosts: network namespaces that a pair of virtual interfaces joins.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

/// Networks that this process has made; each has names of its own.
static N_NETWORKS: AtomicU32 = AtomicU32::new(0);

const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// Two hosts, each with a network and a folder of announced streams of its own. They go with it.
struct Lan {
    hosts: [String; 2],
    folders: [TempDir; 2],
}

/// A component that ends with its test.
struct Component(Child);

impl Lan {
    fn new() -> Self {
        let (process, network) = (std::process::id(), N_NETWORKS.fetch_add(1, Relaxed));
        let hosts = ["a", "b"].map(|end| format!("foretop-{process}-{network}-{end}"));
        let lan = Self { hosts, folders: [(); 2].map(|()| tempfile::tempdir().unwrap()) };
        let [a, b] = &lan.hosts;
        ip(&["netns", "add", a]);
        ip(&["netns", "add", b]);
        ip(&["link", "add", "wire", "netns", a, "type", "veth", "peer", "name", "wire", "netns", b]);
        for (host, address) in lan.hosts.iter().zip(ADDRESSES) {
            ip(&["-n", host, "addr", "add", &format!("{address}/24"), "dev", "wire"]);
            ip(&["-n", host, "link", "set", "lo", "up"]);
            ip(&["-n", host, "link", "set", "wire", "up"]);
            ip(&["-n", host, "route", "add", "default", "dev", "wire"]);
        }
        lan
    }

    /// `foretop stream …` on one of the hosts.
    fn stream(&self, host: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.hosts[host], env!("CARGO_BIN_EXE_foretop"), "stream"]).args(arguments);
        command.env("XDG_RUNTIME_DIR", self.folders[host].path());
        command
    }

    fn start(&self, host: usize, arguments: &[&str]) -> Component {
        Component(self.stream(host, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// What such a command prints until it ends.
    fn output(&self, host: usize, arguments: &[&str]) -> String {
        String::from_utf8(self.stream(host, arguments).output().unwrap().stdout).unwrap()
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for host in &self.hosts {
            let _ = Command::new("ip").args(["netns", "del", host]).status();
        }
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {}", arguments.join(" "));
}

fn token(folder: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("token");
    std::fs::write(&path, "a-token-of-some-length").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
#[ignore = "needs root and network namespaces; run by make test"]
fn a_stream_is_found_and_read_by_its_name_without_any_server() {
    let lan = Lan::new();
    let token = token(lan.folders[0].path());
    let protected = ["--allow-plain", "--token-file", &token];
    let place = format!("connect:tcp:{}:0", ADDRESSES[0]);
    let _server =
        lan.start(0, &[&["load-server", "--step", "100ms", "--host", "alpha", &place], &protected[..]].concat());
    let found = wait_until("the other host finds it", PATIENCE, || {
        Some(lan.output(1, &["find", "--signal", "load.5*", "--wait", "1s"])).filter(|found| !found.is_empty())
    });
    assert!(
        found.starts_with(&format!("load-server/load@alpha: load.1m and 2 more: tcp:{}:", ADDRESSES[0])),
        "{found}"
    );
    assert_eq!(lan.output(1, &["find", "--name", "other", "--wait", "1s"]), "");
    let read = lan.output(1, &[&["client", "--count", "2", "source:name:load@alpha"], &protected[..]].concat());
    assert!(read.starts_with("# load of alpha: measurements of load.1m, load.5m, load.15m"), "{read}");
    assert_eq!(read.lines().filter(|line| !line.starts_with('#')).count(), 2, "{read}");
}

#[test]
#[ignore = "needs root and network namespaces; run by make test"]
fn a_multicast_group_is_read_by_another_host() {
    let lan = Lan::new();
    let groups = ["udp:239.99.99.99:5012", "udp:[ff15::99]:5012"];
    let targets = groups.map(|group| format!("target:{group}"));
    let _server = lan.start(0, &["load-server", "--step", "50ms", "--allow-plain", &targets[0], &targets[1]]);
    for group in groups {
        let read = lan.output(1, &["client", "--allow-plain", "--count", "30", &format!("source:{group}")]);
        assert!(read.contains("load.1m="), "whoever joins late is told what it is: {read}");
        assert!(read.lines().filter(|line| !line.starts_with('#')).count() == 30, "{read}");
    }
}

#[test]
#[ignore = "needs root and network namespaces; run by make test"]
fn a_group_is_reached_by_the_interface_that_is_named() {
    let lan = Lan::new();
    let group = "udp:239.99.99.98:5012?interface=wire";
    // A route says that the group is elsewhere.
    for host in &lan.hosts {
        ip(&["-n", host, "route", "add", "239.99.99.98/32", "dev", "lo"]);
    }
    let _server = lan.start(0, &["load-server", "--step", "50ms", "--allow-plain", &format!("target:{group}&ttl=4")]);
    // More than a second's worth: so often whoever joins late is told what the group carries.
    let read = lan.output(1, &["client", "--allow-plain", "--count", "30", &format!("source:{group}")]);
    assert!(read.contains("load.1m="), "{read}");
}

#[test]
#[ignore = "needs root and network namespaces; run by make test"]
fn a_group_without_a_route_is_told_by_its_endpoint() {
    let lan = Lan::new();
    ip(&["-n", &lan.hosts[0], "link", "set", "wire", "down"]);
    let check = |component: &[&str], socket: &str, reason: &str| {
        let path = lan.folders[0].path().join(socket).display().to_string();
        let server = format!("server:unix:{path}");
        let _component = lan.start(0, &[component, &["--allow-plain", &server]].concat());
        let said = wait_until("it says what is wrong", PATIENCE, || {
            Some(lan.output(0, &["status", &format!("source:unix:{path}")])).filter(|said| said.contains("last error"))
        });
        assert!(said.contains(reason), "{said}");
    };
    let target = "target:udp:239.99.99.99:5012";
    check(&["load-server", target], "out", &format!("cannot open {target}: Network is unreachable"));
    let source = "source:udp:239.99.99.99:5012";
    check(&["client", source], "in", &format!("cannot open {source}: No such device"));
    let source = "source:udp:239.99.99.99:5012?interface=none";
    check(&["client", source], "named", &format!("cannot open {source}: No such device"));
}
