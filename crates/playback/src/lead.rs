//! Lead of sound: the sound that has to be put out before it is heard, so that a process that is kept from working for
//! a moment is not late.
//!
//! A device, or whatever stands for one, plays block after block. It runs dry when the player does not put out the next
//! in time: because the kernel lets it wait, or because a block takes longer to make than to play. The first is met by
//! a lead, the second by a cheaper tier, and both are seen in what is waiting to be heard.

/// The usual lead. The kernel's quotas stop a process for up to a tenth of a second, and a block comes on top.
pub const LEAD_SECONDS: f64 = 0.2;

/// The lead where the processor is foreseen to be short: quotas of longer periods, and blocks that take long
/// themselves. Keys are obeyed so much later, too.
pub const BUSY_LEAD_SECONDS: f64 = 1.0;

/// Share of the usual lead: with less than that waiting, blocks have to be made faster.
const SHORT_RATIO: f64 = 0.5;

/// Sound that waits to be heard, in blocks of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Lead {
    block_seconds: f64,
    /// When all that was put out will have been heard; `None` before anything was.
    until_seconds: Option<f64>,
    n_late: usize,
}

/// The action to take at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Blocks to put out.
    pub n_blocks: usize,
    /// Little is left: whatever makes a block cheaper is due.
    pub is_short: bool,
}

impl Lead {
    /// Builds a lead of blocks that are so long.
    #[must_use]
    pub fn new(block_seconds: f64) -> Self {
        Self { block_seconds, until_seconds: None, n_late: 0 }
    }

    /// Returns the action wanted at `now_seconds`, by any clock that is never set back. `waiting_seconds` is the sound
    /// that a device reports that it still has; without a device, sound is heard as the clock passes. All that is
    /// wanted is taken to be put out.
    pub fn wanted(&mut self, now_seconds: f64, waiting_seconds: Option<f64>, is_busy: bool) -> Wanted {
        let is_first = self.until_seconds.is_none();
        let waiting = waiting_seconds.or_else(|| self.until_seconds.map(|until| until - now_seconds)).unwrap_or(0.0);
        // Rounding is not lateness.
        let ran_dry = if waiting_seconds.is_some() { waiting <= 0.0 } else { waiting < -1e-6 };
        self.n_late += usize::from(!is_first && ran_dry);
        let held = waiting.max(0.0);
        let lead = if is_busy { BUSY_LEAD_SECONDS } else { LEAD_SECONDS };
        let n_blocks = ((lead - held) / self.block_seconds - 1e-6).ceil().max(0.0);
        self.until_seconds = Some(now_seconds + held + n_blocks * self.block_seconds);
        Wanted { n_blocks: n_blocks as usize, is_short: !is_first && held < SHORT_RATIO * LEAD_SECONDS }
    }

    /// Times that nothing was left to be heard.
    #[must_use]
    pub fn n_late(&self) -> usize {
        self.n_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_is_kept_and_what_is_late_is_counted_once() {
        let mut lead = Lead::new(0.02);
        assert_eq!(lead.wanted(0.0, None, false), Wanted { n_blocks: 10, is_short: false });
        assert_eq!(lead.wanted(0.02, None, false), Wanted { n_blocks: 1, is_short: false });
        // Kept from working for a tenth of a second and a bit.
        assert_eq!(lead.wanted(0.13, None, false), Wanted { n_blocks: 6, is_short: true });
        assert_eq!(lead.n_late(), 0);
        // A busy stretch is foreseen, and then it is over.
        // 0.19 s are left: 40 blocks and a half to a second.
        assert_eq!(lead.wanted(0.15, None, true).n_blocks, 41);
        assert_eq!(lead.wanted(0.17, None, false).n_blocks, 0);
        // Suspended for a minute: late once, and nothing is made up for.
        assert_eq!(lead.wanted(60.0, None, false), Wanted { n_blocks: 10, is_short: true });
        assert_eq!(lead.wanted(60.02, None, false), Wanted { n_blocks: 1, is_short: false });
        assert_eq!(lead.n_late(), 1);
    }

    #[test]
    fn a_device_says_itself_what_it_has() {
        let mut lead = Lead::new(0.02);
        assert_eq!(lead.wanted(0.0, Some(0.0), false).n_blocks, 10);
        assert_eq!(lead.wanted(0.02, Some(0.25), false).n_blocks, 0);
        assert_eq!(lead.wanted(0.04, Some(0.0), false), Wanted { n_blocks: 10, is_short: true });
        assert_eq!(lead.n_late(), 1);
    }
}
