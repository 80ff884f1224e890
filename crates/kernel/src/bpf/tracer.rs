//! Takes records of traced points out of their ring.

use std::cell::RefCell;
use std::rc::Rc;

use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::{Bpf, refused};
use crate::{Error, Subsystem, Traced};

/// Records that are taken at once, so that a busy host cannot keep a reader for ever.
const AT_ONCE: usize = 1 << 16;

/// The reading end of a node's ring.
pub struct Tracer {
    ring: RingBuffer<'static>,
    taken: Rc<RefCell<Vec<Traced>>>,
    // Its ring is read as long as this lives.
    _shared: Rc<Bpf>,
}

impl Tracer {
    /// Reads the ring of this node.
    ///
    /// # Errors
    /// Where the ring cannot be mapped.
    pub fn new(shared: &Rc<Bpf>) -> Result<Self, Error> {
        let taken = Rc::new(RefCell::new(Vec::new()));
        let filled = Rc::clone(&taken);
        let mut builder = RingBufferBuilder::new();
        let subsystems = Rc::clone(shared);
        let take = move |bytes: &[u8]| {
            if let Some(traced) = traced(bytes, |number| subsystems.subsystem(number)) {
                filled.borrow_mut().push(traced);
            }
            0
        };
        builder.add(&shared.records, take).map_err(refused("records", "reading the ring"))?;
        let ring = builder.build().map_err(refused("records", "reading the ring"))?;
        Ok(Self { ring, taken, _shared: Rc::clone(shared) })
    }

    /// Hands over what is there, up to 65,536 records. Gives their number.
    pub fn drain(&mut self, mut each: impl FnMut(Traced)) -> usize {
        self.ring.consume_raw_n(AT_ONCE);
        let mut taken = self.taken.borrow_mut();
        let n = taken.len();
        taken.drain(..).for_each(&mut each);
        n
    }
}

/// Parses `struct trace`, or `struct user_trace`, which has fields behind it.
fn traced(bytes: &[u8], subsystem: impl Fn(usize) -> Option<&'static Subsystem>) -> Option<Traced> {
    let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let quarter = |at: usize| Some(usize::from(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    Some(Traced {
        begin_ns: word(0)?,
        end_ns: word(8)?,
        asked: word(16)?,
        returned: word(24)?.cast_signed(),
        process: half(32)?,
        thread: half(36)?,
        processor: half(40)?,
        weight: half(44)?,
        subsystem: subsystem(quarter(48)?)?,
        point: quarter(50)?,
        fields: std::array::from_fn(|field| word(56 + 8 * field).unwrap_or(0).cast_signed()),
    })
}
