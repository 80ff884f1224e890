//! A NATS server of a test's own.

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{PATIENCE, wait_until};

/// A NATS server with JetStream on a port and in a folder of its own. It goes away with the value.
pub struct NatsServer {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl NatsServer {
    /// Starts one that keeps what it has to keep below `folder`. The program is what `FORETOP_TEST_NATS_SERVER` names,
    /// or else `nats-server`.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        // The server finds a free port itself, and writes it into this folder.
        let child = spawn(folder, "-1");
        let file = folder.join(format!("nats-server_{}.ports", child.id()));
        let port = wait_until("the NATS server says where it listens", PATIENCE, || {
            let text = fs::read_to_string(&file).ok()?;
            text.split("nats://127.0.0.1:").nth(1)?.split('"').next()?.parse().ok()
        });
        let server = Self { child, folder: folder.to_owned(), port };
        server.wait_for_answer();
        server
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Returns the number of the server's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as a power failure would. It is gone when this returns.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child of ours can be killed");
        self.child.wait().expect("a child of ours can be waited for");
    }

    /// Starts it again after [`NatsServer::kill`], where it was and with what it has kept.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.folder, &self.port.to_string());
        self.wait_for_answer();
    }

    fn wait_for_answer(&self) {
        wait_until("the NATS server answers", PATIENCE, || {
            let mut greeting = [0; 4];
            TcpStream::connect(("127.0.0.1", self.port)).ok()?.read_exact(&mut greeting).ok()?;
            (greeting == *b"INFO").then_some(())
        });
    }
}

fn spawn(folder: &Path, port: &str) -> Child {
    let program = std::env::var_os("FORETOP_TEST_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    let log = File::create(folder.join("nats-server.log")).expect("a test's folder can be written to");
    Command::new(&program)
        .args(["--jetstream", "--addr", "127.0.0.1", "--port", port, "--store_dir"])
        .arg(folder)
        .arg("--ports_file_dir")
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()))
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
