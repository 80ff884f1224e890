//! Programs in C that control an agent. It reads /proc here, which needs no root.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use kernel::{Agent, Engine, Error, Node, ProcOpener, Pulled, Sink};
use testkit::{PATIENCE, wait_until};

struct Nothing;

impl Sink for Nothing {
    fn pulled(&mut self, _: &mut Engine, _: &[Pulled]) -> Result<(), Error> {
        Ok(())
    }

    fn traced(&mut self, _: &mut Engine) -> Result<(), Error> {
        Ok(())
    }
}

/// Compiles a source of `tests/programs` against the header and the library, as its user would.
fn compiled(source: &str, folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = testkit::launch::preloaded(&["kernel_link"]);
    let place = Path::new(&library).parent().unwrap().to_str().unwrap();
    let program = folder.join("program");
    let status = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(root.join("../../include"))
        .arg(root.join("tests/programs").join(source))
        .args(["-L", place, "-lkernel_link", &format!("-Wl,-rpath,{place}"), "-o"])
        .arg(&program)
        .status();
    assert!(status.unwrap().success());
    program
}

#[test]
fn a_program_in_c_controls_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("controlled.c", folder.path());
    let [socket, deaf] = ["socket", "deaf"].map(|name| folder.path().join(name));
    let hangs_up = UnixListener::bind(&deaf).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| drop(hangs_up.accept()));
        scope.spawn(|| {
            let nodes = [(3, Node::Host), (17, Node::Host)].into();
            let engine = Engine::new(Box::new(ProcOpener), nodes, 1_000, None);
            let mut agent = Agent::listen(engine, &socket, None).unwrap();
            agent.serve(|| is_over.load(Ordering::Relaxed), &mut Nothing).unwrap();
        });
        wait_until("the agent listens", PATIENCE, || socket.exists().then_some(()));
        let output = Command::new(&program).arg(&socket).arg(&deaf).output();
        is_over.store(true, Ordering::Relaxed);
        let output = output.unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {told}", output.status);
    });
}
