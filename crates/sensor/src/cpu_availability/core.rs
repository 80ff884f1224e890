//! The cores: what programs used of them, what interrupts took, and what the hypervisor gave to others.

use std::{collections::BTreeMap, time::Duration};

use crate::cpu::Times;

use super::recent::Recent;

/// Added to the time a host asked for before it is asked how much of it was stolen, in cores: on a host that asks for
/// next to nothing, one stolen tick would look like a thief.
const ASKED_AT_LEAST: f64 = 0.02;

/// Time of one core in the kernel's ticks: programs and kernel, programs of lowered priority, interrupts, stolen, all.
type Split = Recent<5>;

/// The cores that are online.
#[derive(Debug, Default)]
pub(crate) struct Cores {
    cores: BTreeMap<u64, Core>,
}

#[derive(Debug)]
struct Core {
    last: (Duration, Times),
    recent: Split,
}

/// The recent use of the cores' time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spending {
    /// The share of each core's time that interrupts left, by the core's number.
    pub left: BTreeMap<u64, f64>,
    /// Cores used by programs and by the kernel for them.
    pub used: f64,
    /// The part of it that programs of lowered priority used, without their time in the kernel.
    pub used_niced: f64,
    /// The number of cores that had something to do: as many as there are if all had as much, one if only one had any.
    pub n_busy: f64,
    /// The share that was given to this host of the time that it asked for.
    pub delivered: f64,
    /// The time that all of these values stand for.
    pub seconds: f64,
}

impl Cores {
    pub(crate) fn read(&mut self, at: Duration, cores: &[(u64, Times)]) {
        self.cores.retain(|idx, _| cores.iter().any(|(online, _)| online == idx));
        for &(idx, times) in cores {
            let core = self.cores.entry(idx).or_insert(Core { last: (at, times), recent: Recent::new() });
            let (last_at, last) = core.last;
            match times.spent_since(last) {
                Some([user, nice, system, idle, iowait, irq, softirq, steal, ..]) => {
                    let all = user + nice + system + idle + iowait + irq + softirq + steal;
                    // The kernel counts in steps; one without a count says nothing.
                    if all > 0.0 {
                        let split = [user + system, nice, irq + softirq, steal, all];
                        core.recent.add(at.saturating_sub(last_at), split);
                        core.last = (at, times);
                    }
                }
                None => *core = Core { last: (at, times), recent: Recent::new() },
            }
        }
    }

    /// None until some core was read twice.
    pub(crate) fn spending(&self) -> Option<Spending> {
        let mut spending =
            Spending { left: BTreeMap::new(), used: 0.0, used_niced: 0.0, n_busy: 1.0, delivered: 1.0, seconds: 0.0 };
        let (mut asked, mut stolen) = (ASKED_AT_LEAST, 0.0);
        let mut used_squared = 0.0;
        for (idx, core) in &self.cores {
            let Some([normal, niced, interrupts, steal, all]) = core.recent.rates() else { continue };
            let [normal, niced, interrupts, steal] = [normal, niced, interrupts, steal].map(|ticks| ticks / all);
            spending.left.insert(*idx, 1.0 - interrupts);
            spending.seconds = spending.seconds.max(core.recent.seconds());
            spending.used += normal + niced;
            spending.used_niced += niced;
            used_squared += (normal + niced).powi(2);
            asked += normal + niced + interrupts + steal;
            stolen += steal;
        }
        spending.delivered = 1.0 - stolen / asked;
        if used_squared > 0.0 {
            spending.n_busy = spending.used.powi(2) / used_squared;
        }
        (!spending.left.is_empty()).then_some(spending)
    }
}
