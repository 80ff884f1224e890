//! A link model of one's own: a satellite that is out of sight for a second in every ten.
#![expect(clippy::print_stdout, reason = "an example prints")]
use std::time::Duration;

use netmodel::{Delay, Fate, Link, Passage, Rules};
use units::{Bandwidth, ByteCount};

struct Satellite(Bandwidth);

impl Delay for Satellite {
    fn delay(&mut self, begin: Duration, size: ByteCount) -> Option<Passage> {
        let hidden_until = Duration::from_secs(begin.as_secs() / 10 * 10 + 1);
        let serialization = hidden_until.saturating_sub(begin) + self.0.serialization_time(size);
        Some(Passage { serialization, latency: Duration::from_millis(270) })
    }
}

fn main() {
    let bandwidth = Bandwidth::new(10_000_000).expect("above 0");
    let mut link = Link::new(Box::new(Satellite(bandwidth)), Rules::default(), 1);
    for at_ms in [0, 500, 2_000, 10_500] {
        match link.send(Duration::from_millis(at_ms), ByteCount::new(1_500)) {
            Fate::Arrives { at } => println!("sent at {at_ms} ms, there at {} ms", at.as_secs_f64() * 1e3),
            Fate::Dropped(why) => println!("sent at {at_ms} ms, dropped: {why}"),
        }
    }
}
