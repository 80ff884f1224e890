//! Events as bytes: repeated fields are stored once a block, as a template; times are differences.

use std::collections::HashMap;

use super::N_EVENTS_MAX;
use crate::record::{code_of_tag, tag_of_code};
use crate::{Event, Operation, Peer, Subject};

const FLAG_FAILED: u8 = 1;
const FLAG_STAGE: u8 = 2;
const FLAG_PLACE: u8 = 4;
const FLAG_PEER: u8 = 8;
const FLAG_TAG: u8 = 16;
const FLAG_BYTES: u8 = 32;
const FLAG_PART: u8 = 64;

/// Fields that events which differ only in time have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Template {
    operation: u8,
    /// [`FLAG_FAILED`], [`FLAG_STAGE`] and [`FLAG_PART`].
    flags: u8,
    /// The communicator, or the collector.
    place: u32,
    peer: u32,
    tag: u32,
    bytes: u64,
}

/// Templates that were last used: the next template is stored as a difference from one of them.
struct Recent([[Template; Operation::ALL.len()]; 2]);

impl Recent {
    fn new() -> Self {
        Self([[Template::default(); Operation::ALL.len()]; 2])
    }

    fn of(&mut self, operation: u8, flags: u8) -> &mut Template {
        &mut self.0[usize::from(flags & FLAG_STAGE != 0)][usize::from(operation)]
    }
}

/// A block of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) ring: u32,
    pub(super) n_lost: u64,
    pub(super) events: Vec<Event>,
}

/// Appends a block's payload.
pub(super) fn encode(ring: u32, n_lost: u64, events: &[Event], into: &mut Vec<u8>) {
    assert!(events.len() <= N_EVENTS_MAX, "a block has at most {N_EVENTS_MAX} events");
    put(into, u64::from(ring));
    put(into, n_lost);
    put(into, events.len() as u64);
    let mut numbers = HashMap::new();
    let mut recent = Recent::new();
    let (mut end_before, mut sequence_before) = (0, 0);
    for event in events {
        let (template, sequence) = template_of(event);
        let n_known = numbers.len();
        let number = *numbers.entry(template).or_insert(n_known);
        put(into, number as u64);
        let last = recent.of(template.operation, template.flags);
        if number == n_known {
            put_template(into, &template, last);
        }
        *last = template;
        put(into, zigzag(event.start.wrapping_sub(end_before) as i64));
        put(into, event.end.saturating_sub(event.start));
        end_before = event.end.max(event.start);
        if let Some(sequence) = sequence {
            put(into, zigzag(sequence.wrapping_sub(sequence_before) as i32 as i64));
            sequence_before = sequence;
        }
    }
}

/// Reads a block's payload, or returns its fault.
pub(super) fn decode(mut payload: &[u8]) -> Result<Block, &'static str> {
    let from = &mut payload;
    let ring = take_u32(from)?;
    let n_lost = take(from)?;
    let n_events = take(from)? as usize;
    // An event takes three bytes at least, so that no block makes more room than it has use for.
    if n_events > N_EVENTS_MAX || n_events * 3 > from.len() {
        return Err("it is too short for its events");
    }
    let mut events = Vec::with_capacity(n_events);
    let mut templates: Vec<Template> = Vec::new();
    let mut recent = Recent::new();
    let (mut end_before, mut sequence_before) = (0_u64, 0_u32);
    for _ in 0..n_events {
        let number = take(from)?;
        if number == templates.len() as u64 {
            templates.push(take_template(from, &mut recent)?);
        }
        let template = *templates.get(number as usize).ok_or("an event has a template that is not there")?;
        *recent.of(template.operation, template.flags) = template;
        let start = end_before.wrapping_add(unzigzag(take(from)?) as u64);
        let end = start.checked_add(take(from)?).ok_or("an event ends after the end of time")?;
        end_before = end;
        let (communicator, peer, tag) = (template.place, Peer::of_code(template.peer), tag_of_code(template.tag));
        let subject = if template.flags & FLAG_STAGE != 0 {
            sequence_before = sequence_before.wrapping_add(unzigzag(take(from)?) as u32);
            Subject::Stage { collector: template.place as u16, sequence: sequence_before }
        } else if template.flags & FLAG_PART != 0 {
            Subject::Part { communicator, peer, tag }
        } else {
            Subject::Call { communicator, peer, tag }
        };
        events.push(Event {
            start,
            end,
            bytes: template.bytes,
            operation: Operation::of_code(template.operation).ok_or("an event has an operation that is not there")?,
            is_failed: template.flags & FLAG_FAILED != 0,
            subject,
        });
    }
    if from.is_empty() { Ok(Block { ring, n_lost, events }) } else { Err("there is more in it than its events") }
}

fn template_of(event: &Event) -> (Template, Option<u32>) {
    let failed = if event.is_failed { FLAG_FAILED } else { 0 };
    let template = Template { operation: event.operation.code(), bytes: event.bytes, ..Template::default() };
    match event.subject {
        Subject::Call { communicator, peer, tag } | Subject::Part { communicator, peer, tag } => {
            let (peer, tag) = (peer.code(), code_of_tag(tag));
            let flags = failed | if event.is_part() { FLAG_PART } else { 0 };
            (Template { flags, place: communicator, peer, tag, ..template }, None)
        }
        Subject::Stage { collector, sequence } => {
            (Template { flags: failed | FLAG_STAGE, place: u32::from(collector), ..template }, Some(sequence))
        }
    }
}

fn put_template(into: &mut Vec<u8>, template: &Template, last: &Template) {
    let told = [
        (FLAG_PLACE, template.place != last.place),
        (FLAG_PEER, template.peer != last.peer),
        (FLAG_TAG, template.tag != last.tag),
        (FLAG_BYTES, template.bytes != last.bytes),
    ];
    let flags = told.iter().filter(|(_, is_told)| *is_told).fold(template.flags, |flags, (flag, _)| flags | flag);
    into.extend([template.operation, flags]);
    let values = [
        (FLAG_PLACE, u64::from(template.place)),
        (FLAG_PEER, u64::from(template.peer)),
        (FLAG_TAG, zigzag(template.tag.wrapping_sub(last.tag) as i32 as i64)),
        (FLAG_BYTES, template.bytes),
    ];
    values.iter().filter(|(flag, _)| flags & flag != 0).for_each(|(_, value)| put(into, *value));
}

fn take_template(from: &mut &[u8], recent: &mut Recent) -> Result<Template, &'static str> {
    let (&[operation, flags], rest) = from.split_first_chunk().ok_or("it ends within an event")?;
    *from = rest;
    Operation::of_code(operation).ok_or("an event has an operation that is not there")?;
    let last = *recent.of(operation, flags);
    let is_told = |flag: u8| flags & flag != 0;
    let template = Template {
        operation,
        flags: flags & (FLAG_FAILED | FLAG_STAGE | FLAG_PART),
        place: if is_told(FLAG_PLACE) { take_u32(from)? } else { last.place },
        peer: if is_told(FLAG_PEER) { take_u32(from)? } else { last.peer },
        tag: if is_told(FLAG_TAG) { last.tag.wrapping_add(unzigzag(take(from)?) as u32) } else { last.tag },
        bytes: if is_told(FLAG_BYTES) { take(from)? } else { last.bytes },
    };
    let is_stage = !is_told(FLAG_PART) && template.place <= u32::from(u16::MAX);
    let is_known = flags < FLAG_PART << 1 && (!is_told(FLAG_STAGE) || is_stage);
    if is_known { Ok(template) } else { Err("an event has flags or a collector that no writer writes") }
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

fn put(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn take(from: &mut &[u8]) -> Result<u64, &'static str> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first().ok_or("it ends within a number")?;
        *from = rest;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            break;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number has more than 64 bits")
}

fn take_u32(from: &mut &[u8]) -> Result<u32, &'static str> {
    take(from)?.try_into().map_err(|_| "a number has more than 32 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject() -> impl Strategy<Value = Subject> {
        let peer = prop_oneof![
            Just(Peer::None),
            Just(Peer::Any),
            Just(Peer::Null),
            (0..4_u32).prop_map(Peer::Rank),
            (0..u32::MAX - 3).prop_map(Peer::Rank)
        ];
        // No library gives out -2, whose code is that of no tag.
        let tag = prop::option::of(prop_oneof![0..5_i32, any::<i32>().prop_filter("no tag", |tag| *tag != -2)]);
        let call = (prop_oneof![0..3_u32, any::<u32>()], peer, tag)
            .prop_map(|(communicator, peer, tag)| Subject::Call { communicator, peer, tag });
        let part = (0..3_u32, 0..4_u32, 0..5_i32).prop_map(|(communicator, peer, tag)| Subject::Part {
            communicator,
            peer: Peer::Rank(peer),
            tag: Some(tag),
        });
        let stage = (any::<u16>(), prop_oneof![0..9_u32, any::<u32>()])
            .prop_map(|(collector, sequence)| Subject::Stage { collector, sequence });
        prop_oneof![3 => call, 1 => part, 1 => stage]
    }

    prop_compose! {
        fn event()(
            start in prop_oneof![0..10_000_u64, any::<u64>()],
            span in prop_oneof![0..10_000_u64, any::<u64>()],
            bytes in prop_oneof![0..10_u64, any::<u64>()],
            operation in prop_oneof![9..12_u8, 0..Operation::ALL.len() as u8],
            is_failed in any::<bool>(),
            subject in subject(),
        ) -> Event {
            let operation = Operation::of_code(operation).unwrap();
            Event { start, end: start.saturating_add(span), bytes, operation, is_failed, subject }
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(events in prop::collection::vec(event(), 0..60), ring: u32, n_lost: u64) {
            let mut payload = Vec::new();
            encode(ring, n_lost, &events, &mut payload);
            prop_assert_eq!(decode(&payload), Ok(Block { ring, n_lost, events }));
        }

        #[test]
        fn no_bytes_do_harm(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&payload);
        }
    }
}
