//! The signals that ask a command for a clean end.

use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Watches for Ctrl-C, a request to terminate, and the loss of the terminal, which from here on do not kill the
/// process.
pub fn watch() -> anyhow::Result<Signals> {
    Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")
}

/// Longest time that a clean end may take.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Orders the end at the first such signal. At the second one, or if the end takes too long, as it does where nobody
/// reads what is written, the process ends as it would have by itself.
pub fn end_by(mut signals: Signals, order: impl FnOnce()) {
    let mut signals = signals.forever();
    let Some(signal) = signals.next() else { return };
    order();
    std::thread::spawn(move || {
        clock::sleep(END_LIMIT);
        end(signal);
    });
    if let Some(second) = signals.next() {
        end(second);
    }
}

fn end(signal: i32) {
    // Without it the process stays until it is killed.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
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
