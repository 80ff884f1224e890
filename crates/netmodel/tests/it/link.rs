//! Links: what holds for any messages over any link.

use std::collections::BTreeMap;
use std::time::Duration;

use netmodel::{AtEnd, Between, Constant, Delay, Drop, Fate, Link, Opportunities, Order, Rules, Trace, Wire};
use proptest::prelude::*;
use units::{Bandwidth, ByteCount, Ratio};

const LATENCY: Duration = Duration::from_micros(700);

/// Messages by pause since the one before, in microseconds, and size.
fn messages() -> impl Strategy<Value = Vec<(Duration, u64)>> {
    let message = (0_u64..2_000, prop_oneof![Just(1_500_u64), 0..70_000_u64]);
    prop::collection::vec(message, 1..120).prop_map(|messages| {
        let mut now = Duration::ZERO;
        let stamped = messages.into_iter().map(|(pause_us, size)| {
            now += Duration::from_micros(pause_us);
            (now, size)
        });
        stamped.collect()
    })
}

/// Each kind of delay, all with a latency of [`LATENCY`] at least.
fn delay(kind: u8) -> Box<dyn Delay> {
    let at = |idx: u64| Duration::from_millis(3 * idx);
    let latencies = (0..9).map(|idx| (at(idx), LATENCY + Duration::from_micros(idx * 7_919 % 900)));
    let rates = (0..5).filter_map(|idx| Some((at(idx), Bandwidth::new(1_000_000 + idx * 7_000_003)?)));
    match kind {
        0 => Box::new(Constant { latency: LATENCY, bandwidth: None }),
        1 => Box::new(Constant { latency: LATENCY, bandwidth: Bandwidth::new(10_000_000) }),
        2 => Box::new(Trace::new(latencies, rates).unwrap().follow(Between::Hold, AtEnd::Loop)),
        3 => Box::new(Trace::new(latencies, rates).unwrap().follow(Between::Linear, AtEnd::Stop)),
        _ => Box::new(Opportunities::read("1\n1\n4\n9\n", LATENCY).unwrap()),
    }
}

fn rules(order: Order, wire: Wire) -> Rules {
    let queue = ByteCount::new(100_000);
    Rules { wire, queue, loss: Ratio::new(0.1).unwrap(), burst: 2.0, jitter: Duration::from_micros(300), order }
}

fn fates(link: &mut Link, messages: &[(Duration, u64)]) -> Vec<Fate> {
    messages.iter().map(|&(now, size)| link.send(now, ByteCount::new(size))).collect()
}

proptest! {
    #[test]
    fn a_message_is_never_early_and_never_overtakes(messages in messages(), kind in 0_u8..5, seed: u64, is_shared: bool) {
        let wire = if is_shared { Wire::Shared } else { Wire::Own };
        // Opportunities are one wire's.
        prop_assume!(is_shared || kind < 4);
        let mut link = Link::new(delay(kind), rules(Order::Fifo, wire), seed);
        let mut last = Duration::ZERO;
        for (fate, (now, _)) in fates(&mut link, &messages).into_iter().zip(&messages) {
            if let Fate::Arrives { at } = fate {
                prop_assert!(at >= *now + LATENCY && at >= last, "sent at {now:?}, there at {at:?}, the last at {last:?}");
                last = at;
            }
        }
    }

    #[test]
    fn the_same_seed_and_messages_meet_the_same_fate(messages in messages(), kind in 0_u8..5, seed: u64) {
        let link = || Link::new(delay(kind), rules(Order::Free, Wire::Shared), seed);
        prop_assert_eq!(fates(&mut link(), &messages), fates(&mut link(), &messages));
    }

    /// What was sent either arrives or is dropped for one reason, what waits is never more than the queue holds, and
    /// all of it leaves.
    #[test]
    fn bytes_are_conserved(messages in messages(), kind in 0_u8..5, seed: u64) {
        let mut link = Link::new(delay(kind), rules(Order::Fifo, Wire::Shared), seed);
        let mut bytes: BTreeMap<Option<Drop>, u64> = BTreeMap::new();
        for &(now, size) in &messages {
            let fate = match link.send(now, ByteCount::new(size)) {
                Fate::Arrives { .. } => None,
                Fate::Dropped(why) => Some(why),
            };
            *bytes.entry(fate).or_default() += size;
            let waiting = link.waiting(now).bytes();
            prop_assert!(waiting <= 100_000.max(size), "{waiting} bytes wait");
        }
        prop_assert_eq!(bytes.values().sum::<u64>(), messages.iter().map(|(_, size)| size).sum::<u64>());
        prop_assert_eq!(link.waiting(Duration::from_secs(1 << 30)), ByteCount::new(0));
    }

    /// A shared wire never carries more than its bandwidth, however messages come.
    #[test]
    fn a_wire_carries_no_more_than_its_bandwidth(messages in messages(), seed: u64) {
        let bandwidth = Bandwidth::new(10_000_000).unwrap();
        let rules = Rules { queue: ByteCount::new(1 << 40), ..Rules::default() };
        let mut link = Link::new(Box::new(Constant { latency: LATENCY, bandwidth: Some(bandwidth) }), rules, seed);
        let arrivals: Vec<(Duration, Fate, u64)> =
            messages.iter().map(|&(now, size)| (now, link.send(now, ByteCount::new(size)), size)).collect();
        let mut carried = 0;
        for (_, fate, size) in &arrivals {
            carried += size;
            let Fate::Arrives { at } = *fate else { panic!("{fate:?}") };
            prop_assert!(at >= arrivals[0].0 + LATENCY + bandwidth.serialization_time(ByteCount::new(carried)) - Duration::from_nanos(1));
        }
    }
}

#[test]
fn messages_wait_for_each_other_on_a_shared_wire_alone() {
    let constant = Constant { latency: Duration::from_millis(10), bandwidth: Bandwidth::new(8_000_000) };
    let arrivals = |wire: Wire| {
        let mut link = Link::new(Box::new(constant), Rules { wire, ..Rules::default() }, 1);
        fates(&mut link, &[(Duration::ZERO, 1_000), (Duration::ZERO, 1_000), (Duration::from_millis(5), 1_000)])
    };
    let at = |ms: [u64; 3]| ms.map(|ms| Fate::Arrives { at: Duration::from_millis(ms) });
    assert_eq!(arrivals(Wire::Shared), at([11, 12, 16]));
    assert_eq!(arrivals(Wire::Own), at([11, 11, 16]));
}

#[test]
fn a_full_queue_drops_and_a_lone_message_is_taken_whatever_its_size() {
    let constant = Constant { latency: LATENCY, bandwidth: Bandwidth::new(8_000) };
    let rules = Rules { queue: ByteCount::new(2_000), ..Rules::default() };
    let mut link = Link::new(Box::new(constant), rules, 1);
    let sent = fates(
        &mut link,
        &[(Duration::ZERO, 1_500), (Duration::ZERO, 500), (Duration::ZERO, 1), (Duration::from_secs(2), 9_000)],
    );
    assert_eq!(sent[2], Fate::Dropped(Drop::Queue));
    assert!(matches!(sent[3], Fate::Arrives { .. }) && matches!(sent[1], Fate::Arrives { .. }));
}

#[test]
fn a_model_of_ones_own_begins_and_ends_with_its_link() {
    struct Counted(std::sync::mpsc::Sender<&'static str>);
    impl Delay for Counted {
        fn init(&mut self, _seed: u64) {
            self.0.send("init").unwrap();
        }
        fn delay(&mut self, _begin: Duration, _size: ByteCount) -> Option<netmodel::Passage> {
            self.0.send("delay").unwrap();
            None
        }
        fn finish(&mut self) {
            self.0.send("finish").unwrap();
        }
    }
    let (sender, told) = std::sync::mpsc::channel();
    let mut link = Link::new(Box::new(Counted(sender)), Rules::default(), 1);
    assert_eq!(link.send(Duration::ZERO, ByteCount::new(1)), Fate::Dropped(Drop::Ended));
    drop(link);
    assert_eq!(told.iter().collect::<Vec<_>>(), ["init", "delay", "finish"]);
}
