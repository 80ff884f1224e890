//! The sender's half: what of a group is known goes as matches, the rest packed, and a hash over all of it right
//! behind.

use crate::flow::{Flow, Role};
use crate::gear::{Gear, Key};
use crate::group::{HASH_BYTES, Hash, Slots, flag};
use crate::history::{History, Run, RunId};
use crate::literals::{Packer, Packing};
use crate::matching::{Match, Search};
use crate::varint;

/// Settings that both ends have to agree on before the first group, and settings that a sender may choose.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The tenant's key.
    pub key: Key,
    /// One anchor in `2^anchor_bits` bytes.
    pub anchor_bits: u32,
    /// The packing of new bytes; the sender's choice.
    pub packing: Packing,
    /// No group is of more bytes.
    pub n_group_max: usize,
}

/// The effort to send less: the sender's choice, at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// New bytes are remembered and sent as they are. What follows a match is followed, and one group in sixteen is
    /// searched, so that what was seen before is still found.
    Bypass,
    /// All is searched, and what is new is packed like this.
    Search(Packing),
}

/// Counts of the bytes that were given, matched and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes that were given.
    pub n_given: u64,
    /// Bytes among them that are sent as matches.
    pub n_matched: u64,
    /// Number of those matches.
    pub n_matches: u64,
    /// Bytes on the wire for it.
    pub n_wire: u64,
}

/// One direction of a connection, at the sender.
pub struct Encoder {
    settings: Settings,
    gear: Gear,
    slots: Slots,
    packer: Packer,
    found: Vec<Match>,
    body: Vec<u8>,
    /// Number of bytes of the last group.
    n_last: usize,
    effort: Effort,
    n_groups: u64,
    tally: Tally,
}

/// One group in as many is searched when others are not.
const N_SAMPLED: u64 = 16;

impl Default for Settings {
    fn default() -> Self {
        #[cfg(feature = "zstd")]
        let packing = Packing::Paced;
        #[cfg(not(feature = "zstd"))]
        let packing = Packing::Plain;
        Self { key: Key::OPEN, anchor_bits: 8, packing, n_group_max: 1 << 20 }
    }
}

impl Settings {
    /// The gears that go with these.
    #[must_use]
    pub fn gear(&self) -> Gear {
        Gear::new(&self.key, self.anchor_bits)
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("settings", &self.settings).field("tally", &self.tally).finish_non_exhaustive()
    }
}

impl Encoder {
    /// One that writes the run of this name, of which nothing has been written yet.
    #[must_use]
    pub fn new(settings: Settings, history: &mut impl History, own_run: RunId) -> Self {
        let slots = Slots(vec![history.run(own_run)]);
        Self {
            settings,
            gear: settings.gear(),
            slots,
            packer: Packer::new(settings.packing),
            found: Vec::new(),
            body: Vec::new(),
            n_last: 0,
            effort: Effort::Search(settings.packing),
            n_groups: 0,
            tally: Tally::default(),
        }
    }

    /// Sets the effort for groups from here on. Another level of zstd begins its stream anew, without the earlier data.
    pub fn set_effort(&mut self, effort: Effort) {
        self.effort = effort;
        self.packer.set(match effort {
            Effort::Bypass => Packing::Plain,
            Effort::Search(packing) => packing,
        });
    }

    /// Appends to `out` the group that stands for `data`, the next bytes of `flow`.
    ///
    /// # Panics
    /// When there are more bytes than [`Settings::n_group_max`].
    pub fn encode(&mut self, history: &mut impl History, flow: &mut Flow, data: &[u8], out: &mut Vec<u8>) {
        assert!(data.len() <= self.settings.n_group_max, "a group of {} bytes is too great", data.len());
        let began = out.len();
        let mut found = std::mem::take(&mut self.found);
        let is_searched = self.effort != Effort::Bypass || self.n_groups.is_multiple_of(N_SAMPLED);
        self.n_groups += 1;
        let mut search = Search { gear: &self.gear, history: &mut *history };
        if is_searched {
            search.matches(flow, data, &mut found);
        } else {
            search.sequel(flow, data, &mut found);
        }
        self.put_frame(history, flow, &found, data, out);
        out.extend_from_slice(&hash(&self.settings.key, data));
        note(history, self.slots.0[0], flow, &found, data, Role::Sender);
        self.count(&found, data.len(), out.len() - began);
        self.found = found;
    }

    /// Returns the counts of all bytes until here.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    fn put_frame(&mut self, history: &impl History, flow: &Flow, found: &[Match], data: &[u8], out: &mut Vec<u8>) {
        let is_led = matches!(found, [copy] if copy.n_bytes == data.len() && Some(copy.source) == flow.expected);
        let flags_at = out.len();
        out.push(if is_led { flag::LED } else { 0 });
        if data.len() == self.n_last {
            out[flags_at] |= flag::SAME_LENGTH;
        } else {
            varint::put(out, data.len() as u64);
            self.n_last = data.len();
        }
        if is_led {
            return;
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        self.put_copies(history, flow, found, data.len(), &mut body);
        // By slices: an iterator of bytes takes a tenth of all the time.
        literals(found, data).for_each(|bytes| body.extend_from_slice(bytes));
        let length_at = out.len();
        varint::put(out, body.len() as u64);
        if self.packer.pack(&body, out) {
            out[flags_at] |= flag::PACKED;
        } else {
            out.truncate(length_at);
            out.extend_from_slice(&body);
        }
        self.body = body;
    }

    fn put_copies(&mut self, history: &impl History, flow: &Flow, found: &[Match], n_bytes: usize, out: &mut Vec<u8>) {
        varint::put(out, found.len() as u64);
        let (mut at, mut expected) = (0, self.slots.expected(flow.expected));
        for copy in found {
            let gap = copy.at - at;
            at = copy.at + copy.n_bytes;
            self.slots.put_copy(out, copy, (gap, n_bytes - at), expected.after(gap), |run| history.id(run));
            expected = copy.source.after(copy.n_bytes);
        }
    }

    fn count(&mut self, found: &[Match], n_given: usize, n_wire: usize) {
        self.tally.n_given += n_given as u64;
        self.tally.n_matched += found.iter().map(|copy| copy.n_bytes as u64).sum::<u64>();
        self.tally.n_matches += found.len() as u64;
        self.tally.n_wire += n_wire as u64;
    }
}

/// The conservative hash of a group's data, under the tenant's key. BLAKE3 covers the length as well, and where parts
/// lie is in the data.
pub(crate) fn hash(key: &Key, data: &[u8]) -> Hash {
    let whole = key.hasher().update(data).finalize();
    *whole.as_bytes().first_chunk::<HASH_BYTES>().expect("BLAKE3 gives 32 bytes")
}

/// Returns the bytes between the matches.
fn literals<'a>(found: &'a [Match], data: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let ends = found.iter().map(|copy| copy.at).chain([data.len()]);
    let begins = [0].into_iter().chain(found.iter().map(|copy| copy.at + copy.n_bytes));
    begins.zip(ends).map(|(begin, end)| &data[begin..end])
}

/// Remembers a group; sender and receiver alike, but for what leads the sender.
pub(crate) fn note(history: &mut impl History, run: Run, flow: &mut Flow, found: &[Match], data: &[u8], role: Role) {
    let mut at = 0;
    for copy in found {
        flow.note_literal(history, run, &data[at..copy.at], role);
        at = copy.at + copy.n_bytes;
        flow.note_copy(history, run, copy.source, &data[copy.at..at], role);
    }
    flow.note_literal(history, run, &data[at..], role);
}
