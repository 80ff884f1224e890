//! A group on the wire, byte by byte as `docs/formats/dedup.md` has it: what is copied from where, what is new, and the
//! hash over all of it.

use crate::history::{Place, Run, RunId};
use crate::literals::{Damaged, Unpacker};
use crate::matching::Match;
use crate::varint::{self, BadNumber};

/// Length of the conservative hash: 128 bits of BLAKE3.
pub const HASH_BYTES: usize = 16;

/// The hash over the data of a group.
pub(crate) type Hash = [u8; HASH_BYTES];

/// Bytes that are no group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// It ends within a number, or a number is too great.
    #[error(transparent)]
    Number(#[from] BadNumber),
    /// It ends too early, or goes on after its end.
    #[error("the group ends at the wrong place")]
    End,
    /// Matches and literals are not as long as the group.
    #[error("the parts of the group are not as long as the group")]
    Parts,
    /// It is greater than a group may be.
    #[error("a group of {given} bytes was announced, where at most {max} are taken")]
    TooGreat {
        /// The announced number of bytes.
        given: u64,
        /// The agreed limit.
        max: usize,
    },
    /// Its first byte has bits that mean nothing.
    #[error("a group begins with {flags:#04x}, which has no meaning; does the peer speak a later version?")]
    Flags {
        /// The byte.
        flags: u8,
    },
    /// It names a run by a number that has not been given.
    #[error("run number {slot} was not announced")]
    Run {
        /// The number.
        slot: u64,
    },
    /// Its body cannot be unpacked.
    #[error(transparent)]
    Packed(#[from] Damaged),
}

/// The numbers of runs on one direction of a connection, in the order in which they were first named. Number 0 is the
/// sender's own.
#[derive(Clone, Debug)]
pub(crate) struct Slots(pub Vec<Run>);

/// Flags in the first byte of a group; its other bits are zero.
pub(crate) mod flag {
    /// The group has as many bytes as the last group of this direction; otherwise a number follows.
    pub const SAME_LENGTH: u8 = 1;
    /// All of it is one match, at the expected place; only the hash follows.
    pub const LED: u8 = 2;
    /// The body is packed, and the length that it has unpacked comes before it.
    pub const PACKED: u8 = 4;
    /// All that have a meaning.
    pub const ALL: u8 = SAME_LENGTH | LED | PACKED;
}

/// A group whose body may still be packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framed<'a> {
    pub n_bytes: usize,
    pub is_led: bool,
    pub n_unpacked: Option<usize>,
    pub body: &'a [u8],
    pub hash: Hash,
}

/// The matches that are copied, and the bytes that are new.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub copies: Vec<Match>,
    pub literals: &'a [u8],
}

impl<'a> Framed<'a> {
    /// Reads the frame of a group of at most `n_max` bytes, after one of `n_last`.
    pub fn read(bytes: &'a [u8], n_last: usize, n_max: usize) -> Result<Self, GroupError> {
        let (rest, hash) = bytes.split_last_chunk::<HASH_BYTES>().ok_or(GroupError::End)?;
        let (&flags, mut rest) = rest.split_first().ok_or(GroupError::End)?;
        if flags & !flag::ALL != 0 {
            return Err(GroupError::Flags { flags });
        }
        let mut n_bytes = n_last;
        if flags & flag::SAME_LENGTH == 0 {
            let given = varint::take(&mut rest)?;
            n_bytes = usize::try_from(given)
                .ok()
                .filter(|&n| n <= n_max)
                .ok_or(GroupError::TooGreat { given, max: n_max })?;
        }
        let n_unpacked =
            if flags & flag::PACKED == 0 { None } else { Some(within(varint::take(&mut rest)?, body_max(n_max))?) };
        let is_led = flags & flag::LED != 0;
        if is_led && !(rest.is_empty() && n_unpacked.is_none() && n_bytes > 0) {
            return Err(GroupError::End);
        }
        Ok(Self { n_bytes, is_led, n_unpacked, body: rest, hash: *hash })
    }

    /// The body as it was before packing.
    pub fn unpacked<'b>(&self, unpacker: &mut Unpacker, room: &'b mut Vec<u8>) -> Result<&'b [u8], Damaged>
    where
        'a: 'b,
    {
        match self.n_unpacked {
            None => Ok(self.body),
            Some(n) => {
                *room = unpacker.unpack(self.body, n)?;
                Ok(room)
            }
        }
    }
}

/// The greatest body of a group of so many bytes. A match is of at least one byte, and takes no more than this.
fn body_max(n_max: usize) -> usize {
    const COPY_BYTES: usize = 3 * 10 + 16 + 10;
    n_max.saturating_mul(COPY_BYTES)
}

impl Slots {
    /// Appends a match that begins so many bytes after the last one ended, in a group that goes on for `n_rest` bytes
    /// after it.
    pub fn put_copy(
        &mut self,
        out: &mut Vec<u8>,
        copy: &Match,
        (gap, n_rest): (usize, usize),
        expected: Place,
        id: impl Fn(Run) -> RunId,
    ) {
        varint::put(out, gap as u64);
        varint::put(out, if n_rest == 0 { 0 } else { copy.n_bytes as u64 });
        if copy.source.run == expected.run {
            let delta = copy.source.position.wrapping_sub(expected.position) as i64;
            // Two bits fewer than 64 are left; positions stay far below that.
            varint::put(out, varint::zigzag(delta) << 1);
            return;
        }
        let known = self.0.iter().position(|&run| run == copy.source.run);
        let slot = known.unwrap_or(self.0.len());
        varint::put(out, (slot as u64) << 1 | 1);
        if known.is_none() {
            self.0.push(copy.source.run);
            out.extend_from_slice(&id(copy.source.run).0);
        }
        varint::put(out, copy.source.position);
    }

    fn take_source(
        &mut self,
        bytes: &mut &[u8],
        expected: Place,
        run: &mut impl FnMut(RunId) -> Run,
    ) -> Result<Place, GroupError> {
        let code = varint::take(bytes)?;
        if code & 1 == 0 {
            let delta = varint::unzigzag(code >> 1);
            return Ok(Place { run: expected.run, position: expected.position.wrapping_add_signed(delta) });
        }
        let slot = code >> 1;
        if slot == self.0.len() as u64 {
            let (id, rest) = bytes.split_first_chunk().ok_or(GroupError::End)?;
            *bytes = rest;
            self.0.push(run(RunId(*id)));
        }
        let found = usize::try_from(slot).ok().and_then(|slot| self.0.get(slot));
        let run = *found.ok_or(GroupError::Run { slot })?;
        Ok(Place { run, position: varint::take(bytes)? })
    }

    /// Reads the body of a group of `n_bytes` bytes. Matches follow each other from `expected` on.
    pub fn parse<'a>(
        &mut self,
        mut body: &'a [u8],
        n_bytes: usize,
        expected: Option<Place>,
        mut run: impl FnMut(RunId) -> Run,
    ) -> Result<Parts<'a>, GroupError> {
        let mut expected = self.expected(expected);
        let (mut copies, mut at, mut n_literal) = (Vec::new(), 0_usize, 0);
        for _ in 0..varint::take(&mut body)? {
            let gap = within(varint::take(&mut body)?, n_bytes - at)?;
            at += gap;
            n_literal += gap;
            let n_copied = match within(varint::take(&mut body)?, n_bytes - at)? {
                0 if at == n_bytes => return Err(GroupError::Parts),
                0 => n_bytes - at,
                n_copied => n_copied,
            };
            let source = self.take_source(&mut body, expected.after(gap), &mut run)?;
            copies.push(Match { at, n_bytes: n_copied, source });
            at += n_copied;
            expected = source.after(n_copied);
        }
        n_literal += n_bytes - at;
        if body.len() != n_literal {
            return Err(GroupError::Parts);
        }
        Ok(Parts { copies, literals: body })
    }

    /// Returns the place where the first match of a group is expected.
    pub fn expected(&self, expected: Option<Place>) -> Place {
        expected.unwrap_or(Place { run: self.0[0], position: 0 })
    }
}

fn within(number: u64, n_max: usize) -> Result<usize, GroupError> {
    usize::try_from(number).ok().filter(|&n| n <= n_max).ok_or(GroupError::Parts)
}
