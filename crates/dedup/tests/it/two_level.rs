//! Two levels of fingerprints: exact bytes whatever collides, is forgotten, or is said wrongly.

use dedup::Packing;
use dedup::segmenter::{Anchoring, FastCdc, Field, Lbfs, Manber, Segmenter, Squares, Static, Tiles, Varg};
use dedup::two_level::{
    Codec, Fingerprints, MemorySegments, Message, Neighbour, ProtocolError, Receiver, Segments, Sender, Settings, Wire,
};
use proptest::prelude::*;
use rand::RngExt;

use crate::world::{chance, edited, noise};

const WIRES: [Wire; 2] = [Wire::Paper, Wire::Packed(Packing::Plain)];

struct Link {
    sender: Sender,
    receiver: Receiver<MemorySegments>,
    there: [Codec; 2],
    back: [Codec; 2],
    n_requests: usize,
    n_trips: usize,
}

impl Link {
    fn new(settings: Settings, wire: Wire, is_pushing: bool) -> Self {
        let codecs = || [Codec::new(wire, &settings), Codec::new(wire, &settings)];
        let sender = if is_pushing { Sender::pushing(settings, 10_000) } else { Sender::new(settings) };
        let receiver = Receiver::new(settings, MemorySegments::new(1 << 24, 64));
        Self { sender, receiver, there: codecs(), back: codecs(), n_requests: 0, n_trips: 0 }
    }

    /// Sends a field in bytes, and gives how many of those went there, and what arrived.
    fn send(&mut self, field: &Field<'_>, segmenter: &mut dyn Segmenter) -> (usize, Vec<Vec<u8>>) {
        let (mut messages, mut n_wire, mut arrived) = (self.sender.send(field, segmenter), 0, Vec::new());
        while !messages.is_empty() {
            let mut answers = Vec::new();
            self.n_trips += 1;
            let sent = through(&mut self.there, &messages, &mut n_wire);
            for message in sent {
                arrived.extend(self.receiver.receive(message, &mut answers).unwrap());
            }
            self.n_requests += answers.iter().filter(|answer| matches!(answer, Message::Request { .. })).count();
            let answers = through(&mut self.back, &answers, &mut 0);
            messages = answers.iter().filter_map(|answer| self.sender.answer(answer).unwrap()).collect();
        }
        assert_eq!(self.sender.n_kept(), 0, "not all was acknowledged");
        (n_wire, arrived)
    }

    #[track_caller]
    fn check(&mut self, field: &Field<'_>, segmenter: &mut dyn Segmenter) -> usize {
        let (n_wire, arrived) = self.send(field, segmenter);
        assert!(arrived == [field.bytes()], "other bytes arrived");
        n_wire
    }
}

/// Messages as they arrive when each byte comes by itself at first, and the rest at once.
fn through([near, far]: &mut [Codec; 2], messages: &[Message], n_wire: &mut usize) -> Vec<Message> {
    let mut bytes = Vec::new();
    near.put(messages, &mut bytes);
    *n_wire += bytes.len();
    let mut arrived = Vec::new();
    for end in (0..bytes.len().min(40)).chain([bytes.len()]) {
        let mut rest = &bytes[..end];
        arrived.extend(far.take(&mut rest).unwrap());
        let n_taken = end - rest.len();
        bytes.drain(..n_taken);
        if n_taken > 0 {
            break;
        }
    }
    let mut rest = &bytes[..];
    arrived.extend(far.take(&mut rest).unwrap());
    assert!(rest.is_empty());
    assert_eq!(arrived, messages);
    arrived
}

/// How many of them are of one dimension.
const N_LINEAR: usize = 4;

fn segmenters() -> Vec<Box<dyn Segmenter>> {
    let anchoring = Anchoring::default();
    vec![
        Box::new(Static { n_bytes: 32 }),
        Box::new(FastCdc::new(256).unwrap()),
        Box::new(Lbfs::new(256).unwrap()),
        Box::new(Manber { n_bytes: 32, bits: 5 }),
        Box::new(Varg::new(8, anchoring)),
        Box::new(Tiles { side: 32, anchoring }),
        Box::new(Squares { side: 8, bits: 5 }),
    ]
}

#[test]
fn all_segmenters_carry_versions_over_both_wires() {
    for wire in WIRES {
        for (i, mut segmenter) in segmenters().into_iter().enumerate() {
            let mut link = Link::new(Settings::default(), wire, i % 2 == 0);
            let mut bytes = noise(1, 120 * 100);
            for seed in 0..3 {
                let field = if i < N_LINEAR { Field::line(&bytes) } else { Field::rows(&bytes, 120, 3).unwrap() };
                link.check(&field, &mut *segmenter);
                link.check(&Field::line(&bytes), &mut Static { n_bytes: 100 });
                bytes = edited(&bytes, 3, seed);
                bytes.resize(120 * 100, 0);
            }
        }
    }
}

#[test]
fn ids_of_eight_bits_never_let_wrong_bytes_out() {
    let settings = Settings { id_bytes: 1, ..Settings::default() };
    for wire in WIRES {
        for is_pushing in [false, true] {
            let mut link = Link::new(settings, wire, is_pushing);
            let mut chance = chance(5);
            for seed in 0..30 {
                // Some segments are known, most collide with others.
                let mut bytes = noise(chance.random_range(0..5), 20_000);
                bytes.extend(noise(100 + seed, 10_000));
                link.check(&Field::line(&bytes), &mut Static { n_bytes: 32 });
            }
            assert!(link.n_requests > 10_000, "{} requests", link.n_requests);
        }
    }
}

/// Segments of one length of which each has the id of the one before, so that each is taken for another.
#[test]
fn pairs_that_collide_by_design_are_told_apart() {
    let settings = Settings { id_bytes: 1, n_group: 4, ..Settings::default() };
    let id = |bytes: &[u8]| {
        let messages = Sender::new(settings).send(&Field::line(bytes), &mut Static { n_bytes: 32 });
        let ids = messages.iter().filter_map(|m| if let Message::Id { id, .. } = m { Some(*id) } else { None });
        ids.collect::<Vec<_>>()[0]
    };
    let alike: Vec<Vec<u8>> = (0..).map(|seed| noise(seed, 32)).filter(|bytes| id(bytes) == 7).take(12).collect();
    let mut link = Link::new(settings, Wire::Paper, false);
    for (i, first) in alike.iter().enumerate() {
        for second in &alike[..i] {
            for bytes in [[&first[..], second].concat(), [&second[..], first].concat(), first.clone()] {
                link.check(&Field::line(&bytes), &mut Static { n_bytes: 32 });
            }
        }
    }
    assert_eq!(link.receiver.segments().len(), 1);
    assert!(link.n_requests > 200);
}

#[test]
fn numbers_wrap() {
    for wire in WIRES {
        for is_pushing in [false, true] {
            let settings = Settings { first_sequence: u32::MAX - 70, n_group: 20, ..Settings::default() };
            let mut link = Link::new(settings, wire, is_pushing);
            for seed in 0..3 {
                link.check(&Field::line(&noise(seed, 32 * 64)), &mut Static { n_bytes: 32 });
            }
        }
    }
}

#[test]
fn what_was_never_sent_takes_one_trip_instead_of_three() {
    let data = noise(8, 10_000);
    for (is_pushing, n_trips, n_requests) in [(false, 2, 313), (true, 1, 0)] {
        let mut link = Link::new(Settings::default(), Wire::Paper, is_pushing);
        link.check(&Field::line(&data), &mut Static { n_bytes: 32 });
        // A turn is a trip there and one back: the first asks, the second brings.
        assert_eq!((link.n_trips, link.n_requests), (n_trips, n_requests));
    }
}

#[test]
fn what_is_on_its_way_is_not_asked_for_again() {
    let mut link = Link::new(Settings::default(), Wire::Paper, false);
    link.check(&Field::line(&noise(12, 32).repeat(500)), &mut Static { n_bytes: 32 });
    assert_eq!(link.n_requests, 1);
}

#[test]
fn a_receiver_that_forgot_asks_again() {
    let data = noise(9, 10_000);
    let mut link = Link::new(Settings::default(), Wire::Paper, true);
    link.check(&Field::line(&data), &mut Static { n_bytes: 32 });
    *link.receiver.segments() = MemorySegments::new(0, 32);
    link.check(&Field::line(&data), &mut Static { n_bytes: 32 });
    assert_eq!(link.n_requests, 313);
}

#[test]
fn messages_have_the_published_sizes() {
    let settings = Settings::default();
    let size = |message: Message| {
        let mut bytes = Vec::new();
        Codec::new(Wire::Paper, &settings).put(&[message], &mut bytes);
        bytes.len()
    };
    assert_eq!(size(Message::Id { id: 1, meta: vec![1, 2] }), 6 + 2);
    assert_eq!(size(Message::Request { sequence: 1 }), 5);
    assert_eq!(size(Message::Segment { sequence: 1, bytes: vec![0; 9] }), 7 + 9);
    assert_eq!(size(Message::Hash([0; 20])), 21);
    assert_eq!(size(Message::Ack), 1);
    assert_eq!(size(Message::Literal(vec![0; 9])), 3 + 9);
}

#[test]
fn a_group_under_one_head_takes_less_than_a_head_for_each_id() {
    let data = noise(10, 32 * 20 * 50);
    let sizes = WIRES.map(|wire| {
        let mut link = Link::new(Settings::default(), wire, false);
        link.check(&Field::line(&data), &mut Static { n_bytes: 32 });
        link.check(&Field::line(&data), &mut Static { n_bytes: 32 })
    });
    // 13 bytes of a field; for a group 20 ids of 6 bytes and 21, or 2, 20 of 5 and 20, and in the first one meta-data.
    assert_eq!(sizes[0], 13 + 50 * (20 * 6 + 21) + 2);
    assert!(sizes[1] <= 13 + 50 * (2 + 20 * 5 + 20) + 20, "{} bytes", sizes[1]);
}

#[test]
fn peers_that_break_the_protocol_are_told_what_they_did() {
    let settings = Settings::default();
    let field = noise(3, 640);
    let messages = Sender::new(settings).send(&Field::line(&field), &mut Static { n_bytes: 32 });
    let after = |n: usize, message: Message| {
        let mut receiver = Receiver::new(settings, MemorySegments::new(1 << 20, 32));
        let mut answers = Vec::new();
        for message in &messages[..n] {
            receiver.receive(message.clone(), &mut answers).unwrap();
        }
        receiver.receive(message, &mut answers).unwrap_err()
    };
    let unasked = Message::Segment { sequence: 5000, bytes: vec![] };
    assert_eq!(after(22, unasked), ProtocolError::Sequence { sequence: 5000 });
    let short = Message::Segment { sequence: 3, bytes: vec![1] };
    assert_eq!(after(22, short), ProtocolError::Length { sequence: 3, given: 1, announced: 32 });
    let great = Message::Open { n_bytes: u32::MAX, width: 1, n_segments: 0 };
    assert!(after(0, great).to_string().contains("at most 1048576"));
    assert!(matches!(after(5, messages[0].clone()), ProtocolError::Unexpected { .. }));
    assert!(matches!(after(22, messages[1].clone()), ProtocolError::Unexpected { .. }));
    assert!(matches!(after(0, Message::Hash([0; 20])), ProtocolError::Unexpected { .. }));
    let beyond = Message::Id { id: 1, meta: vec![0, 0, 0xff, 0x7f] };
    assert_eq!(after(2, beyond), ProtocolError::Outside { sequence: 1 });

    let mut sender = Sender::new(settings);
    assert_eq!(sender.answer(&Message::Ack), Err(ProtocolError::Acknowledged));
    assert_eq!(sender.answer(&Message::Request { sequence: 0 }), Err(ProtocolError::Sequence { sequence: 0 }));
    assert!(sender.answer(&Message::Hash([0; 20])).is_err());

    // Wrong bytes where none came from memory.
    let mut receiver = Receiver::new(settings, MemorySegments::new(1 << 20, 32));
    let mut answers = Vec::new();
    for message in &messages {
        receiver.receive(message.clone(), &mut answers).unwrap();
    }
    let mut wrong = (0..20).map(|sequence| Message::Segment { sequence, bytes: vec![0; 32] });
    let told = wrong.find_map(|message| receiver.receive(message, &mut answers).err());
    assert_eq!(told, Some(ProtocolError::Hash));
}

/// A memory that hands out wrong bytes of the right length.
struct Liar(MemorySegments);

impl Segments for Liar {
    fn get(&mut self, id: u64) -> Option<Vec<u8>> {
        self.0.get(id).map(|bytes| vec![0; bytes.len()])
    }

    fn put(&mut self, id: u64, segment: &[u8]) {
        self.0.put(id, segment);
    }
}

#[test]
fn a_memory_that_lies_is_overruled() {
    let settings = Settings::default();
    let mut sender = Sender::new(settings);
    let mut receiver = Receiver::new(settings, Liar(MemorySegments::new(1 << 20, 32)));
    let data = noise(4, 2000);
    for _ in 0..2 {
        let mut messages = sender.send(&Field::line(&data), &mut Static { n_bytes: 32 });
        let mut arrived = Vec::new();
        while !messages.is_empty() {
            let mut answers = Vec::new();
            for message in messages {
                arrived.extend(receiver.receive(message, &mut answers).unwrap());
            }
            messages = answers.iter().filter_map(|answer| sender.answer(answer).unwrap()).collect();
        }
        assert!(arrived == [&data[..]]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_messages_never_make_wrong_bytes(at in 0..3000_usize, byte in 1_u8.., is_paper: bool, is_pushing: bool) {
        let settings = Settings { id_bytes: 1, n_group: 5, ..Settings::default() };
        let wire = WIRES[usize::from(is_paper)];
        let mut sender = if is_pushing { Sender::pushing(settings, 1000) } else { Sender::new(settings) };
        let mut receiver = Receiver::new(settings, MemorySegments::new(1 << 20, 32));
        let [mut near, mut far] = [(); 2].map(|()| Codec::new(wire, &settings));
        let data = noise(11, 1500);
        let mut messages = sender.send(&Field::line(&data), &mut Static { n_bytes: 32 });
        let mut is_first = true;
        let mut n_turns = 0;
        'turns: while !messages.is_empty() && n_turns < 10 {
            n_turns += 1;
            let mut bytes = Vec::new();
            near.put(&messages, &mut bytes);
            if std::mem::take(&mut is_first) && at < bytes.len() {
                bytes[at] ^= byte;
            }
            let mut answers = Vec::new();
            let Ok(arrived) = far.take(&mut &bytes[..]) else { break };
            for message in arrived {
                match receiver.receive(message, &mut answers) {
                    // A field that says that it is empty, or is all literals, was damaged where nothing covers it: the
                    // transport's task.
                    Ok(fields) => prop_assert!(fields.iter().all(|field| *field == data || field.is_empty())),
                    Err(_) => break 'turns,
                }
            }
            messages = Vec::new();
            for answer in &answers {
                match sender.answer(answer) {
                    Ok(message) => messages.extend(message),
                    Err(_) => break 'turns,
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_messages_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), is_paper: bool) {
        let settings = Settings::default();
        let mut receiver = Receiver::new(settings, MemorySegments::new(1 << 16, 32));
        let mut codec = Codec::new(WIRES[usize::from(is_paper)], &settings);
        if let Ok(messages) = codec.take(&mut &bytes[..]) {
            let mut answers = Vec::new();
            for message in messages {
                if receiver.receive(message, &mut answers).is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn several_receivers_get_what_was_cut_and_written_once() {
    let (settings, wire) = (Settings::default(), Wire::Packed(Packing::Plain));
    let codec = || Codec::new(wire, &settings);
    let mut sender = Sender::new(settings).with_receivers(3);
    let mut receivers: Vec<_> = (0..3).map(|_| Receiver::new(settings, MemorySegments::new(1 << 24, 64))).collect();
    let (mut shared, mut heard) = (codec(), vec![codec(), codec(), codec()]);
    let mut own: Vec<_> = (0..3).map(|_| [codec(), codec()]).collect();
    let (data, mut n_requests) = (noise(40, 200_000), [0; 3]);
    for round in 0..2 {
        let field = Field::line(&data[round * 50_000..][..150_000]);
        let mut bytes = Vec::new();
        shared.put(&sender.send(&field, &mut Static { n_bytes: 50 }), &mut bytes);
        for (i, receiver) in receivers.iter_mut().enumerate() {
            if (i, round) == (2, 1) {
                // What was kept for it alone is kept no longer.
                sender.leave(2);
                assert!(sender.answer_to(2, &Message::Ack).is_err());
                continue;
            }
            let (mut messages, mut arrived) = (heard[i].take(&mut &bytes[..]).unwrap(), Vec::new());
            while !messages.is_empty() {
                let mut answers = Vec::new();
                for message in messages {
                    arrived.extend(receiver.receive(message, &mut answers).unwrap());
                }
                n_requests[i] += answers.iter().filter(|answer| matches!(answer, Message::Request { .. })).count();
                let replies: Vec<_> =
                    answers.iter().filter_map(|answer| sender.answer_to(i, answer).unwrap()).collect();
                messages = through(&mut own[i], &replies, &mut 0);
            }
            assert!(arrived == [field.bytes()]);
            assert!((sender.n_kept() == 0) == ((i, round) == (2, 0)), "receiver {i}, round {round}");
        }
    }
    assert_eq!(sender.n_kept(), 0);
    assert_eq!(n_requests, [4_000, 4_000, 3_000]);
}

#[test]
fn a_neighbour_has_segments_so_that_the_sender_sends_none() {
    let settings = Settings::default();
    let data = noise(41, 60_000);
    let field = Field::line(&data);
    for (what, n_known, has_lies) in [("all", 60_000, false), ("half", 30_000, false), ("lies", 60_000, true)] {
        let mut held = MemorySegments::new(1 << 24, 64);
        for segment in data[..n_known].chunks(60) {
            let bytes = if has_lies { vec![7; segment.len()] } else { segment.to_vec() };
            held.put(settings.id(segment), &bytes);
        }
        let mut neighbour = Neighbour(held);
        let mut sender = Sender::new(settings);
        let mut receiver = Receiver::new(settings, MemorySegments::new(1 << 24, 64)).with_neighbour();
        let mut codecs = [Codec::new(Wire::Paper, &settings), Codec::new(Wire::Paper, &settings)];
        let (mut messages, mut arrived, mut n_requests) =
            (sender.send(&field, &mut Static { n_bytes: 60 }), Vec::new(), 0);
        while !messages.is_empty() {
            let mut answers = Vec::new();
            for message in messages {
                arrived.extend(receiver.receive(message, &mut answers).unwrap());
            }
            let fetches = receiver.fetches();
            let found: Vec<_> = fetches.iter().map(|fetch| neighbour.answer(fetch).unwrap()).collect();
            for message in through(&mut codecs, &found, &mut 0) {
                arrived.extend(receiver.receive_nearby(message, &mut answers).unwrap());
            }
            n_requests += answers.iter().filter(|answer| matches!(answer, Message::Request { .. })).count();
            messages = answers.iter().filter_map(|answer| sender.answer(answer).unwrap()).collect();
        }
        assert!(arrived == [field.bytes()], "other bytes arrived of {what}");
        let expected = if has_lies { 1_000 } else { (60_000 - n_known) / 60 };
        assert_eq!(n_requests, expected, "{what}");
        assert!(receiver.receive_nearby(Message::Unknown { id: 1 }, &mut Vec::new()).is_err());
        assert!(neighbour.answer(&Message::Ack).is_err());
    }
}

#[test]
fn groups_that_hold_are_there_early_if_that_is_wanted() {
    let settings = Settings { n_group: 10, ..Settings::default() };
    let data = noise(42, 3_000);
    let mut sender = Sender::new(settings);
    let mut receiver = Receiver::new(settings, MemorySegments::new(1 << 20, 64)).with_early();
    let mut answers = Vec::new();
    for message in sender.send(&Field::line(&data), &mut Static { n_bytes: 100 }) {
        assert!(receiver.receive(message, &mut answers).unwrap().is_empty());
    }
    // The answers come the wrong way round.
    let replies: Vec<_> = answers.iter().rev().filter_map(|answer| sender.answer(answer).unwrap()).collect();
    let (mut n_early, mut arrived, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for reply in replies {
        arrived.extend(receiver.receive(reply, &mut answers).unwrap());
        for early in receiver.take_early() {
            assert_eq!((early.field, early.area.n_bytes()), (0, 100));
            assert!(early.bytes == data[early.area.x..][..100]);
            n_early.push(early.area.x);
        }
        if n_early.len() == 20 {
            assert!(arrived.is_empty() && answers.is_empty() && n_early.iter().all(|&x| x >= 1_000));
        }
    }
    assert_eq!(n_early.len(), 30);
    assert!(arrived == [data] && answers.len() == 3);
}

#[test]
fn fingerprints_as_printed_do_as_well_on_data_that_nobody_chose() {
    let settings = Settings { fingerprints: Fingerprints::Published, ..Settings::default() };
    let mut link = Link::new(settings, Wire::Paper, false);
    let data = noise(43, 64_000);
    for _ in 0..2 {
        link.check(&Field::line(&data), &mut Static { n_bytes: 32 });
    }
    assert_eq!(link.n_requests, 2_000);
    // FNV-1a of one byte, from its authors' list.
    let whole = Settings { id_bytes: 8, ..settings };
    assert_eq!(whole.id(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(settings.id(b"a"), (0xaf63_dc4c_8601_ec8c >> 40) ^ 0x4c_8601_ec8c);
    // Short ids collide all the time, and bytes are exact.
    let mut short = Link::new(Settings { id_bytes: 1, ..settings }, Wire::Paper, false);
    for _ in 0..2 {
        short.check(&Field::line(&data), &mut Static { n_bytes: 32 });
    }
}
