//! Either end is killed in the middle of a transfer, over and over: a client gets all of the file, or sees that it did
//! not.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use testkit::{PATIENCE, wait_until};

/// How often an end is killed: each time, some other part of the file has come.
const N_KILLS: usize = 100;

pub struct End(Child);

impl Drop for End {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl End {
    /// Tells it to end, and waits until it has, in order.
    pub fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

/// Starts an end, and says where it listens.
pub fn start(end: &str, folder: &Path) -> (End, SocketAddr) {
    let config = folder.join(format!("{end}.toml"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_foretop-tunnel"))
        .args([end, "--config"])
        .arg(config)
        .env("FORETOP_LOG", "off")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (End(child), line.trim().strip_prefix("listening at ").unwrap_or_else(|| panic!("{end}: {line}")).parse().unwrap())
}

pub fn configure(folder: &Path, far: &str, server: SocketAddr) {
    let common = "format = 1\n[security]\ntoken = \"token\"\n[store]\nfolder = ";
    fs::write(folder.join("token"), "a-token-for-both-of-them").unwrap();
    fs::set_permissions(folder.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!("{common}\"far\"\n[far]\nlisten = \"{far}\"\nallow = [\"127.0.0.1:*\"]\n");
    fs::write(folder.join("far.toml"), text).unwrap();
    let forward = format!("[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"{server}\"\n");
    fs::write(folder.join("near.toml"), format!("{common}\"near\"\n[near]\nconnect = \"{far}\"\n{forward}")).unwrap();
}

/// Says `data` to whoever says something.
pub fn server(data: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, data) = (client.unwrap(), data.clone());
            // Clients that go away are what this is about.
            thread::spawn(move || client.read_exact(&mut [0]).and_then(|()| client.write_all(&data)));
        }
    });
    address
}

pub fn fetch(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"?")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Asks for the file, and waits for so much of it.
fn begin(address: SocketAddr, n_bytes: usize) -> std::io::Result<(TcpStream, Vec<u8>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"?")?;
    let mut begun = vec![0; n_bytes];
    stream.read_exact(&mut begun)?;
    Ok((stream, begun))
}

/// Bytes without redundancy, the same each time.
pub fn noise(n_bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..n_bytes).map(|_| next()).collect()
}

#[test]
fn a_client_gets_the_whole_file_or_an_error_whoever_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let data = noise(12_000_000);
    let server = server(data.clone());
    configure(folder.path(), "127.0.0.1:0", server);
    let (mut far, address) = start("far", folder.path());
    configure(folder.path(), &address.to_string(), server);
    let (mut near, mut front) = start("near", folder.path());
    let mut n_broken = 0;
    for kill in 0..N_KILLS {
        // An end that was started anew refuses streams until the link is there again.
        let (mut stream, mut heard) =
            wait_until("a file begins", PATIENCE, || begin(front, 100_000 + kill % 12 * 300_000).ok());
        if kill % 2 == 0 {
            drop(far);
            far = start("far", folder.path()).0;
        } else {
            drop(near);
            (near, front) = start("near", folder.path());
        }
        match stream.read_to_end(&mut heard) {
            Ok(_) => assert!(heard == data, "{} bytes were taken for all after kill {kill}", heard.len()),
            Err(_) => n_broken += 1,
        }
        assert!(data.starts_with(&heard), "wrong bytes after kill {kill}");
    }
    assert!(n_broken > 0, "nothing was ever broken off");
    let whole = wait_until("a whole file", PATIENCE, || fetch(front).ok());
    assert!(whole == data);
    drop((near, far));
}

#[test]
fn an_end_that_is_told_to_end_ends_well_and_its_status_says_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let data = noise(1_000_000);
    let server = server(data.clone());
    configure(folder.path(), "127.0.0.1:0", server);
    let (far, address) = start("far", folder.path());
    configure(folder.path(), &address.to_string(), server);
    let (near, front) = start("near", folder.path());
    assert!(fetch(front).unwrap() == data);
    let status = |format: &str| {
        let config = folder.path().join("far.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretop-tunnel"));
        command.args(["status", "--format", format, "--config"]).arg(config).output().unwrap()
    };
    let told = String::from_utf8(status("prometheus").stdout).unwrap();
    assert!(told.contains("foretop_tunnel_given_bytes_total{end=\"far\"} 1000000\n"), "{told}");
    let told = String::from_utf8(status("table").stdout).unwrap();
    assert!(told.contains("ratio of what was sent"), "{told}");
    far.end();
    let output = status("json");
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && complaint.contains("is it running?"), "{complaint}");
    drop(near);
}
