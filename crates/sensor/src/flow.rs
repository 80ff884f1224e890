//! The bandwidth that a new flow between two addresses would get.
//!
//! On a network whose devices count what they carry, from these counts ([`snmp`]); between two hosts that run Foretop,
//! by short transfers ([`transfer`]).

pub mod snmp;
pub mod transfer;
