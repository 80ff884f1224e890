//! What commands have in common: which subsystems of what, and how they are read.

use std::path::Path;
use std::rc::Rc;

use clap::{Args, ValueEnum};
use kernel::{Arm, Bpf, FromProc, GroupLimits, Node, Price, Subsystem};
use mpi_run::Failure;

use crate::command::failed;

/// Where counters come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// Programs in the kernel where they can be loaded, else /proc, with a note
    Best,
    /// Programs in the kernel, or nothing
    Bpf,
    /// What /proc counts anyway: no root, no probes, no times
    Proc,
}

/// Which subsystems of what, and how they are read.
#[derive(Args)]
pub struct Measured {
    /// Subsystems: cpu, task, vm, fs … [default: all]
    #[arg(value_name = "SUBSYSTEM")]
    subsystems: Vec<String>,

    /// What to measure: `host`, `cgroup:/sys/fs/cgroup/…`, or `tree:PID` for a process and its descendants
    #[arg(long, default_value = "host")]
    node: String,

    /// Where counters come from
    #[arg(long, value_enum, default_value_t = Source::Best)]
    source: Source,

    /// Limits of the size groups in bytes, ascending [default: 64,512,4096,32768,262144,1048576,8388608]
    #[arg(long, value_name = "BYTES,…")]
    groups: Option<String>,
}

/// A subsystem that can be read, and what that costs.
pub struct Opened {
    pub subsystem: &'static Subsystem,
    pub arm: Box<dyn Arm>,
    pub price: Price,
}

impl Measured {
    /// The subsystems that are named, or all.
    pub fn subsystems(&self) -> Result<Vec<&'static Subsystem>, Failure> {
        if self.subsystems.is_empty() {
            return Ok(kernel::all().to_vec());
        }
        self.subsystems.iter().map(|name| kernel::find(name).map_err(failed)).collect()
    }

    /// Sizes that are counted together.
    pub fn limits(&self) -> Result<GroupLimits, Failure> {
        self.groups.as_deref().map_or_else(|| Ok(GroupLimits::default()), |text| text.parse().map_err(failed))
    }

    /// Programs in the kernel, where they are wanted and can be had. A note says why there are none.
    pub fn bpf(&self, notes: &mut Vec<String>) -> Result<Option<Rc<Bpf>>, Failure> {
        let node: Node = self.node.parse().map_err(failed)?;
        let limits = self.limits()?;
        if self.source == Source::Proc {
            return Self::whole_host_only(&node).map(|()| None);
        }
        match Bpf::open(node.clone(), limits) {
            Ok(bpf) => Ok(Some(bpf)),
            Err(error @ (kernel::Error::NoBtf | kernel::Error::NotAllowed)) if self.source == Source::Best => {
                Self::whole_host_only(&node)?;
                notes.push(format!("{error}; counting by /proc"));
                Ok(None)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn whole_host_only(node: &Node) -> Result<(), Failure> {
        if *node == Node::Host { Ok(()) } else { Err(failed(kernel::Error::WholeHostOnly { arm: "/proc" })) }
    }

    /// All subsystems, ready to be read. Prices are measured first, so that nothing is paid for twice.
    pub fn open(&self, notes: &mut Vec<String>) -> Result<Vec<Opened>, Failure> {
        let bpf = self.bpf(notes)?;
        let subsystems = self.subsystems()?;
        let mut prices = Vec::with_capacity(subsystems.len());
        for subsystem in &subsystems {
            prices.push(match (&bpf, subsystem.programs.is_empty()) {
                (Some(_), false) => {
                    let host = Bpf::open(Node::Host, self.limits()?).map_err(failed)?;
                    kernel::calibrate(&host, subsystem).map_err(failed)?.price
                }
                _ => Price::default(),
            });
        }
        let open = |(subsystem, price): (&'static Subsystem, Price)| {
            let arm: Box<dyn Arm> = match &bpf {
                Some(bpf) => bpf.arm(subsystem).map_err(failed)?,
                _ => Box::new(FromProc::new(Path::new("/proc"), subsystem)),
            };
            notes.extend(arm.missing().into_iter().map(|missing| match arm.name() {
                "proc" => format!("{}: /proc lacks {missing}", subsystem.name),
                _ => missing,
            }));
            Ok(Opened { subsystem, arm, price })
        };
        subsystems.into_iter().zip(prices).map(open).collect()
    }
}

/// A share of a core, as `1%` or `0.01`.
pub fn share_of_core(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match share {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("`{text}` is no share of a core; give one such as `1%` or `0.01`")),
    }
}
