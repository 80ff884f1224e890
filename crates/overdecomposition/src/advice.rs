//! Advice from one run at 1:1: what the papers found for programs that communicate alike.

use serde::{Deserialize, Serialize};
use text::figure::{number, percent};

use crate::profile::{CommunicationProfile, MessageSize};

/// Share of communication from which the paper found gains.
const COMMUNICATION_RATIO_MIN: f64 = 0.5;
/// Share of non-blocking messages, or of the time in collectives, from which a program is called after them.
const MOSTLY: f64 = 0.5;
/// Share of the time in MPI that small collectives over all ranks take in a program with phases: 0.30 to 0.35 in the
/// paper's IS, 0 in its FT.
const PHASE_RATIO_MIN: f64 = 0.25;
/// Share of communication below which nothing can be overlapped: the paper leaves out calls below it.
const TOO_LITTLE: f64 = 0.04;

/// Finding of the papers for a kind of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedFinding {
    /// Programs of this kind gained.
    Gain,
    /// Programs of this kind gained nothing, or lost.
    NoGain,
    /// There was no such program.
    Unknown,
}

/// Advice, with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepAdvice {
    /// The communication that the advice is from.
    pub profile: CommunicationProfile,
    /// The finding.
    pub finding: PublishedFinding,
    /// Kind of the program.
    pub reason: String,
}

impl SweepAdvice {
    /// Classifies a program by its communication.
    #[must_use]
    pub fn of(profile: CommunicationProfile) -> Self {
        let (finding, reason) = classified(&profile);
        Self { profile, finding, reason }
    }

    /// Returns the bound of the speed-up at a ratio, if the wait is latency alone: see [`latency_bound`].
    #[must_use]
    pub fn bound(&self, ratio: u32) -> f64 {
        let waiting = self.profile.run_seconds * self.profile.blocked_ratio;
        latency_bound(self.profile.run_seconds - waiting, waiting, ratio)
    }
}

/// Returns the bound of the speed-up with `ratio` ranks a processor, for computing C and waiting D of each rank at 1:1:
/// (C + D) / max(C, C / N + D). Waits are latencies that neither grow nor shrink with the ratio.
#[must_use]
pub fn latency_bound(computing: f64, waiting: f64, ratio: u32) -> f64 {
    let at_ratio = computing.max(computing / f64::from(ratio) + waiting);
    if at_ratio > 0.0 { (computing + waiting) / at_ratio } else { 1.0 }
}

fn classified(profile: &CommunicationProfile) -> (PublishedFinding, String) {
    let share = percent(profile.communication_ratio);
    let (messages, collectives) = (&profile.messages, &profile.collectives);
    if profile.communication_ratio < TOO_LITTLE {
        return (
            PublishedFinding::NoGain,
            format!("only {share} of the time is communication: there is nothing to overlap"),
        );
    }
    let is_collective = profile.collective_ratio >= MOSTLY;
    let is_async = profile.async_ratio >= MOSTLY;
    let kind = match (is_collective, messages.size()) {
        (_, MessageSize::Small) if is_rare_and_small(profile) => {
            Some((PublishedFinding::Gain, "few small messages, as in EP"))
        }
        _ if profile.small_global_ratio >= PHASE_RATIO_MIN => {
            Some((PublishedFinding::NoGain, "global phases between small collectives over all ranks, as in IS"))
        }
        (true, _) if collectives.size() == MessageSize::Large && !collectives.is_many() => {
            Some((PublishedFinding::Gain, "few large collective messages, as in FT"))
        }
        (false, MessageSize::Small | MessageSize::Medium) if messages.is_many() && is_async => {
            Some((PublishedFinding::NoGain, "many small to medium asynchronous messages, as in BT, CG, MG and SP"))
        }
        (false, MessageSize::Small) if messages.is_many() => {
            Some((PublishedFinding::Gain, "many small blocking messages, as in LU"))
        }
        _ => None,
    };
    match kind {
        Some((PublishedFinding::Gain, kind)) if profile.communication_ratio < COMMUNICATION_RATIO_MIN => (
            PublishedFinding::Unknown,
            format!("{kind}, but only {share} of the time is communication: gains were found above half"),
        ),
        Some((finding, kind)) => (finding, kind.to_owned()),
        None => (PublishedFinding::Unknown, described(profile)),
    }
}

fn is_rare_and_small(profile: &CommunicationProfile) -> bool {
    let CommunicationProfile { messages, collectives, .. } = profile;
    !messages.is_many() && !collectives.is_many() && collectives.size() == MessageSize::Small
}

fn described(profile: &CommunicationProfile) -> String {
    let CommunicationProfile { messages, collectives, .. } = profile;
    format!(
        "no program of the papers was like this: {} {} messages ({} asynchronous) and {} {} collectives a second and rank",
        number(messages.per_rank_second),
        messages.size().name(),
        percent(profile.async_ratio),
        number(collectives.per_rank_second),
        collectives.size().name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::MessageTraffic;

    fn profile(messages: (f64, f64), async_ratio: f64, collectives: (f64, f64)) -> CommunicationProfile {
        let traffic = |(per_rank_second, mean_bytes)| MessageTraffic { per_rank_second, mean_bytes };
        CommunicationProfile {
            run_seconds: 10.0,
            communication_ratio: 0.6,
            blocked_ratio: 0.5,
            messages: traffic(messages),
            async_ratio,
            collectives: traffic(collectives),
            collective_ratio: if collectives.0 > 0.0 { 0.9 } else { 0.0 },
            small_global_ratio: 0.0,
        }
    }

    #[test]
    fn each_published_kind_of_program_gets_its_finding() {
        let (none, few_large, many) = ((0.0, 0.0), (2.0, 4e6), 1_000.0);
        for (kind, finding, told) in [
            (profile((5.0, 100.0), 0.0, none), PublishedFinding::Gain, "few small"),
            (profile(none, 0.0, few_large), PublishedFinding::Gain, "few large collective"),
            (profile((many, 100.0), 0.0, none), PublishedFinding::Gain, "many small blocking"),
            (profile((many, 100.0), 1.0, none), PublishedFinding::NoGain, "asynchronous"),
            (profile((many, 5e4), 1.0, none), PublishedFinding::NoGain, "asynchronous"),
            (profile((many, 5e6), 0.0, none), PublishedFinding::Unknown, "no program of the papers"),
            (
                CommunicationProfile { small_global_ratio: 0.3, ..profile(none, 0.0, few_large) },
                PublishedFinding::NoGain,
                "global phases",
            ),
            (
                CommunicationProfile { communication_ratio: 0.2, ..profile((5.0, 100.0), 0.0, none) },
                PublishedFinding::Unknown,
                "above half",
            ),
            (
                CommunicationProfile { communication_ratio: 0.01, ..profile((5.0, 100.0), 0.0, none) },
                PublishedFinding::NoGain,
                "nothing to overlap",
            ),
        ] {
            let advice = SweepAdvice::of(kind);
            assert!(advice.finding == finding && advice.reason.contains(told), "{advice:?}");
        }
    }

    #[test]
    fn latency_alone_bounds_the_speedup_until_computing_fills_the_processor() {
        let bounds = [1, 2, 4, 8].map(|ratio| latency_bound(40.0, 40.0, ratio));
        let wanted = [1.0, 80.0 / 60.0, 1.6, 80.0 / 45.0];
        assert!(bounds.iter().zip(wanted).all(|(bound, wanted)| (bound - wanted).abs() < 1e-12), "{bounds:?}");
        assert_eq!(latency_bound(60.0, 20.0, 32), 80.0 / 60.0);
        assert_eq!(latency_bound(0.0, 0.0, 2), 1.0);
        assert_eq!(SweepAdvice::of(profile((5.0, 100.0), 0.0, (0.0, 0.0))).bound(2), 10.0 / 7.5);
    }
}
