//! `top` in a real terminal: the pseudo-terminal that `script` of util-linux makes, read as a terminal
//! would read it.

use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use testkit::{PATIENCE, wait_until};

use crate::node::{Running, folder};

const N_LINES: NonZeroU16 = NonZeroU16::new(30).unwrap();
const N_COLUMNS: NonZeroU16 = NonZeroU16::new(110).unwrap();

/// A `foretop top` with a terminal of its own.
struct View {
    child: Child,
    keys: ChildStdin,
    terminal: Arc<Mutex<vt100::Parser>>,
    folder: TempDir,
}

impl View {
    fn open(arguments: &str) -> Self {
        let folder = folder();
        // `exec` keeps the shell's process number, so that signals can be sent to it.
        let line = format!(
            "stty cols {N_COLUMNS} rows {N_LINES}; echo $$ > {}; exec {} top --filter load {arguments}",
            Self::pid_file(&folder).display(),
            env!("CARGO_BIN_EXE_foretop")
        );
        let mut child = Command::new("script")
            .args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env_remove("FORETOP_NODE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux is needed to test the terminal view");
        let terminal = Arc::new(Mutex::new(vt100::Parser::new(N_LINES, N_COLUMNS, 0)));
        let (mut output, sink) = (child.stdout.take().unwrap(), Arc::clone(&terminal));
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n_bytes @ 1..) = output.read(&mut chunk) {
                sink.lock().unwrap().process(&chunk[..n_bytes]);
            }
        });
        Self { keys: child.stdin.take().unwrap(), child, terminal, folder }
    }

    fn pid_file(folder: &TempDir) -> PathBuf {
        Path::join(folder.path(), "pid")
    }

    fn shown(&self) -> String {
        self.terminal.lock().unwrap().screen().contents()
    }

    /// Waits until `text` stands on the view's screen.
    #[track_caller]
    fn wait_for(&self, text: &str) {
        wait_until(&format!("`{text}` is shown"), PATIENCE, || {
            (self.is_full_screen() && self.shown().contains(text)).then_some(())
        });
    }

    /// The full-screen programs' screen, which leaves what was there before untouched.
    fn is_full_screen(&self) -> bool {
        self.terminal.lock().unwrap().screen().alternate_screen()
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Checks that it ends well, and gives the terminal back.
    #[track_caller]
    fn check_ends(mut self) {
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.shown());
        wait_until("the terminal is given back", PATIENCE, || (!self.is_full_screen()).then_some(()));
        assert!(!self.terminal.lock().unwrap().screen().hide_cursor());
    }
}

#[test]
fn keys_lead_through_the_view_and_out_of_it() {
    let node = Running::in_memory();
    let mut view = View::open(&format!("--node {}", node.url));
    view.wait_for("load.1m ");
    view.press("?");
    view.wait_for("sort by relative uncertainty");
    view.press("x");
    view.wait_for("/ filter");
    view.press("/.1");
    view.wait_for("filter load.1_");
    view.press("\r\r");
    view.wait_for("of LAST");
    view.press("q");
    view.check_ends();
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_given_back() {
    let node = Running::in_memory();
    let view = View::open(&format!("--node {}", node.url));
    view.wait_for("load.1m ");
    let pid = fs::read_to_string(View::pid_file(&view.folder)).unwrap();
    assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap().success());
    view.check_ends();
}

#[test]
fn a_node_that_comes_back_is_followed_again() {
    let node = Running::in_memory();
    let address = node.url.strip_prefix("http://").unwrap().to_owned();
    let mut view = View::open(&format!("--node {address}"));
    view.wait_for("  live");
    node.kill();
    view.wait_for("not connected");
    let _back = Running::start_at(&address, &["--in-memory", "--only", "load.*", "--every", "50ms"]);
    view.wait_for("  live");
    view.press("\x03");
    view.check_ends();
}
