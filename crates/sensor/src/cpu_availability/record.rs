//! The kernel's records of tasks that ended: its messages of the family `TASKSTATS`, taken apart.
//!
//! Formats: `Documentation/accounting/taskstats.rst`, `include/uapi/linux/{netlink,genetlink,taskstats}.h`. Numbers are
//! in the host's order of bytes. The crates for it follow no ended tasks or bring a runtime along.

/// The least length of the text of `struct taskstats`, up to the last field that is read.
const STATS_LEN_MIN: usize = 152;

/// The version that had two fields put in the middle, which the next one undid.
const VERSION_SHIFTED: u16 = 15;

/// `include/uapi/linux/taskstats.h`: kinds of attributes.
mod kind {
    pub(super) const STATS: u16 = 3;
    pub(super) const AGGREGATE_OF_TASK: u16 = 4;
}

/// The record of a task that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The process that it was a child of, or a thread of.
    pub parent: u32,
    pub nice: i8,
    /// The policy, as in `stat`.
    pub policy: u64,
    pub used_ns: u64,
    /// The time for which the task was ready and had no core.
    pub waited_ns: u64,
    /// The time from the task's start to its end.
    pub lived_us: u64,
}

impl Record {
    /// Parses one message of the family `family`; none for messages of other kinds.
    pub(crate) fn parse(message: &[u8], family: u16) -> Option<Record> {
        if u16_at(message, 4)? != family {
            return None;
        }
        let (_, task) = attributes(message.get(HEADERS_LEN..)?).find(|(kind, _)| *kind == kind::AGGREGATE_OF_TASK)?;
        let (_, stats) = attributes(task).find(|(kind, _)| *kind == kind::STATS)?;
        if stats.len() < STATS_LEN_MIN || u16_at(stats, 0)? == VERSION_SHIFTED {
            return None;
        }
        let (pid, parent) = (u32_at(stats, 128)?, u32_at(stats, 132)?);
        // From version 12 on it is told of which process it was a thread.
        let process = u32_at(stats, 368).filter(|&process| process != 0 && process != pid);
        Some(Record {
            parent: process.unwrap_or(parent),
            nice: i8::from_ne_bytes([stats[9]]),
            policy: u64::from(stats[112]),
            used_ns: u64_at(stats, 72)?,
            waited_ns: u64_at(stats, 24)?,
            lived_us: u64_at(stats, 144)?,
        })
    }
}

/// The netlink header and the generic one.
pub(crate) const HEADERS_LEN: usize = 20;

/// A request for the family `family`, with one attribute that is a text.
pub(crate) fn request(family: u16, command: u8, kind: u16, text: &[u8]) -> Vec<u8> {
    /// `NLM_F_REQUEST`.
    const REQUEST: u16 = 1;
    /// `NLM_F_ACK`.
    const ACK: u16 = 4;
    let attribute_len = 4 + text.len() + 1;
    let len = HEADERS_LEN + attribute_len.next_multiple_of(4);
    let mut message = Vec::with_capacity(len);
    message.extend(u32::try_from(len).unwrap_or(u32::MAX).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend((REQUEST | ACK).to_ne_bytes());
    // A number for the answer to repeat, and the port, which the kernel fills in.
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(u16::try_from(attribute_len).unwrap_or(u16::MAX).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(text);
    message.resize(len, 0);
    message
}

/// The messages that came as one piece.
pub(crate) fn messages(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let len = u32_at(text, 0)? as usize;
        let message = text.get(..len).filter(|message| message.len() >= 16)?;
        text = text.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The kind and content of each attribute.
pub(crate) fn attributes(mut text: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (len, kind) = (usize::from(u16_at(text, 0)?), u16_at(text, 2)?);
        let content = text.get(4..len)?;
        text = text.get(len.next_multiple_of(4)..).unwrap_or_default();
        // The two highest bits are flags.
        Some((kind & 0x3FFF, content))
    })
}

pub(crate) fn u16_at(text: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(text.get(at..)?.first_chunk().copied()?))
}

pub(crate) fn u32_at(text: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(text.get(at..)?.first_chunk().copied()?))
}

fn u64_at(text: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(text.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut text = ((content.len() + 4) as u16).to_ne_bytes().to_vec();
        text.extend(kind.to_ne_bytes());
        text.extend(content);
        text.resize(text.len().next_multiple_of(4), 0);
        text
    }

    /// A message as the kernel sends it when the task 7, a child of 5, ends; `process` is the one it is a thread of.
    fn message(version: u16, process: u32) -> Vec<u8> {
        let mut stats = vec![0; 416];
        stats[..2].copy_from_slice(&version.to_ne_bytes());
        (stats[9], stats[112]) = (-5_i8 as u8, 3);
        stats[24..32].copy_from_slice(&300_u64.to_ne_bytes());
        stats[72..80].copy_from_slice(&500_u64.to_ne_bytes());
        stats[128..132].copy_from_slice(&7_u32.to_ne_bytes());
        stats[132..136].copy_from_slice(&5_u32.to_ne_bytes());
        stats[144..152].copy_from_slice(&900_u64.to_ne_bytes());
        stats[368..372].copy_from_slice(&process.to_ne_bytes());
        let task = [attribute(1, &7_u32.to_ne_bytes()), attribute(kind::STATS, &stats)].concat();
        let body = attribute(kind::AGGREGATE_OF_TASK, &task);
        let mut message = ((HEADERS_LEN + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(31_u16.to_ne_bytes());
        message.resize(HEADERS_LEN, 0);
        message.extend(body);
        message
    }

    const RECORD: Record = Record { parent: 5, nice: -5, policy: 3, used_ns: 500, waited_ns: 300, lived_us: 900 };

    #[test]
    fn a_record_says_whose_child_a_task_was_and_what_it_had() {
        assert_eq!(Record::parse(&message(16, 7), 31), Some(RECORD));
        assert_eq!(Record::parse(&message(16, 7), 32), None);
    }

    #[test]
    fn a_thread_is_its_process_s() {
        assert_eq!(Record::parse(&message(16, 6), 31), Some(Record { parent: 6, ..RECORD }));
    }

    #[test]
    fn a_version_with_fields_in_other_places_is_refused() {
        assert_eq!(Record::parse(&message(VERSION_SHIFTED, 7), 31), None);
    }

    #[test]
    fn half_a_message_is_refused() {
        let whole = message(16, 7);
        for len in 0..whole.len() {
            assert_eq!(Record::parse(&whole[..len], 31), None, "{len} bytes");
        }
    }

    #[test]
    fn messages_and_attributes_are_taken_apart_by_their_lengths() {
        let text = [message(16, 7), message(16, 6)].concat();
        assert_eq!(messages(&text).count(), 2);
        assert_eq!(messages(&text[..text.len() - 1]).count(), 1);
        assert_eq!(messages(&[4, 0, 0, 0, 9]).count(), 0);
        let request = request(0x10, 3, 2, b"TASKSTATS");
        assert_eq!(request.len(), 36);
        assert_eq!(attributes(&request[HEADERS_LEN..]).collect::<Vec<_>>(), [(2, &b"TASKSTATS\0"[..])]);
        assert_eq!(attributes(&[3, 0, 1, 0, 0]).count(), 0);
    }
}
