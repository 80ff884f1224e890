//! Flows from the `snmpd` of the distribution, as a stream and without a node.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::command::run;
use crate::stream::{Component, of_kind};

/// An agent of an ordinary user.
struct Agent(Child);

impl Agent {
    fn start(folder: &Path, port: u16) -> Self {
        fs::write(folder.join("snmpd.conf"), "rocommunity readable 127.0.0.1\n").unwrap();
        let program =
            std::env::var_os("FORETOP_TEST_SNMPD").map_or_else(|| PathBuf::from("/usr/sbin/snmpd"), PathBuf::from);
        let mut command = Command::new(program);
        command.args(["-f", "-Lo", "-C", "-c"]).arg(folder.join("snmpd.conf")).arg(format!("udp:127.0.0.1:{port}"));
        command.env("SNMP_PERSISTENT_DIR", folder).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "needs snmpd; run by make test"]
fn a_flow_server_asks_agents_instead_of_making_transfers() {
    let folder = tempfile::tempdir().unwrap();
    // It refuses port 0, so a free one is found first.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _agent = Agent::start(folder.path(), port);
    let community = folder.path().join("community");
    fs::write(&community, "readable\n").unwrap();
    fs::set_permissions(&community, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let configuration = folder.path().join("foretop.toml");
    let text = format!(
        "[snmp]\nevery = '200ms'\n\
         agent = [{{ name = 'here', address = '127.0.0.1:{port}', community_file = '{}', timeout = '2s' }}]\n\
         link = [{{ name = 'loop', agent = 'here', interface = 'lo', capacity = 1e12 }}]\n\
         flow = [{{ peer = 'self', path = ['loop:sent'] }}]\n",
        community.display()
    );
    fs::write(&configuration, text).unwrap();
    let path = configuration.to_str().unwrap();
    let flows = Component::start(&["flow-server", "--snmp", path, "connect:tcp:127.0.0.1:0"]);
    let one = Component::start(&["flow-to-measure", "flow.self", &flows.source("connect"), "connect:tcp:127.0.0.1:0"]);
    let said = run(&["stream", "client", "--json", "--count", "5", &one.source("connect")]).stdout;
    let left: Vec<Option<f64>> = of_kind(&said, "sample").iter().map(|sample| sample["value"].as_f64()).collect();
    // The first reading of counters makes no rate.
    assert!(left.iter().flatten().any(|left| *left > 0.0 && *left <= 1e12), "{said}");
}
