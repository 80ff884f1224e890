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
    is_root: bool,
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
        Some(Self { communicator, call, shape, root: communicator.peer(root), is_root: root == communicator.rank })
    }
}

impl WaitJob {
    /// Rings the bell of a rank that may be waiting for this one.
    fn ring(&self, at: u32) {
        if let Some(page) = &self.page
            && at as usize != self.members.own
        {
            RankBell::of(page, at as usize).ring();
        }
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
                peer.into_iter().for_each(|peer| self.ring(peer));
            }
            CallEffect::Started => self.known.started(self.mpi, arguments).into_iter().for_each(|peer| self.ring(peer)),
            CallEffect::Begun => {
                let others = communicator.map_or(&[][..], |known| &known.others);
                others.iter().filter(|at| self.is_in(**at, &[WaitKind::Waiting])).for_each(|at| self.ring(*at));
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

    /// Rings the members that this rank's coming to a collective call may bring forward. Returns whether all members of
    /// this host are about to pass the call.
    pub(crate) fn ring_at_entry(&self, entered: &EnteredCall<'_>) -> bool {
        let has_come = |at: u32| {
            let own = at as usize == self.members.own;
            own || self.page.is_none_or(|page| page.has_entered(at as usize, entered.call) != Some(false))
        };
        let have_all_come = entered.communicator.others.iter().all(|at| has_come(*at));
        if self.is_any_asleep() {
            match entered.shape {
                DataFlow::All if !have_all_come => {}
                DataFlow::FromRoot if !entered.is_root && entered.root.is_some_and(|root| !has_come(root)) => {}
                DataFlow::ToRoot if !have_all_come => self.ring_members(entered, entered.root),
                _ => self.ring_members(entered, None),
            }
        }
        have_all_come && entered.shape == DataFlow::All
    }

    /// Rings all other members that sleep in the same collective call.
    pub(crate) fn ring_in_collective(&self, entered: &EnteredCall<'_>) {
        if self.is_any_asleep() {
            self.ring_members(entered, None);
        }
    }

    fn ring_members(&self, entered: &EnteredCall<'_>, but: Option<u32>) {
        let others = entered.communicator.others.iter().filter(|at| Some(**at) != but);
        others.filter(|at| self.is_in(**at, &[WaitKind::Collective])).for_each(|at| self.ring(*at));
    }

    fn is_in(&self, at: u32, kinds: &[WaitKind]) -> bool {
        self.page.is_some_and(|page| kinds.contains(&page.state(at as usize).kind))
    }
}
