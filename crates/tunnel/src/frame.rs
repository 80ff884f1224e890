//! Frames of a link, as `docs/formats/tunnel.md` has them: four bytes of length, one of kind, and what belongs to that.

use std::ops::Range;

use dedup::RunId;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::part::N_LANES;

/// No frame is longer: a group as it is, or a repair of all of it, and what stands before it.
pub const FRAME_BYTES_MAX: usize = dedup_group_max() + (1 << 16);
/// Longer names of targets or reasons are not taken.
const TEXT_BYTES_MAX: usize = 1024;
/// A group is asked for in fewer pieces.
const RANGES_MAX: usize = 1 << 16;

/// No group is of more bytes.
pub(crate) const fn dedup_group_max() -> usize {
    1 << 18
}

/// A message between two ends of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Connect a new stream to a target.
    Open {
        /// The stream, counted by the near end.
        stream: u32,
        /// The component that cuts it, at most 255 bytes.
        component: String,
        /// A host and a port.
        target: String,
    },
    /// The target answered.
    Opened {
        /// The stream.
        stream: u32,
    },
    /// The next group, with bytes of this stream.
    Data {
        /// The stream.
        stream: u32,
        /// The lane of the stream to which the bytes belong.
        lane: u8,
        /// The group, as `dedup` made it.
        group: Vec<u8>,
    },
    /// No more bytes come on this stream, in this direction.
    End {
        /// The stream.
        stream: u32,
    },
    /// The stream broke; no more bytes come in this direction.
    Reset {
        /// The stream.
        stream: u32,
        /// Why.
        reason: String,
    },
    /// So many more groups were received and are right.
    Ack {
        /// The number of groups.
        n_groups: u64,
    },
    /// Parts of a group are missing, or all that was copied is wrong.
    Ask {
        /// The number of the group in this direction, from 0.
        group: u64,
        /// Parts of its data, in order.
        ranges: Vec<Range<usize>>,
    },
    /// The parts that were asked for.
    Repair {
        /// The number of the group.
        group: u64,
        /// The parts, one after the other.
        bytes: Vec<u8>,
    },
    /// So many more bytes of this stream may be sent.
    Credit {
        /// The stream.
        stream: u32,
        /// The number of bytes.
        n_bytes: u32,
    },
    /// Say the same.
    Ping {
        /// The number to send back.
        number: u64,
    },
    /// The answer.
    Pong {
        /// The number that was received.
        number: u64,
    },
    /// Said to a neighbour, not on a link: what do you remember of these places?
    Borrow {
        /// The places.
        wanted: Vec<Wanted>,
    },
    /// The answer.
    Lend {
        /// All bytes of each place, or none.
        parts: Vec<Vec<u8>>,
    },
}

/// Bytes of a run, as one end names them to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The run.
    pub run: RunId,
    /// The position in the run at which the bytes begin.
    pub position: u64,
    /// The number of bytes.
    pub n_bytes: u32,
}

/// Bytes that are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It is longer than any.
    #[error("a frame of {given} bytes was announced, where at most {FRAME_BYTES_MAX} are taken")]
    TooLong {
        /// The length that the frame announces.
        given: usize,
    },
    /// There is no such kind.
    #[error("there is no frame of kind {kind}; does the peer speak a later version?")]
    Kind {
        /// The kind.
        kind: u8,
    },
    /// It ends too early, goes on after its end, or holds what it must not.
    #[error("a frame of kind {kind} is damaged")]
    Damaged {
        /// Its kind.
        kind: u8,
    },
}

impl Frame {
    /// Appends the frame.
    pub fn put(&self, out: &mut Vec<u8>) {
        let began = out.len();
        out.extend_from_slice(&[0; 4]);
        match self {
            Self::Open { stream, component, target } => {
                let component = &component.as_bytes()[..component.len().min(255)];
                put(out, 1, &[&stream.to_le_bytes(), &[component.len() as u8], component, target.as_bytes()]);
            }
            Self::Opened { stream } => put(out, 2, &[&stream.to_le_bytes()]),
            Self::Data { stream, lane, group } => put(out, 3, &[&stream.to_le_bytes(), &[*lane], group]),
            Self::End { stream } => put(out, 4, &[&stream.to_le_bytes()]),
            Self::Reset { stream, reason } => put(out, 5, &[stream.to_le_bytes().as_slice(), reason.as_bytes()]),
            Self::Ack { n_groups } => put(out, 6, &[&n_groups.to_le_bytes()]),
            Self::Ask { group, ranges } => {
                put(out, 7, &[&group.to_le_bytes()]);
                for range in ranges {
                    out.extend_from_slice(&(range.start as u32).to_le_bytes());
                    out.extend_from_slice(&(range.end as u32).to_le_bytes());
                }
            }
            Self::Repair { group, bytes } => put(out, 8, &[group.to_le_bytes().as_slice(), bytes]),
            Self::Credit { stream, n_bytes } => put(out, 9, &[&stream.to_le_bytes(), &n_bytes.to_le_bytes()]),
            Self::Ping { number } => put(out, 10, &[&number.to_le_bytes()]),
            Self::Pong { number } => put(out, 11, &[&number.to_le_bytes()]),
            Self::Borrow { wanted } => {
                out.push(12);
                for Wanted { run, position, n_bytes } in wanted {
                    out.extend_from_slice(&run.0);
                    out.extend_from_slice(&position.to_le_bytes());
                    out.extend_from_slice(&n_bytes.to_le_bytes());
                }
            }
            Self::Lend { parts } => {
                out.push(13);
                for part in parts {
                    out.extend_from_slice(&(part.len() as u32).to_le_bytes());
                    out.extend_from_slice(part);
                }
            }
        }
        let length = (out.len() - began - 4) as u32;
        out[began..began + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, FrameError> {
        let (&kind, mut rest) = bytes.split_first().ok_or(FrameError::Kind { kind: 0 })?;
        let frame = Self::of_kind(kind, &mut rest)?;
        match frame {
            Some(frame) if rest.is_empty() => Ok(frame),
            _ => Err(FrameError::Damaged { kind }),
        }
    }

    fn of_kind(kind: u8, rest: &mut &[u8]) -> Result<Option<Self>, FrameError> {
        Ok(match kind {
            1 => take_open(rest),
            2 => take_u32(rest).map(|stream| Self::Opened { stream }),
            3 => take_u32(rest).zip(take(rest).filter(|[lane]| *lane < N_LANES)).map(|(stream, [lane])| Self::Data {
                stream,
                lane,
                group: take_all(rest),
            }),
            4 => take_u32(rest).map(|stream| Self::End { stream }),
            5 => take_u32(rest).zip(take_text(rest)).map(|(stream, reason)| Self::Reset { stream, reason }),
            6 => take_u64(rest).map(|n_groups| Self::Ack { n_groups }),
            7 => take_u64(rest).zip(take_ranges(rest)).map(|(group, ranges)| Self::Ask { group, ranges }),
            8 => take_u64(rest).map(|group| Self::Repair { group, bytes: take_all(rest) }),
            9 => take_u32(rest).zip(take_u32(rest)).map(|(stream, n_bytes)| Self::Credit { stream, n_bytes }),
            10 => take_u64(rest).map(|number| Self::Ping { number }),
            11 => take_u64(rest).map(|number| Self::Pong { number }),
            12 => take_each(rest, take_wanted).map(|wanted| Self::Borrow { wanted }),
            13 => take_each(rest, take_part).map(|parts| Self::Lend { parts }),
            kind => return Err(FrameError::Kind { kind }),
        })
    }
}

fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    out.push(kind);
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (part, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*part)
}

fn take_open(rest: &mut &[u8]) -> Option<Frame> {
    let stream = take_u32(rest)?;
    let [n_component] = take(rest)?;
    let (mut component, after) = rest.split_at_checked(usize::from(n_component))?;
    *rest = after;
    Some(Frame::Open { stream, component: take_text(&mut component)?, target: take_text(rest)? })
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_le_bytes)
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    take(rest).map(u64::from_le_bytes)
}

fn take_all(rest: &mut &[u8]) -> Vec<u8> {
    std::mem::take(rest).to_vec()
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let bytes = std::mem::take(rest);
    if bytes.len() > TEXT_BYTES_MAX {
        return None;
    }
    String::from_utf8(bytes.to_vec()).ok()
}

/// Ranges in order, none of which is empty.
fn take_ranges(rest: &mut &[u8]) -> Option<Vec<Range<usize>>> {
    let mut ranges = Vec::new();
    let mut end = 0;
    while !rest.is_empty() && ranges.len() < RANGES_MAX {
        let range = take_u32(rest)? as usize..take_u32(rest)? as usize;
        if range.start < end || range.is_empty() {
            return None;
        }
        end = range.end;
        ranges.push(range);
    }
    Some(ranges)
}

/// One after the other until the end.
fn take_each<T>(rest: &mut &[u8], take_one: fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    while !rest.is_empty() && all.len() < RANGES_MAX {
        all.push(take_one(rest)?);
    }
    Some(all)
}

fn take_wanted(rest: &mut &[u8]) -> Option<Wanted> {
    Some(Wanted { run: RunId(take(rest)?), position: take_u64(rest)?, n_bytes: take_u32(rest)? })
}

fn take_part(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let n_bytes = take_u32(rest)? as usize;
    let (part, after) = rest.split_at_checked(n_bytes)?;
    *rest = after;
    Some(part.to_vec())
}

/// The next frame; `None` at the end of the connection.
pub(crate) async fn next(reader: &mut (impl AsyncRead + Unpin)) -> Result<Option<Frame>, crate::LinkError> {
    let mut length = [0; 4];
    if reader.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    reader.read_exact(&mut length[1..]).await?;
    let given = u32::from_le_bytes(length) as usize;
    if given > FRAME_BYTES_MAX {
        return Err(FrameError::TooLong { given }.into());
    }
    let mut bytes = vec![0; given];
    reader.read_exact(&mut bytes).await?;
    Ok(Some(Frame::read(&bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_pieces_of_them_are_refused() {
        let frames = [
            Frame::Open { stream: 7, component: "http".to_owned(), target: "db:5432".to_owned() },
            Frame::Opened { stream: 7 },
            Frame::Data { stream: u32::MAX, lane: 1, group: vec![1, 2, 3] },
            Frame::End { stream: 7 },
            Frame::Reset { stream: 7, reason: "the client went away".to_owned() },
            Frame::Ack { n_groups: 3 },
            Frame::Ask { group: u64::MAX, ranges: vec![0..5, 5..9] },
            Frame::Repair { group: 2, bytes: vec![9; 9] },
            Frame::Credit { stream: 7, n_bytes: 65_536 },
            Frame::Ping { number: 1 },
            Frame::Pong { number: 1 },
            Frame::Borrow { wanted: vec![Wanted { run: RunId([7; 16]), position: 1 << 40, n_bytes: 9 }; 2] },
            Frame::Lend { parts: vec![vec![1, 2, 3], Vec::new()] },
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.put(&mut bytes);
            assert_eq!(u32::from_le_bytes(*bytes.first_chunk().unwrap()) as usize, bytes.len() - 4);
            assert_eq!(Frame::read(&bytes[4..]), Ok(frame));
            assert!(Frame::read(&bytes[4..7]).is_err());
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert_eq!(Frame::read(&[77]), Err(FrameError::Kind { kind: 77 }));
        assert_eq!(Frame::read(&[]), Err(FrameError::Kind { kind: 0 }));
        assert_eq!(Frame::read(&[3, 1, 0, 0, 0, N_LANES]), Err(FrameError::Damaged { kind: 3 }));
        assert_eq!(Frame::read(&[1, 1, 0, 0, 0, 9, 1]), Err(FrameError::Damaged { kind: 1 }));
        assert_eq!(Frame::read(&[4, 1, 0, 0, 0, 9]), Err(FrameError::Damaged { kind: 4 }));
        assert_eq!(Frame::read(&[13, 2, 0, 0, 0, 9]), Err(FrameError::Damaged { kind: 13 }));
        let mut backwards = Vec::new();
        Frame::Ask { group: 1, ranges: vec![5..9, 0..5] }.put(&mut backwards);
        assert_eq!(Frame::read(&backwards[4..]), Err(FrameError::Damaged { kind: 7 }));
    }
}
