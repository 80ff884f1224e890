//! Ranks whose bells a rank rings after a call: those whose waits the call may end.

use std::ffi::c_void;

use mpi_trace::{CollectiveCall, WaitKind};

use crate::arguments::CallArguments;
use crate::bell::RankBell;
use crate::communicator::CommMembers;
use crate::job::WaitJob;
use crate::site::{CallEffect, DataFlow};

/// Messages of more bytes may need a sender that is awake, because the data follow when the receiver has answered. The
/// eager limits of libraries are 4 KiB and more.
const EAGER_BYTES: u64 = 1_024;

/// A collective call that this rank is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnteredCall<'a> {
    pub(crate) communicator: &'a CommMembers,
    pub(crate) call: CollectiveCall,
    shape: DataFlow,
    /// Position of the root on this host.
    root: Option<u32>,
}

impl<'a> EnteredCall<'a> {
    /// Notes that this rank enters the call of these arguments; `None` if it is not a collective one.
    pub(crate) fn note(
        job: &WaitJob,
        arguments: &CallArguments<'_>,
        communicator: Option<&'a CommMembers>,
    ) -> Option<Self> {
        let CallEffect::Collective(shape) = arguments.site.spec.effect else { return None };
        let communicator = communicator?;
        let call = communicator.enter();
        if let Some(page) = &job.page {
            page.enter(job.members.own, call);
        }
        let root = arguments.int(arguments.site.spec.peer).unwrap_or(-1);
        Some(Self { communicator, call, shape, root: communicator.peer(root) })
    }
}

impl WaitJob {
    /// Rings the bell of a rank that may be waiting for this one, and returns whether it slept.
    fn ring(&self, at: u32) -> bool {
        let page = self.page.filter(|_| at as usize != self.members.own);
        page.is_some_and(|page| RankBell::of(&page, at as usize).ring())
    }

    /// Whether any rank of the host sleeps. What they wait for has to be done before.
    fn is_any_asleep(&self) -> bool {
        self.page.is_some_and(|page| {
            page.settle();
            page.n_asleep().load(std::sync::atomic::Ordering::SeqCst) > 0
        })
    }

    /// Rings after a call that did not fail, or after its first half.
    pub(crate) fn ring_after(&self, arguments: &CallArguments<'_>, communicator: Option<&CommMembers>) {
        let spec = arguments.site.spec;
        if spec.effect == CallEffect::Prepared {
            let peer = communicator.zip(arguments.int(spec.peer)).and_then(|(known, peer)| known.peer(peer));
            self.known.prepare(self.mpi, arguments, peer);
        }
        if !self.is_any_asleep() {
            return;
        }
        match spec.effect {
            CallEffect::Sent | CallEffect::Exchanged => {
                let peer = communicator.zip(arguments.int(spec.peer)).and_then(|(known, peer)| known.peer(peer));
                peer.map(|peer| self.ring(peer));
            }
            CallEffect::Started => {
                self.known.started(self.mpi, arguments).into_iter().for_each(|peer| _ = self.ring(peer))
            }
            CallEffect::Begun => {
                let others = communicator.map_or(&[][..], |known| &known.others);
                others.iter().filter(|at| self.is_in(**at, &[WaitKind::Waiting])).for_each(|at| _ = self.ring(*at));
            }
            _ => {}
        }
    }

    /// Rings the sender of a message that was received, if the sender may be waiting for that.
    pub(crate) fn ring_source(&self, communicator: Option<&CommMembers>, status: usize) {
        if !self.is_any_asleep() {
            return;
        }
        // SAFETY: the library has written a status there.
        let status = unsafe { self.mpi.status_at(status as *const c_void, 0) };
        let source = communicator.and_then(|known| known.peer(status.source));
        if let Some(source) = source.filter(|_| status.bytes > EAGER_BYTES)
            && self.is_in(source, &[WaitKind::Sending, WaitKind::Waiting])
        {
            self.ring(source);
        }
    }

    /// Rings the members that this rank's coming to a collective call may bring forward.
    pub(crate) fn ring_at_entry(&self, entered: &EnteredCall<'_>) {
        if !self.is_any_asleep() {
            return;
        }
        match entered.shape {
            DataFlow::All if !self.have_all_come(entered) => {}
            DataFlow::FromRoot if entered.root.is_some_and(|root| !self.has_come(root, entered)) => {}
            DataFlow::ToRoot if !self.have_all_come(entered) => self.ring_members(entered, entered.root, usize::MAX),
            _ => self.ring_members(entered, None, usize::MAX),
        }
    }

    /// Whether all members have come to a collective call of this host alone, so that nobody has to wait for long.
    pub(crate) fn is_about_to_pass(&self, entered: &EnteredCall<'_>) -> bool {
        !entered.communicator.is_spread && self.have_all_come(entered)
    }

    fn have_all_come(&self, entered: &EnteredCall<'_>) -> bool {
        entered.communicator.others.iter().all(|at| self.has_come(*at, entered))
    }

    /// Whether the rank at a position has come to a call. If the page does not say, it counts as if it had.
    fn has_come(&self, at: u32, entered: &EnteredCall<'_>) -> bool {
        let is_own = at as usize == self.members.own;
        is_own || self.page.is_none_or(|page| page.has_entered(at as usize, entered.call) != Some(false))
    }

    /// Rings the next members that sleep in the same collective call, `n_max` of them at most.
    pub(crate) fn ring_next(&self, entered: &EnteredCall<'_>, n_max: usize) {
        if self.is_any_asleep() {
            self.ring_members(entered, None, n_max);
        }
    }

    fn ring_members(&self, entered: &EnteredCall<'_>, but: Option<u32>, n_max: usize) {
        let others = entered.communicator.others.iter().filter(|at| Some(**at) != but);
        let asleep = others.filter(|at| self.is_in(**at, &[WaitKind::Collective]) && self.ring(**at));
        asleep.take(n_max).for_each(drop);
    }

    fn is_in(&self, at: u32, kinds: &[WaitKind]) -> bool {
        self.page.is_some_and(|page| kinds.contains(&page.state(at as usize).kind))
    }
}
