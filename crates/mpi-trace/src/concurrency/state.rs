//! The state of a rank, as one word of the page.

/// A rank's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitState {
    /// Its kind.
    pub kind: WaitKind,
    /// Whether the call is left to the library, so that the rank may be spinning.
    pub is_left: bool,
    /// Position on the host of the one rank that it waits for, if there is one.
    pub awaited: Option<u32>,
}

/// Kind of a rank's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitKind {
    /// Init has not returned.
    #[default]
    Absent = 0,
    /// It runs.
    Running = 1,
    /// It is blocked until a message comes.
    Receiving = 2,
    /// It is blocked until another rank takes a message.
    Sending = 3,
    /// It is blocked until requests are done.
    Waiting = 4,
    /// It is blocked in a collective call.
    Collective = 5,
    /// It is blocked in another call.
    Other = 6,
    /// It has called Finalize.
    Ended = 7,
}

const KINDS: [WaitKind; 8] = [
    WaitKind::Absent,
    WaitKind::Running,
    WaitKind::Receiving,
    WaitKind::Sending,
    WaitKind::Waiting,
    WaitKind::Collective,
    WaitKind::Other,
    WaitKind::Ended,
];
const LEFT: u64 = 1 << 8;

impl WaitKind {
    /// Whether a rank in this state counts as running.
    #[must_use]
    pub fn is_running(self) -> bool {
        self == Self::Running
    }
}

impl WaitState {
    /// A rank that runs.
    pub const RUNNING: Self = Self { kind: WaitKind::Running, is_left: false, awaited: None };
    /// A rank that has called Finalize.
    pub const ENDED: Self = Self { kind: WaitKind::Ended, is_left: false, awaited: None };

    pub(super) fn to_word(self) -> u64 {
        let awaited = self.awaited.map_or(0, |rank| u64::from(rank) + 1);
        self.kind as u64 | if self.is_left { LEFT } else { 0 } | awaited << 32
    }

    pub(super) fn of_word(word: u64) -> Self {
        let kind = KINDS.get(usize::from(word as u8)).copied().unwrap_or_default();
        let awaited = ((word >> 32) as u32).checked_sub(1);
        Self { kind, is_left: word & LEFT != 0, awaited }
    }
}
