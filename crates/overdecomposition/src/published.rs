//! Published figures of the kernels (Tables 1 and 3 to 7; the thesis's Table 5 for the best speed-ups).

use crate::Limiter::{
    self, CacheMisses, CommunicationPhases, LackOfTlp, ProcessorIdle, ProcessorSaturated, SystemActivity,
};

/// Published figures of one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedKernel {
    /// Name, as that of its program.
    pub name: &'static str,
    /// Number and size of its messages (Table 1).
    pub messages: &'static str,
    /// Whether non-blocking calls send most of them.
    pub is_async: bool,
    /// Best speed-up over 1:1 of any ratio.
    pub best: f64,
    /// Whether the best was found with SMT, which other machines may not have.
    pub needs_smt: bool,
    /// Limits of the gain (Table 7; of SOR, the thesis's Table 6).
    pub limits: &'static [Limiter],
    /// Overheads that grew most, the first one most (Table 6; class B).
    pub grown: &'static str,
    /// TLP_1 at 1:1 and at 8 ranks a processor (BT and SP: 16), in percent (Table 4; class B).
    pub tlp_1: Option<(u32, u32)>,
}

/// All kernels.
pub const KERNELS: [PublishedKernel; 9] = [
    PublishedKernel {
        name: "sor",
        messages: "few large",
        is_async: false,
        best: 1.5,
        needs_smt: false,
        limits: &[LackOfTlp, CacheMisses, SystemActivity, CommunicationPhases],
        grown: "memory",
        tlp_1: None,
    },
    PublishedKernel {
        name: "bt",
        messages: "many small",
        is_async: true,
        best: 0.98,
        needs_smt: false,
        limits: &[ProcessorIdle, LackOfTlp, CacheMisses, SystemActivity],
        grown: "memory, system",
        tlp_1: Some((44, 76)),
    },
    PublishedKernel {
        name: "cg",
        messages: "many small, few large",
        is_async: true,
        best: 0.59,
        needs_smt: false,
        limits: &[LackOfTlp, CacheMisses, SystemActivity],
        grown: "memory, system",
        tlp_1: Some((21, 7)),
    },
    PublishedKernel {
        name: "ep",
        messages: "few small",
        is_async: false,
        best: 1.74,
        needs_smt: true,
        limits: &[ProcessorSaturated],
        grown: "none",
        tlp_1: Some((100, 99)),
    },
    PublishedKernel {
        name: "ft",
        messages: "few large",
        is_async: false,
        best: 1.11,
        needs_smt: false,
        limits: &[ProcessorIdle, LackOfTlp],
        grown: "system",
        tlp_1: Some((32, 64)),
    },
    PublishedKernel {
        name: "is",
        messages: "few large",
        is_async: false,
        best: 0.91,
        needs_smt: false,
        limits: &[CommunicationPhases],
        grown: "none",
        tlp_1: Some((19, 32)),
    },
    PublishedKernel {
        name: "lu",
        messages: "many small",
        is_async: false,
        best: 1.07,
        needs_smt: true,
        limits: &[LackOfTlp, CacheMisses, SystemActivity],
        grown: "memory, system",
        tlp_1: Some((67, 38)),
    },
    PublishedKernel {
        name: "mg",
        messages: "many medium",
        is_async: true,
        best: 0.70,
        needs_smt: false,
        limits: &[ProcessorSaturated, LackOfTlp, SystemActivity],
        grown: "system",
        tlp_1: Some((20, 53)),
    },
    PublishedKernel {
        name: "sp",
        messages: "many medium",
        is_async: true,
        best: 0.64,
        needs_smt: false,
        limits: &[ProcessorIdle, CacheMisses, SystemActivity],
        grown: "memory, system",
        tlp_1: Some((23, 35)),
    },
];

impl PublishedKernel {
    /// Returns the kernel that a program is: by the name of its file, or `sor` of our small programs.
    #[must_use]
    pub fn of_program(program: &[String]) -> Option<&'static Self> {
        let file = program.first()?.rsplit('/').next()?;
        let is_relaxation = file == "foretop-miniapp" && program.iter().any(|word| word == "sor");
        let name = if is_relaxation { "sor" } else { file };
        KERNELS.iter().find(|kernel| kernel.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommunicationProfile, MessageTraffic, PublishedFinding, SweepAdvice};

    #[test]
    fn kernels_are_known_by_the_files_of_their_programs() {
        let name = |words: &str| {
            let program: Vec<String> = words.split(' ').map(str::to_owned).collect();
            PublishedKernel::of_program(&program).map(|kernel| kernel.name)
        };
        assert_eq!(name("kernels/openmpi/lu 20 5000"), Some("lu"));
        assert_eq!(name("/usr/lib/foretop-miniapp sor --points 900"), Some("sor"));
        assert_eq!([name("foretop-miniapp gsum"), name("./solver sor")], [None, None]);
    }

    #[test]
    fn advice_predicts_no_gain_for_asynchronous_kernels_as_the_paper_found() {
        for kernel in KERNELS.iter().filter(|kernel| kernel.is_async) {
            let mean_bytes = if kernel.messages.contains("small") { 500.0 } else { 50_000.0 };
            let profile = CommunicationProfile {
                run_seconds: 1.0,
                communication_ratio: 0.7,
                blocked_ratio: 0.6,
                messages: MessageTraffic { per_rank_second: 1_000.0, mean_bytes },
                async_ratio: 0.9,
                ..CommunicationProfile::default()
            };
            assert_eq!(SweepAdvice::of(profile).finding, PublishedFinding::NoGain);
            assert!(kernel.best < 1.0, "{}", kernel.name);
        }
    }
}
