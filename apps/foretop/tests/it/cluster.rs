//! One node follows another's stream: two real nodes, TLS and a token between them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::{PATIENCE, wait_until};

use crate::command::run;
use crate::node::{Running, folder};

/// A token and a certificate for the loopback, in files.
fn write_secrets(folder: &Path) {
    let token = folder.join("token");
    fs::write(&token, "a-secret-for-streams-only\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.join("certificate.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

/// A port that nobody has. It was bound and let go, so that a node that is started again can have the same.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
}

impl Cluster {
    fn new() -> Self {
        let folder = folder();
        write_secrets(folder.path());
        Self { folder, port: free_port() }
    }

    fn config(&self, name: &str, text: &str) -> String {
        let folder = self.folder.path().display();
        let path = self.folder.path().join(name);
        fs::write(&path, text.replace("DIR", &folder.to_string()).replace("PORT", &self.port.to_string())).unwrap();
        path.display().to_string()
    }

    fn sender(&self) -> Running {
        let section = "[[stream]]\nendpoints = ['connect:tcp:127.0.0.1:PORT']\ntoken_file = 'DIR/token'\n\
                       certificate = 'DIR/certificate.pem'\nkey = 'DIR/key.pem'\n";
        let config = self.config("sender.toml", section);
        Running::start(&["--in-memory", "--every", "50ms", "--only", "load.*", "--config", &config])
    }

    fn follower(&self) -> Running {
        let section = "[[follow]]\nendpoint = 'source:tcp:127.0.0.1:PORT'\nname = 'db1'\nevery = '50ms'\n\
                       token_file = 'DIR/token'\nauthorities = 'DIR/certificate.pem'\n";
        let config = self.config("follower.toml", section);
        Running::start(&["--in-memory", "--every", "50ms", "--only", "*load.*", "--config", &config])
    }
}

/// Waits until the node has this much of a signal that comes over the stream.
fn wait_for_signal(node: &Running, id: &str) {
    wait_until(&format!("{id} is there"), PATIENCE, || {
        node.get("/api/v1/series")["series"].as_array().unwrap().iter().any(|series| series["id"] == id).then_some(())
    });
}

#[test]
fn a_node_shows_forecasts_of_the_host_that_it_follows_and_says_when_that_is_gone() {
    let cluster = Cluster::new();
    let sender = cluster.sender();
    let follower = cluster.follower();
    wait_for_signal(&follower, "db1/load.1m");
    let path = "/api/v1/series/db1%2Fload.1m";
    let has = |n: u64| {
        wait_until("samples come", PATIENCE, || (follower.get(path)["n_samples"].as_u64()? >= n).then_some(()))
    };
    has(5);
    let series = follower.get(path);
    assert_eq!(
        (&series["labels"]["host"], &series["unit"], &series["source"]),
        (&"db1".into(), &"tasks".into(), &"sensor".into())
    );
    assert_eq!(series["range"]["min"], 0.0);
    let forecast = follower.get(&format!("{path}/forecast?horizon=1s"));
    assert_eq!(forecast["mean"].as_array().unwrap().len(), 20);
    let metrics = ureq::get(format!("{}/metrics", follower.url)).call().unwrap().body_mut().read_to_string().unwrap();
    let has_line = |start: &str| metrics.lines().any(|line| line.starts_with(start));
    assert!(has_line("foretop_exported_load_1m_tasks{host=\"db1\"}"), "{metrics}");
    let endpoint = format!("source:tcp:127.0.0.1:{}", cluster.port);
    assert!(
        has_line(&format!("foretop_stream_connections{{endpoint=\"{endpoint}\",stream=\"follow db1\"}} 1")),
        "{metrics}"
    );

    sender.kill();
    let says_so = || follower.get("/healthz")["problems"].to_string().contains(&format!("{endpoint} is not connected"));
    wait_until("the loss is a problem", PATIENCE, || says_so().then_some(()));
    let n_before = follower.get(path)["n_samples"].as_u64().unwrap();
    let sender = cluster.sender();
    has(n_before + 3);
    wait_until("the problem is over", PATIENCE, || (!says_so()).then_some(()));
    assert!(sender.terminate("-TERM").0.success());
    assert!(follower.terminate("-TERM").0.success());
}

#[test]
fn a_sender_counts_what_it_sends_and_forecasts_are_a_stream_too() {
    let folder = folder();
    let place = folder.path().join("forecasts").display().to_string();
    let config = folder.path().join("foretop.toml");
    fs::write(
        &config,
        format!("[[stream]]\nendpoints = ['connect:unix:{place}']\ncarries = 'forecasts'\nhorizon = '1s'\n"),
    )
    .unwrap();
    let node =
        Running::start(&["--in-memory", "--every", "50ms", "--only", "load.*", "--config", config.to_str().unwrap()]);
    let endpoint = format!("source:unix:{place}").parse().unwrap();
    let mut reader = stream::Reader::open(&endpoint, &stream::Security::default()).unwrap();
    let mut next = || reader.next(PATIENCE).unwrap().expect("a message comes");
    let stream::Message::Description(description) = next() else { panic!("the description comes first") };
    assert_eq!((description.horizon, description.carries), (Some(20), stream::Carries::Forecast));
    let stream::Message::Forecast(forecast) = next() else { panic!("forecasts follow") };
    assert_eq!((forecast.means.len(), forecast.standard_errors.len()), (20, 20));
    assert!(forecast.completed >= forecast.time && (forecast.signal as usize) < description.signals.len());
    let metrics = ureq::get(format!("{}/metrics", node.url)).call().unwrap().body_mut().read_to_string().unwrap();
    let frames = format!("foretop_stream_frames_total{{endpoint=\"connect:unix:{place}\",stream=\"forecasts\"}} ");
    assert!(metrics.lines().any(|line| line.starts_with(&frames)), "{metrics}");
}

#[test]
fn streams_that_make_no_sense_are_refused() {
    let up = |args: &[&str]| run(&[&["up", "--in-memory", "--listen", "127.0.0.1:0", "--log", "off"], args].concat());
    up(&["--stream", "sink:tcp:1"]).check_failed(2, "`sink` is not a role");
    up(&["--stream", "source:tcp:a:1"]).check_failed(2, "`connect:` or `target:`");
    up(&["--stream", "connect:tcp:0.0.0.0:0"]).check_failed(2, "it needs a token");
    up(&["--follow", "connect:tcp:0"]).check_failed(2, "`source:`");
    up(&["--follow", "source:tcp:a:1", "--follow", "source:tcp:a:1"]).check_failed(2, "given twice");
}
