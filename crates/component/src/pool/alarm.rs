//! Alarms for the end of a part of a server, which no part reports by itself.

use std::sync::mpsc::{Receiver, Sender, channel};

/// Alarm of a part, held while the part works.
pub(super) struct Alarm {
    part: &'static str,
    tell: Sender<&'static str>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // Nobody wants to know when the server ends as a whole.
        let _ = self.tell.send(self.part);
    }
}

/// Returns an alarm for each part, and the receiver of the alarms.
pub(super) fn alarms<const N: usize>(parts: [&'static str; N]) -> ([Alarm; N], Receiver<&'static str>) {
    let (tell, heard) = channel();
    (parts.map(|part| Alarm { part, tell: tell.clone() }), heard)
}

impl Alarm {
    /// Awaits the work, and holds the alarm meanwhile.
    pub(super) async fn until_end_of(self, work: impl Future<Output = ()>) {
        work.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_panics_is_heard_of() {
        let ([one, other], heard) = alarms(["one", "other"]);
        assert!(heard.try_recv().is_err());
        let panicked = std::thread::spawn(move || {
            let _alarm = one;
            panic!("the fault of this test");
        });
        assert!(panicked.join().is_err());
        assert_eq!(heard.try_recv(), Ok("one"));
        drop(other);
    }
}
