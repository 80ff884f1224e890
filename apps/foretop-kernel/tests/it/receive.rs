//! Receiving on another host, which is this one: clocks that are apart by nothing have to be found so.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::agent::Agent;
use crate::kernel;

fn receive(agent: &Agent, out: &Path, arguments: &[&str]) -> Output {
    let socket = agent.socket();
    let [socket, out] = [&socket, out].map(|path| path.to_str().unwrap());
    kernel(&[&["receive", "--socket", socket, "--out", out], arguments].concat())
}

/// The file that a command says it wrote, and the text beside it.
#[track_caller]
fn received(output: &Output) -> (PathBuf, String) {
    let told = String::from_utf8_lossy(&output.stdout);
    let file: PathBuf = told.lines().next().unwrap_or_else(|| panic!("{output:?}")).into();
    let info = std::fs::read_to_string(format!("{}.info", file.display())).unwrap();
    (file, info)
}

fn number(info: &str, name: &str) -> f64 {
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in\n{info}")).parse().unwrap()
}

#[test]
fn what_an_agent_measures_is_written_with_offset_and_drift_of_its_clock() {
    let agent = Agent::start(&["--source", "proc", "--interval", "20ms", "--on"]);
    let folder = tempfile::tempdir().unwrap();
    for format in ["own", "sddf"] {
        let out = folder.path().join(format);
        std::fs::create_dir(&out).unwrap();
        let output = receive(&agent, &out, &["--for", "300ms", "--format", format]);
        assert!(output.status.success(), "{output:?}");
        let (file, info) = received(&output);
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.ends_with(".kernel") && info.contains(&format!("FileName: {name}\n")), "{info}");
        assert!(info.contains("Nodes: 0=host\n") && info.contains("\nRecord: VM Summary\n"), "{info}");
        assert!(!info.contains("Cut: ") && !info.contains("Alive") && !info.contains("\nReceiver: "), "{info}");
        // The shortest of 16 trips on one host; at both ends of the file, so that there is a drift.
        let [offset, bound] = ["ReceiverOffset_ns", "ReceiverOffsetBound_ns"].map(|name| number(&info, name));
        assert!(offset.abs() <= bound + 1.0 && bound > 0.0, "{offset} +- {bound}");
        let [drift, bound] = ["ReceiverDrift_ppb", "ReceiverDriftBound_ppb"].map(|name| number(&info, name));
        assert!(drift.abs() <= bound + 1.0, "{drift} +- {bound}");
        let stated: u64 = info.lines().filter_map(|line| line.strip_prefix("Count: ")?.parse::<u64>().ok()).sum();
        let shown = kernel(&["show", file.to_str().unwrap()]);
        assert!(shown.status.success() && stated > 0, "{shown:?}");
    }
}

#[test]
fn a_finished_file_goes_to_a_folder_or_by_put_to_a_server_and_its_text_last() {
    let agent = Agent::start(&["--source", "proc", "--interval", "20ms", "--on"]);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let (file, info) = received(&receive(&agent, folder.path(), &["--for", "100ms", "--to", place.to_str().unwrap()]));
    let copy = place.join(file.file_name().unwrap());
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(&copy).unwrap());
    assert_eq!(std::fs::read_to_string(format!("{}.info", copy.display())).unwrap(), info);
    std::fs::remove_file(&file).unwrap();

    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/measured/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || [take(&listener), take(&listener)]);
    let arguments = ["--for", "100ms", "--to", &url, "--to-token-file", token.to_str().unwrap()];
    let output = receive(&agent, folder.path(), &arguments);
    assert!(output.status.success(), "{output:?}");
    let (file, info) = received(&output);
    let name = file.file_name().unwrap().to_str().unwrap();
    let [(head, body), (head_of_text, text)] = server.join().unwrap();
    assert!(head.starts_with(&format!("PUT /measured/{name} HTTP/1.1\r\n")), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer 0123456789abcdef\r\n"), "{head}");
    assert!(head_of_text.starts_with(&format!("PUT /measured/{name}.info HTTP/1.1\r\n")), "{head_of_text}");
    assert_eq!((body, text), (std::fs::read(&file).unwrap(), info.into_bytes()));
}

/// A node beside the agent, with a certificate and a token in this folder, killed when dropped.
struct Node {
    child: Child,
    url: String,
}

impl Node {
    /// Nothing where there is no `foretop` beside the program that is tested; scripts/kernel.sh says so.
    fn start(agent: &Agent, folder: &Path) -> Option<Self> {
        let foretop = Path::new(env!("CARGO_BIN_EXE_foretop-kernel")).with_file_name("foretop");
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = made.signing_key.serialize_pem();
        for (name, text) in
            [("ca", made.cert.pem()), ("key", key), ("token", "0123456789abcdef0123456789abcdef\n".into())]
        {
            std::fs::write(folder.join(name), text).unwrap();
            std::fs::set_permissions(folder.join(name), Permissions::from_mode(0o600)).unwrap();
        }
        let mut command = Command::new(foretop);
        command.args(["up", "--in-memory", "--listen", "127.0.0.1:0", "--only", "load.*", "--log", "warn", "--kernel"]);
        command.arg(agent.socket());
        for (option, name) in [("--tls-cert", "ca"), ("--tls-key", "key"), ("--token-file", "token")] {
            command.arg(option).arg(folder.join(name));
        }
        let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("https://")).expect("the node is up").to_owned();
        Some(Self { child, url })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn through_a_node_it_comes_by_tls_to_whoever_trusts_its_certificate_and_has_its_token() {
    let agent = Agent::start(&["--source", "proc", "--interval", "20ms", "--on"]);
    let folder = tempfile::tempdir().unwrap();
    let Some(node) = Node::start(&agent, folder.path()) else { return };
    let [token, ca] = ["token", "ca"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let receive = |arguments: &[&str]| {
        let out = folder.path().to_str().unwrap();
        kernel(&[&["receive", "--through", &node.url, "--for", "300ms", "--out", out], arguments].concat())
    };
    let output = receive(&["--token-file", &token, "--ca", &ca]);
    assert!(output.status.success(), "{output:?}");
    let (file, info) = received(&output);
    assert!(info.contains("\nRecord: VM Summary\n") && !info.contains("Cut: "), "{info}");
    let [offset, bound] = ["ReceiverOffset_ns", "ReceiverOffsetBound_ns"].map(|name| number(&info, name));
    assert!(offset.abs() <= bound + 1.0, "{offset} +- {bound}");
    assert!(kernel(&["show", file.to_str().unwrap()]).status.success());
    for (arguments, part) in
        [(["--token-file", &token].as_slice(), "its certificate is from an unknown issuer"), (&["--ca", &ca], "token")]
    {
        let output = receive(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains(part), "{told}");
    }
}

/// Takes one request: its head and its body.
fn take(listener: &TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
    let mut body = vec![0; head.lines().find_map(length).unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    (head, body)
}

#[test]
fn a_place_that_is_none_is_told_before_anything_is_measured() {
    for (to, part) in [("/nonexistent/place", "make it first"), ("ftp://x/", "is no address")] {
        let output = kernel(&["receive", "--socket", "/nonexistent/socket", "--to", to]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(part), "{told}");
    }
}

#[test]
fn of_an_agent_that_is_killed_the_file_holds_what_came_and_says_so() {
    let agent = Agent::start(&["--source", "proc", "--interval", "20ms", "--on"]);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretop-kernel"));
    command.arg("receive").arg("--socket").arg(agent.socket()).arg("--out").arg(folder.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    testkit::wait_until("the file grows", testkit::PATIENCE, || {
        let mut files = std::fs::read_dir(folder.path()).unwrap();
        files.next().filter(|file| file.as_ref().unwrap().metadata().unwrap().len() > 0).map(drop)
    });
    drop(agent);
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("holds what came until this: "), "{told}");
    let (file, info) = received(&output);
    assert!(info.contains("\nCut: "), "{info}");
    assert!(kernel(&["show", file.to_str().unwrap()]).status.success());
}
