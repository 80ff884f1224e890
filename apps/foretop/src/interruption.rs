//! The signals that ask a command for a clean end.

use std::sync::mpsc;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Watches for Ctrl-C, a request to terminate, and the loss of the terminal, which from here on do not kill the process.
pub fn watch() -> anyhow::Result<Signals> {
    Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")
}

/// The same as a channel that receives something for each such signal.
pub fn interruptions() -> anyhow::Result<mpsc::Receiver<()>> {
    let (sender, receiver) = mpsc::channel();
    let mut signals = watch()?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if sender.send(()).is_err() {
                break;
            }
        }
    });
    Ok(receiver)
}
