//! Prometheus Alertmanager of the distribution: a warning of a node is an alert there while it stands.
//!
//! The server is the one that `FORETOP_TEST_ALERTMANAGER` names, or else `prometheus-alertmanager` in `PATH`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{PATIENCE, wait_until};

use crate::node::Running;

/// A server on a port and in a folder of its own.
struct Alertmanager {
    child: Child,
    url: String,
}

impl Alertmanager {
    fn start(folder: &Path) -> Self {
        let program = std::env::var_os("FORETOP_TEST_ALERTMANAGER").unwrap_or_else(|| "prometheus-alertmanager".into());
        let (config, log) = (folder.join("alertmanager.yml"), folder.join("alertmanager.log"));
        fs::write(&config, "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n").unwrap();
        let child = command(&PathBuf::from(program))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", folder.join("alertmanager").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--cluster.listen-address="])
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut server = Self { child, url: String::new() };
        let address = wait_until("the server says where it listens", PATIENCE, || {
            let said = fs::read_to_string(&log).unwrap();
            assert!(server.child.try_wait().unwrap().is_none(), "it ended: {said}");
            let line = said.lines().find(|line| line.contains("Listening on"))?;
            Some(line.rsplit_once("address=")?.1.to_owned())
        });
        server.url = format!("http://{address}");
        server
    }

    fn alerts(&self) -> Vec<Value> {
        let mut answer = ureq::get(format!("{}/api/v2/alerts", self.url)).call().unwrap();
        answer.body_mut().read_json().unwrap()
    }
}

impl Drop for Alertmanager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program; if it is of an unpacked package, with what the package has in `/usr/share` seen there.
fn command(program: &Path) -> Command {
    let share = program.parent().and_then(Path::parent).map(|usr| usr.join("share"));
    let Some(share) = share.filter(|share| share.join("prometheus").is_dir() && share != Path::new("/usr/share"))
    else {
        return Command::new(program);
    };
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount -t overlay overlay -o \"lowerdir=$0:/usr/share\" /usr/share && exec \"$@\"");
    command.arg(share).arg(program);
    command
}

#[test]
#[ignore = "needs prometheus-alertmanager; run by make test"]
fn a_warning_is_an_alert_while_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let alertmanager = Alertmanager::start(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // A name that means something to TOML, JSON and templates alike.
    let rule = |when: &str| format!("[[rule]]\nname = '{{{{ \"there\" \\ }}}}'\nwhen = \"{when}\"\nwithin = \"2s\"\n");
    fs::write(path("rules.toml"), rule("load.1m < 1000")).unwrap();
    let config = format!(
        "[warn]\nrules = \"{}\"\nevery = \"1s\"\nalertmanager = [{{url = \"{}\"}}]\n",
        path("rules.toml"),
        alertmanager.url
    );
    fs::write(path("foretop.toml"), config).unwrap();
    let node =
        Running::start(&["--in-memory", "--every", "100ms", "--only", "load.*", "--config", &path("foretop.toml")]);
    let alert = wait_until("the alert is there", PATIENCE, || alertmanager.alerts().pop());
    assert_eq!(alert["labels"]["alertname"], "{{ \"there\" \\ }}", "{alert}");
    assert_eq!((&alert["labels"]["series"], &alert["status"]["state"]), (&"load.1m".into(), &"active".into()));
    assert_eq!(alert["annotations"]["summary"], "load.1m < 1000 within 2s: 100 %");
    assert!(alert["generatorURL"].as_str().unwrap().starts_with(&node.url), "{alert}");

    fs::write(path("rules.toml"), rule("load.1m > 1000000")).unwrap();
    wait_until("the alert is over", PATIENCE, || alertmanager.alerts().is_empty().then_some(()));
}
