//! A wide-area network on one machine.
//!
//! Two arms over one model of links, [`netmodel::Link`]: a [`Relay`] delays what any TCP or UDP program sends
//! through it, without root; an [`Emulation`] makes whole hosts, each in namespaces of its own, whose sites reach
//! each other only through gateways that delay packets.
//!
//! *Delay* is one way, by direction: from the moment the gateway or relay has a message, until it hands its last
//! byte on. What that costs by itself is measured and taken off, and nothing is ever early.
#![deny(unsafe_code)]

mod agenda;
mod alarm;
mod counts;
mod drawing;
mod emulation;
mod gateway;
mod host;
mod load;
mod messages;
mod netem;
mod plan;
mod probe;
mod relay;
mod run;
mod self_test;
mod tun;

pub use counts::{Counts, Traffic};
pub use drawing::draw;
pub use emulation::{Emulation, EmulationError};
pub use load::{Arm, Bed, LoadError, lateness};
pub use messages::{MessagesError, Ways, messages_between};
pub use netem::netem_commands;
pub use plan::{LinkPlan, Plan, PlanError, Site};
pub use probe::{Collector, Probe, Sample, answer};
pub use relay::{Protocol, Relay, RelayError, RelayPlan};
pub use run::{Run, RunError, take_down};
pub use self_test::{Precision, Way, measure};
